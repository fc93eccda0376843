"""The recurrent cells: one step of an RNN, an LSTM or a GRU. `recurrent.py` has whole sequences."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..arguments import check_bool, check_whole, explained, in_words
from ..arrays import on_card_of
from ..errors import InputError, ShapeError
from ..tree.contract import functor
from ..tree.walks import KeyPath
from .initializers import glorot_uniform, start
from .inputs import check_activation, check_array, taken
from .layer import Layer, layer_call
from .printing import name_of, settings
from .steps import GRUSteps, LSTMSteps, RNNSteps


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

    Wi: Any
    Wh: Any
    bias: Any

    @explained()
    def __init__(
        self,
        inputs: int,
        outputs: int,
        *,
        bias: bool = True,
        init_kernel: Callable = glorot_uniform,
        init_recurrent_kernel: Callable = glorot_uniform,
        rng: np.random.Generator | None = None,
    ):
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

    def steps(self, with_cell: bool = False) -> Any:
        """What computes this cell's steps; `with_cell` asks for an LSTM's last c, too."""
        raise NotImplementedError

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
    ``(inputs,)``, `h` has ``(N, outputs)`` or ``(outputs,)``; without `h` it begins with zeros. `RNN` takes whole
    sequences.

    >>> cell = RNNCell(2, 3)
    >>> cell
    RNNCell(2 => 3, tanh)      # 18 parameters
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

    >>> GRUCell(2, 3)(np.ones(2, np.float32))[0].shape
    (3,)
    """

    gates = 3

    def steps(self, with_cell: bool = False) -> Any:
        return GRUSteps()
