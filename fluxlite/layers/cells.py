"""The recurrent cells: one step of an RNN, an LSTM or a GRU. `recurrent.py` has whole sequences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..arguments import check_callable, in_words
from ..arrays import on_card_of
from ..errors import InputError, LayerError, ShapeError, left_over, mixed_devices, other_device
from ..tensors import is_tensor
from ..tree.contract import functor
from ..tree.ties import is_array
from ..tree.walks import KeyPath
from .initializers import glorot_uniform, start
from .inputs import no_array, taken
from .layer import Layer, on_its_card
from .printing import brief, name_of, text_of
from .steps import GRUSteps, LSTMSteps, RNNSteps


def initialstates(layer: Any) -> Any:
    """The state that a recurrent layer or cell starts with: zeros (Flux: ``initialstates``).

    An array of shape ``(outputs,)``, which fits a batch of any size; for an LSTM two of them, ``(h, c)``. They're where
    the layer's weights are. For a cell of your own it's what its method ``initialstates()`` returns.

    Raises `TypeError` for a cell without such a method.

    >>> initialstates(fl.GRU(2, 3))
    array([0., 0., 0.], dtype=float32)
    """
    own = getattr(layer, "initialstates", None)
    if own is None:
        name = type(layer).__name__
        raise TypeError(f"initialstates: {name} doesn't say how it starts; give {name} a method initialstates()")
    return own()


class Cell(Layer):
    """What the three cells have in common: arrays of one form, and how they take an input and a state."""

    gates: ClassVar[int] = 1  # the weights have so many times `outputs` rows
    states: ClassVar[tuple[str, ...]] = ("h",)

    Wi: Any
    Wh: Any
    bias: Any

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
        for what, size in (("inputs", inputs), ("outputs", outputs)):
            if not isinstance(size, (int, np.integer)) or isinstance(size, bool):
                hint = f"; for arrays there is {name}.of(Wi, Wh, bias)" if is_array(size) else ""
                raise TypeError(f"{name}({what}) is a number of features, got {brief(size)}{hint}")
            if size < 0:
                raise ValueError(f"{name}({what}) is a number of features, got {size}")
        if not isinstance(bias, (bool, type(None))):
            raise TypeError(f"{name}'s bias is True or False; for arrays there is {name}.of(Wi, Wh, bias)")
        rows = self.gates * int(outputs)
        self.Wi = start(init_kernel, rows, int(inputs), rng, layer=name, keyword="init_kernel")
        self.Wh = start(init_recurrent_kernel, rows, int(outputs), rng, layer=name, keyword="init_recurrent_kernel")
        self.bias = np.zeros_like(self.Wi, shape=(rows,)) if bias else None

    @classmethod
    def of(cls, Wi: Any, Wh: Any, bias: Any = None) -> Any:  # noqa: N803
        """A cell made of these arrays, of shapes ``(rows, inputs)``, ``(rows, outputs)`` and ``(rows,)``, or None."""
        if getattr(Wh, "ndim", None) != 2 or is_tensor(Wh) or Wh.shape[0] != cls.gates * Wh.shape[1]:
            rows = f"{cls.gates} * outputs" if cls.gates > 1 else "outputs"
            raise ValueError(f"{cls.__name__}.of: Wh has shape ({rows}, outputs), got {brief(Wh)}")
        if getattr(Wi, "ndim", None) != 2 or is_tensor(Wi) or Wi.shape[0] != len(Wh):
            raise ValueError(f"{cls.__name__}.of: for this Wh, Wi has shape ({len(Wh)}, inputs), got {brief(Wi)}")
        if bias is not None and getattr(bias, "shape", None) != (len(Wh),):
            raise ValueError(f"{cls.__name__}.of: for this Wh, bias has shape ({len(Wh)},), got {brief(bias)}")
        types = list(dict.fromkeys(x.dtype.name for x in (Wi, Wh, bias) if x is not None))
        if len(types) > 1:
            raise TypeError(f"{cls.__name__}.of: the arrays have one type, got {' and '.join(types)}; astype converts")
        cell = object.__new__(cls)
        cell.Wi, cell.Wh, cell.bias = Wi, Wh, bias
        return cell

    @on_its_card
    def __call__(self, x: Any, state: Any = None) -> tuple[Any, Any]:
        """The output and the state after one step. Without a `state` it begins with `initialstates`."""
        state = self.initialstates() if state is None else state
        try:
            x = taken(self._name(), self.Wi, x)
            states = self.taken_states(self._name(), state, x.shape[:-1])
            new = self.steps().step(x, self.Wi, self.Wh, self.bias, *states)
            return new[0], new if len(new) > 1 else new[0]
        except (TypeError, ValueError, AttributeError, RuntimeError) as error:
            why = left_over(self) or self._why(x, state)
            if why is None:
                raise
            raise why from error

    def steps(self, **options: Any) -> Any:
        """What computes this cell's steps: a new one for each sequence."""
        raise NotImplementedError

    def initialstates(self) -> Any:
        with on_card_of(self.Wh):
            states = tuple([np.zeros_like(self.Wh, shape=self.Wh.shape[1:]) for _ in self.states])
        return states if len(states) > 1 else states[0]

    def taken_states(self, name: str, state: Any, batch: tuple[int, ...]) -> list:
        """The arrays in `state`, for observations of the axes `batch`, in the type of the weights."""
        states, size = state if len(self.states) > 1 else (state,), self.Wh.shape[1]
        if type(states) not in (tuple, list) or len(states) != len(self.states):
            wanted = f"takes a state of two arrays, ({', '.join(self.states)})"
            raise InputError(KeyPath(), f"{name} {wanted}, got {brief(state)}")
        for which, h in zip(self.states, states):
            shape = getattr(h, "shape", None)
            if shape is None:
                raise InputError(KeyPath(), f"{name} takes an array as state {which}, got {brief(h)}")
            if shape not in ((size,), (*batch, size)):
                or_all = f" or {(*batch, size)}, as the input has" if batch else ""
                raise ShapeError(KeyPath(), f"{name} takes a state {which} of shape {(size,)}{or_all}, got {shape}")
        return [taken(name, self.Wh, h) for h in states]

    def _why(self, x: Any, state: Any = None) -> LayerError | None:
        """After an error: what a learner needs to know about it; None if the cell sees nothing wrong."""
        inputs, shape, name = self.Wi.shape[1], getattr(x, "shape", None), self._name()
        if shape is None:
            return no_array(name, x)
        if shape == () or shape[-1] != inputs:
            takes = f"takes an input of shape ({inputs},) or (N, {inputs})"
            hint = "; the observations are its rows: x.T?" if len(shape) == 2 and shape[0] == inputs else ""
            return ShapeError(KeyPath(), f"{name} {takes}, got shape {shape}{hint}")
        return self.elsewhere(self, x, state)

    def elsewhere(self, layer: Any, x: Any, state: Any) -> LayerError | None:
        """The error for arrays on two devices, in `layer`, which has this cell; None if all are on one."""
        states = state if isinstance(state, (tuple, list)) else (state,)
        found = [mixed_devices(layer._name(), x=x, **{which: h}) for which, h in zip(self.states, states)]
        return other_device(layer, x) or next(filter(None, found), None)

    def sizes(self) -> str:
        """``2 => 3``, as it prints."""
        return f"{self.Wi.shape[1]} => {self.Wh.shape[1]}"

    def _name(self) -> str:
        return f"{type(self).__name__}({self.sizes()})"

    def _call(self) -> str:
        arrays = self.Wi, self.Wh, self.bias
        if any(len(getattr(x, "shape", ())) != 2 for x in arrays[:2]):  # a model may hold anything for a while
            return f"{type(self).__name__}.of({', '.join(map(text_of, arrays))})"
        return f"{type(self).__name__}({self.sizes()}{self.options()})"

    def options(self) -> str:
        return ", bias=False" if self.bias is None else ""


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

    Raises `ValueError` for an input or a state of another shape, `TypeError` for one on another device.

    >>> cell = RNNCell(2, 3)
    >>> cell
    RNNCell(2 => 3, tanh)      # 18 parameters
    >>> output, state = cell(np.ones((4, 2), np.float32))
    >>> output, state = cell(np.ones((4, 2), np.float32), state)
    >>> output.shape, state is output
    ((4, 3), True)
    """

    Wi: Any
    Wh: Any
    bias: Any
    activation: Callable

    def __init__(self, inputs: int, outputs: int, activation: Callable = np.tanh, **keywords: Any):
        if not callable(activation):
            kind = type(self).__name__
            raise TypeError(f"{kind}'s activation is a function such as np.tanh, got {in_words(activation)}")
        super().__init__(inputs, outputs, **keywords)
        self.activation = activation

    @classmethod
    def of(cls, Wi: Any, Wh: Any, bias: Any = None, activation: Callable = np.tanh) -> Any:  # noqa: N803
        check_callable(f"{cls.__name__}.of(…, activation)", activation)
        cell = super().of(Wi, Wh, bias)
        cell.activation = activation
        return cell

    def steps(self, **options: Any) -> Any:
        return RNNSteps(self.activation)

    def options(self) -> str:
        return f", {name_of(self.activation)}{super().options()}"


@functor
@dataclass(eq=False, repr=False, init=False)
class LSTMCell(Cell):
    """One step of a network with long short-term memory, a state of two arrays (Flux: ``LSTMCell``).

    Of ``Wi x + Wh h + bias``, cut in four, come input ``i``, forget ``f``, cell ``g`` and output ``o``, in this order:
    a sigmoid of each, but the tanh of ``g``. Then ``c = f * c + i * g`` and ``h = o * tanh(c)``. So `Wi` has shape
    ``(4 * outputs, inputs)``, `Wh` ``(4 * outputs, outputs)``, and `bias` ``(4 * outputs,)``; see `RNNCell` for how
    they start. PyTorch has the same order, and two biases, whose sum is this one.

    ``cell(x, (h, c))`` returns ``(output, state)``: the new `h`, and the new ``(h, c)``.

    >>> cell = LSTMCell(2, 3)
    >>> cell
    LSTMCell(2 => 3)      # 72 parameters
    >>> output, (h, c) = cell(np.ones((4, 2), np.float32))
    >>> output.shape, c.shape
    ((4, 3), (4, 3))
    """

    gates = 4
    states = ("h", "c")

    Wi: Any
    Wh: Any
    bias: Any

    def steps(self, with_cell: bool = False, **options: Any) -> Any:
        return LSTMSteps(with_cell)


@functor
@dataclass(eq=False, repr=False, init=False)
class GRUCell(Cell):
    """One step of a network of gated recurrent units (Flux: ``GRUCell``, the first version of the paper).

    The weights' rows are cut in three: reset ``r``, update ``z`` and candidate ``n``, in this order. The first two are
    sigmoids of ``Wi x + Wh h + bias``, the third is ``n = tanh(Wi x + r * (Wh h) + bias)``. Then
    ``h = (1 - z) * n + z * h``. So `Wi` has shape ``(3 * outputs, inputs)``, `Wh` ``(3 * outputs, outputs)``, and
    `bias` ``(3 * outputs,)``; see `RNNCell` for how they start. PyTorch has the same order, but a second bias, beside
    ``Wh h``: of the candidate, ``r`` multiplies that one too, and here there's none.

    ``cell(x, h)`` returns ``(output, state)``, which here are one array, the new `h`.

    >>> cell = GRUCell(2, 3)
    >>> cell
    GRUCell(2 => 3)      # 54 parameters
    >>> cell(np.ones(2, np.float32))[0].shape
    (3,)
    """

    gates = 3

    Wi: Any
    Wh: Any
    bias: Any

    def steps(self, **options: Any) -> Any:
        return GRUSteps()
