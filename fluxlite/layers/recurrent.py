"""Recurrent layers, for whole sequences ``(N, T, features)``, and their cells, which compute a single step."""

from collections.abc import Callable
from operator import index
from typing import Any, ClassVar

import numpy as np

from ..arrays import on_card_of
from ..messages import InputError, LayerError, ShapeError, check_bool, check_callable, explained, in_words
from ..tree.walks import Attribute, KeyPath
from .initializers import glorot_uniform, start
from .inputs import check_activation, check_array, taken
from .layer import Layer, layer_call, layer_class
from .printing import call_of, name_of, settings
from .steps import IN_PLACE, GRUSteps, LSTMSteps, RNNSteps, sequence


@layer_class
class Recurrence(Layer):
    """A cell's steps through whole sequences (Flux: ``Recurrence``).

    ``layer(x)`` takes `x` of shape ``(N, T, inputs)``, or ``(T, inputs)`` for one sequence, and returns the outputs of
    all T steps, ``(N, T, outputs)`` or ``(T, outputs)``. It begins with `initialstates`, or with your own:
    ``layer(x, state)``. With ``return_state=True`` it returns ``(outputs, state)``, and the next piece of a long
    sequence can begin with that last state. The layer keeps none between calls, so there's nothing to reset.

    `cell` may be of your own: ``cell(x, state)``, for `x` of shape ``(N, inputs)``, returns ``(output, state)``, and
    ``cell.initialstates()`` the state that it starts with. All steps of our own cells are computed in one go.
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


@layer_class
class RNN(Recurrence):
    """A `Recurrence` of an `RNNCell`, which takes the keywords: the plain recurrent network (Flux: ``RNN``).

    With tanh, `relu` or no activation all steps are computed in one go; with another one by one.
    """

    @explained()
    def __init__(
        self, inputs: int, outputs: int, activation: Callable = np.tanh, *, return_state: bool = False, **keywords: Any
    ):
        super().__init__(RNNCell(inputs, outputs, activation, **keywords), return_state=return_state)


@layer_class
class LSTM(Recurrence):
    """A `Recurrence` of an `LSTMCell`, which takes the keywords (Flux: ``LSTM``; PyTorch: with batch_first=True)."""

    @explained()
    def __init__(self, inputs: int, outputs: int, *, return_state: bool = False, **keywords: Any):
        super().__init__(LSTMCell(inputs, outputs, **keywords), return_state=return_state)


@layer_class
class GRU(Recurrence):
    """A `Recurrence` of a `GRUCell`, which takes the keywords: gated recurrent units (Flux: ``GRU``)."""

    @explained()
    def __init__(self, inputs: int, outputs: int, *, return_state: bool = False, **keywords: Any):
        super().__init__(GRUCell(inputs, outputs, **keywords), return_state=return_state)


@explained("a recurrent layer or cell, with a method initialstates()")
def initialstates(layer: Any) -> Any:
    """The state that a recurrent layer or cell starts with: zeros (Flux: ``initialstates``).

    An array of shape ``(outputs,)``, which fits a batch of any size; for an LSTM two of them, ``(h, c)``.
    """
    return layer.initialstates()


@layer_class
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
        rows = self.gates * index(outputs)
        self.Wi = start(init_kernel, rows, index(inputs), rng, layer=name, keyword="init_kernel")
        self.Wh = start(init_recurrent_kernel, rows, index(outputs), rng, layer=name, keyword="init_recurrent_kernel")
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


@layer_class
class RNNCell(Cell):
    """One step of the plain recurrent network: ``h = activation(Wi x + Wh h + bias)`` (Flux: ``RNNCell``).

    `Wi` has shape ``(outputs, inputs)``, `Wh` ``(outputs, outputs)`` and `bias` ``(outputs,)``; ``bias=False`` leaves
    it out. `RNNCell.of` takes the arrays themselves. ``cell(x, h)`` returns ``(output, state)``, which here are one
    array, the new `h`. `x` has shape ``(N, inputs)`` or ``(inputs,)``, and `h`, by default zeros, ``(N, outputs)`` or
    ``(outputs,)``.
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


@layer_class
class LSTMCell(Cell):
    """One step of a network with long short-term memory, a state of two arrays (Flux: ``LSTMCell``).

    Of ``Wi x + Wh h + bias``, cut in four, come input ``i``, forget ``f``, cell ``g`` and output ``o``, in this order:
    a sigmoid of each, but the tanh of ``g``. Then ``c = f * c + i * g`` and ``h = o * tanh(c)``. So `Wi` has shape
    ``(4 * outputs, inputs)``, `Wh` ``(4 * outputs, outputs)``, and `bias` ``(4 * outputs,)``. PyTorch has the same
    order, and two biases, whose sum is this one. ``cell(x, (h, c))`` returns ``(h, (h, c))``, the new ones.
    """

    gates = 4
    states = ("h", "c")

    def steps(self, with_cell: bool = False) -> Any:
        return LSTMSteps(with_cell)


@layer_class
class GRUCell(Cell):
    """One step of a network of gated recurrent units (Flux: ``GRUCell``, the first version of the paper).

    The weights' rows are cut in three: reset ``r``, update ``z`` and candidate ``n``, in this order. The first two are
    sigmoids of ``Wi x + Wh h + bias``, the third is ``n = tanh(Wi x + r * (Wh h) + bias)``. Then
    ``h = (1 - z) * n + z * h``. So `Wi` has shape ``(3 * outputs, inputs)``, `Wh` ``(3 * outputs, outputs)``, and
    `bias` ``(3 * outputs,)``. PyTorch has the same order, but a second bias, beside ``Wh h``: of the candidate, ``r``
    multiplies that one too, and here there's none. ``cell(x, h)`` returns ``(output, state)``, both the new `h`.
    """

    gates = 3

    def steps(self, with_cell: bool = False) -> Any:
        return GRUSteps()


CELLS = (RNNCell, LSTMCell, GRUCell)  # a class derived from one of them may compute otherwise
