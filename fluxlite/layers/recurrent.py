"""Recurrent layers, for whole sequences ``(N, T, features)``, and their cells, which compute a single step."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..arguments import check_bool, check_callable, check_whole, explained, in_words
from ..arrays import on_card_of
from ..errors import InputError, LayerError, ShapeError
from ..tree.contract import functor
from ..tree.walks import Attribute, KeyPath
from .initializers import glorot_uniform, start
from .inputs import check_activation, check_array, taken
from .layer import Layer, layer_call
from .printing import call_of, name_of, settings
from .steps import IN_PLACE, GRUSteps, LSTMSteps, RNNSteps, sequence


@functor
@dataclass(eq=False, repr=False, init=False)
class Recurrence(Layer):
    """A cell's steps through whole sequences (Flux: ``Recurrence``).

    ``layer(x)`` takes `x` of shape ``(N, T, inputs)``, or ``(T, inputs)`` for one sequence, and returns the outputs of
    all T steps, ``(N, T, outputs)`` or ``(T, outputs)``. It begins with `initialstates`, or with your own:
    ``layer(x, state)``. With ``return_state=True`` it returns ``(outputs, state)``, and the next piece of a long
    sequence can begin with that last state. The layer keeps none between calls, so there's nothing to reset.

    `cell` may be of your own: ``cell(x, state)``, for `x` of shape ``(N, inputs)``, returns ``(output, state)``, and
    ``cell.initialstates()`` the state that it starts with. All steps of our own cells are computed in one go.

    >>> layer = Recurrence(fl.LSTMCell(2, 3), return_state=True)
    >>> y, (h, c) = layer(np.ones((5, 7, 2), np.float32))
    >>> y.shape, h.shape, c.shape
    ((5, 7, 3), (5, 3), (5, 3))
    """

    cell: Any
    return_state: bool

    @explained()
    def __init__(self, cell: Any, *, return_state: bool = False):
        check_callable(f"{type(self).__name__}(cell)", cell)
        check_bool(f"{type(self).__name__}(return_state=…)", return_state)
        self.cell, self.return_state = cell, return_state

    @layer_call
    def __call__(self, x: Any, state: Any = None) -> Any:
        is_known = type(self.cell) in CELLS
        if is_known:
            x = taken(self._name(), self.cell.Wi, x)
        inputs = self.cell.Wi.shape[1] if is_known else "features"
        if len(x.shape) not in (2, 3) or x.shape[-2] == 0 or inputs not in ("features", x.shape[-1]):
            takes = f"takes sequences of shape (N, T, {inputs}) or (T, {inputs})"
            raise ShapeError(KeyPath(), f"{self._name()} {takes}, got shape {x.shape}")
        activation = getattr(self.cell, "activation", np.tanh)
        if is_known and any(activation is known for known in IN_PLACE):
            y, state = self._at_once(x, state)
        else:
            y, state = self._one_by_one(x, state)
        return (y, state) if self.return_state else y

    def _at_once(self, x: Any, state: Any) -> tuple[Any, Any]:
        cell = self.cell
        states: list[Any] = [None] * len(cell.states)
        batch, length = x.shape[:-2], x.shape[-2]
        if state is not None:
            everyone = (*(batch or (1,)), cell.Wh.shape[1])
            states = [np.broadcast_to(h, everyone) for h in cell.taken_states(self._name(), state, batch)]
        steps = cell.steps(with_cell=self.return_state)
        y = sequence(steps, x if batch else x[None], cell.Wi, cell.Wh, cell.bias, *states)
        y = y if batch else y[0]
        if not self.return_state:
            return y, None
        last = tuple([y[..., length - 1 + i, :] for i in range(len(states))])
        return y[..., :length, :], last if len(last) > 1 else last[0]

    def _one_by_one(self, x: Any, state: Any) -> tuple[Any, Any]:
        cell, outputs = self.cell, []
        state = initialstates(cell) if state is None else state
        for t in range(x.shape[-2]):
            try:
                y, state = cell(x[..., t, :], state)
            except LayerError as error:
                raise error.within(Attribute("cell")) from error.__cause__
            outputs.append(y)
        return np.stack(outputs, axis=-2), state

    def initialstates(self) -> Any:
        return initialstates(self.cell)

    def _sizes(self) -> str:
        cell, own = call_of(self.cell), f"{type(self).__name__}Cell("
        return cell.removeprefix(own)[:-1] if cell.startswith(own) else cell

    def _options(self) -> str:
        return ", return_state=True" * self.return_state


@functor
class RNN(Recurrence):
    """The plain recurrent network, for whole sequences (Flux: ``RNN``).

    It makes an `RNNCell` with its keywords; see there for the formula, and `Recurrence` for how the layer is called.
    With tanh, `relu` or no activation all steps are computed in one go; with another one by one.

    >>> RNN(2, 3, fl.relu)
    RNN(2 => 3, relu)      # 18 parameters
    """

    @explained()
    def __init__(
        self, inputs: int, outputs: int, activation: Callable = np.tanh, *, return_state: bool = False, **keywords: Any
    ):
        super().__init__(RNNCell(inputs, outputs, activation, **keywords), return_state=return_state)


@functor
class LSTM(Recurrence):
    """A network with long short-term memory, for whole sequences (Flux: ``LSTM``; PyTorch's with batch_first=True).

    It makes an `LSTMCell` with its keywords; see there for the formula, and `Recurrence` for how the layer is called. A
    state is ``(h, c)``.

    >>> lstm = LSTM(2, 3, return_state=True)
    >>> x = np.ones((5, 7, 2), np.float32)
    >>> y, state = lstm(x)
    >>> more, state = lstm(x, state)
    >>> more.shape
    (5, 7, 3)
    """

    @explained()
    def __init__(self, inputs: int, outputs: int, *, return_state: bool = False, **keywords: Any):
        super().__init__(LSTMCell(inputs, outputs, **keywords), return_state=return_state)


@functor
class GRU(Recurrence):
    """A network of gated recurrent units, for whole sequences (Flux: ``GRU``).

    It makes a `GRUCell` with its keywords; see there for the formula, and `Recurrence` for how the layer is called.
    """

    @explained()
    def __init__(self, inputs: int, outputs: int, *, return_state: bool = False, **keywords: Any):
        super().__init__(GRUCell(inputs, outputs, **keywords), return_state=return_state)


@explained("a recurrent layer or cell, with a method initialstates()")
def initialstates(layer: Any) -> Any:
    """The state that a recurrent layer or cell starts with: zeros (Flux: ``initialstates``).

    An array of shape ``(outputs,)``, which fits a batch of any size; for an LSTM two of them, ``(h, c)``. They're where
    the layer's weights are. For a cell of your own it's what its method ``initialstates()`` returns.

    >>> initialstates(fl.GRU(2, 3))
    array([0., 0., 0.], dtype=float32)
    """
    return layer.initialstates()


@dataclass(eq=False, repr=False, init=False)
class Cell(Layer):
    """What the three cells have in common: arrays of one form, and how they take an input and a state."""

    gates: ClassVar[int] = 1  # the weights have so many times `outputs` rows
    states: ClassVar[tuple[str, ...]] = ("h",)
    steps: ClassVar[Callable]  # gives what computes the steps; `with_cell` asks for an LSTM's last c, too

    Wi: Any
    Wh: Any
    bias: Any

    @explained()
    def __init__(
        self, inputs: int, outputs: int, *, bias: bool = True, init_kernel: Callable = glorot_uniform,
        init_recurrent_kernel: Callable = glorot_uniform, rng: np.random.Generator | None = None,
    ):  # fmt: skip
        name = type(self).__name__
        check_whole(f"{name}(inputs)", inputs)
        check_whole(f"{name}(outputs)", outputs)
        check_bool(f"{name}(bias=…)", bias)
        rows = self.gates * int(outputs)
        self.Wi = start(init_kernel, rows, int(inputs), rng, layer=name, keyword="init_kernel")
        self.Wh = start(init_recurrent_kernel, rows, int(outputs), rng, layer=name, keyword="init_recurrent_kernel")
        self.bias = np.zeros_like(self.Wi, shape=(rows,)) if bias else None

    @classmethod
    @explained()
    def of(cls, Wi: Any, Wh: Any, bias: Any = None) -> Any:  # noqa: N803
        """A cell made of these arrays, of shapes ``(rows, inputs)``, ``(rows, outputs)`` and ``(rows,)``, or None."""
        cell, name = object.__new__(cls), cls.__name__
        cell.Wh = check_array(f"{name}.of: Wh", Wh, "rows", "outputs")
        check_array(f"{name}.of: Wh", Wh, cls.gates * Wh.shape[1], "outputs")
        cell.Wi = check_array(f"{name}.of: Wi", Wi, len(Wh), "inputs")
        cell.bias = bias if bias is None else check_array(f"{name}.of: bias", bias, len(Wh))
        if len({x.dtype.name for x in (Wi, Wh, bias) if x is not None}) > 1:
            raise TypeError(f"{name}.of: the arrays have one type; astype converts")
        return cell

    @layer_call
    def __call__(self, x: Any, state: Any = None) -> tuple[Any, Any]:
        """The output and the state after one step. Without a `state` it begins with `initialstates`."""
        x = taken(self._name(), self.Wi, x)
        states = self.taken_states(self._name(), self.initialstates() if state is None else state, x.shape[:-1])
        new = self.steps().step(x, self.Wi, self.Wh, self.bias, *states)
        return new[0], new if len(new) > 1 else new[0]

    def initialstates(self) -> Any:
        with on_card_of(self.Wh):
            states = tuple([np.zeros_like(self.Wh, shape=self.Wh.shape[1:]) for _ in self.states])
        return states if len(states) > 1 else states[0]

    def taken_states(self, name: str, state: Any, batch: tuple[int, ...]) -> list:
        """The arrays in `state`, for observations of the axes `batch`, in the type of the weights."""
        states, size = state if len(self.states) > 1 else (state,), self.Wh.shape[1]
        if type(states) not in (tuple, list) or len(states) != len(self.states):  # an array would be cut in two
            raise InputError(KeyPath(), f"{name} takes a state ({', '.join(self.states)}), got {in_words(state)}")
        for which, h in zip(self.states, states):
            if h.shape not in ((size,), (*batch, size)):
                or_all = f" or {(*batch, size)}" if batch else ""
                raise ShapeError(KeyPath(), f"{name} takes a state {which} of shape {(size,)}{or_all}, got {h.shape}")
        return [taken(name, self.Wh, h) for h in states]

    def _sizes(self) -> str:
        return f"{self.Wi.shape[1]} => {self.Wh.shape[1]}"

    def _options(self) -> str:
        return settings(bias=self.bias is not None)


@functor
@dataclass(eq=False, repr=False, init=False)
class RNNCell(Cell):
    """One step of the plain recurrent network: ``h = activation(Wi x + Wh h + bias)`` (Flux: ``RNNCell``).

    ``RNNCell(inputs, outputs)`` has weights `Wi` of shape ``(outputs, inputs)`` and `Wh` of shape ``(outputs,
    outputs)``, from `init_kernel` and `init_recurrent_kernel`, and a `bias` of shape ``(outputs,)``, which starts at
    zero; ``bias=False`` leaves it out. `rng` draws the weights. `RNNCell.of` takes the arrays themselves.

    ``cell(x, h)`` returns ``(output, state)``, which here are one array, the new `h`. `x` has shape ``(N, inputs)`` or
    ``(inputs,)``, `h` has ``(N, outputs)`` or ``(outputs,)``; without `h` it begins with zeros.

    >>> cell = RNNCell(2, 3)
    >>> output, state = cell(np.ones((4, 2), np.float32))
    >>> output, state = cell(np.ones((4, 2), np.float32), state)
    >>> output.shape, state is output
    ((4, 3), True)
    """

    activation: Callable

    @explained()
    def __init__(self, inputs: int, outputs: int, activation: Callable = np.tanh, **keywords: Any):
        super().__init__(inputs, outputs, **keywords)
        self.activation = check_activation(type(self).__name__, activation)

    @classmethod
    @explained()
    def of(cls, Wi: Any, Wh: Any, bias: Any = None, activation: Callable = np.tanh) -> Any:  # noqa: N803
        cell = super().of(Wi, Wh, bias)
        cell.activation = check_activation(cls.__name__, activation)
        return cell

    def steps(self, with_cell: bool = False) -> Any:
        return RNNSteps(self.activation)

    def _options(self) -> str:
        return f", {name_of(self.activation)}{super()._options()}"


@functor
class LSTMCell(Cell):
    """One step of a network with long short-term memory, a state of two arrays (Flux: ``LSTMCell``).

    Of ``Wi x + Wh h + bias``, cut in four, come input ``i``, forget ``f``, cell ``g`` and output ``o``, in this order:
    a sigmoid of each, but the tanh of ``g``. Then ``c = f * c + i * g`` and ``h = o * tanh(c)``. So `Wi` has shape
    ``(4 * outputs, inputs)``, `Wh` ``(4 * outputs, outputs)``, and `bias` ``(4 * outputs,)``; see `RNNCell` for how
    they start. PyTorch has the same order, and two biases, whose sum is this one.

    ``cell(x, (h, c))`` returns ``(output, state)``: the new `h`, and the new ``(h, c)``.

    >>> cell = LSTMCell(2, 3)
    >>> output, (h, c) = cell(np.ones((4, 2), np.float32))
    >>> output.shape, c.shape
    ((4, 3), (4, 3))
    """

    gates = 4
    states = ("h", "c")

    def steps(self, with_cell: bool = False) -> Any:
        return LSTMSteps(with_cell)


@functor
class GRUCell(Cell):
    """One step of a network of gated recurrent units (Flux: ``GRUCell``, the first version of the paper).

    The weights' rows are cut in three: reset ``r``, update ``z`` and candidate ``n``, in this order. The first two are
    sigmoids of ``Wi x + Wh h + bias``, the third is ``n = tanh(Wi x + r * (Wh h) + bias)``. Then
    ``h = (1 - z) * n + z * h``. So `Wi` has shape ``(3 * outputs, inputs)``, `Wh` ``(3 * outputs, outputs)``, and
    `bias` ``(3 * outputs,)``; see `RNNCell` for how they start. PyTorch has the same order, but a second bias, beside
    ``Wh h``: of the candidate, ``r`` multiplies that one too, and here there's none.

    ``cell(x, h)`` returns ``(output, state)``, which here are one array, the new `h`.
    """

    gates = 3

    def steps(self, with_cell: bool = False) -> Any:
        return GRUSteps()


CELLS = (RNNCell, LSTMCell, GRUCell)  # a class derived from one of them may compute otherwise
