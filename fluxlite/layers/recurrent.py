"""Recurrent layers: a cell's steps through whole sequences, of shape ``(N, T, features)``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import LayerError, ShapeError, left_over
from ..tree.contract import functor
from ..tree.walks import Attribute, KeyPath
from .cells import GRUCell, LSTMCell, RNNCell, initialstates
from .inputs import no_array, taken
from .layer import Layer, on_its_card
from .printing import brief, call_of
from .steps import IN_PLACE, sequence


@functor
@dataclass(eq=False, repr=False, init=False)
class Recurrence(Layer):
    """A cell's steps through whole sequences (Flux: ``Recurrence``).

    ``layer(x)`` takes `x` of shape ``(N, T, inputs)``, or ``(T, inputs)`` for one sequence, and returns the outputs of
    all T steps, ``(N, T, outputs)`` or ``(T, outputs)``. It begins with `initialstates`, or with your own:
    ``layer(x, state)``. With ``return_state=True`` it returns ``(outputs, state)``, where the state is the last one:
    the next piece of a long sequence can begin with it. The layer keeps no state between calls, so there's nothing to
    reset.

    `cell` may be of your own: ``cell(x, state)``, for `x` of shape ``(N, inputs)``, returns ``(output, state)``, and
    ``cell.initialstates()`` the state that it starts with. For an `RNNCell`, `LSTMCell` or `GRUCell` all steps are
    computed in one go.

    Raises `ValueError` for an input or a state of another shape, `TypeError` for one on another device.

    >>> layer = Recurrence(fl.LSTMCell(2, 3), return_state=True)
    >>> layer
    Recurrence(LSTMCell(2 => 3), return_state=True)      # 72 parameters
    >>> y, (h, c) = layer(np.ones((5, 7, 2), np.float32))
    >>> y.shape, h.shape, c.shape
    ((5, 7, 3), (5, 3), (5, 3))
    """

    cell: Any
    return_state: bool

    def __init__(self, cell: Any, *, return_state: bool = False):
        name = type(self).__name__
        if not callable(cell):
            raise TypeError(f"{name}(cell): the cell is called as cell(x, state), got {brief(cell)}")
        if not isinstance(return_state, bool):
            raise TypeError(f"{name}'s return_state is True or False, got {brief(return_state)}")
        self.cell, self.return_state = cell, return_state

    @on_its_card
    def __call__(self, x: Any, state: Any = None) -> Any:
        try:
            steps = self.cell.steps(with_cell=self.return_state) if type(self.cell) in CELLS else None
            if steps is not None and (
                type(self.cell) is not RNNCell or any(self.cell.activation is f for f in IN_PLACE)
            ):
                y, state = self._at_once(steps, x, state)
            else:
                y, state = self._one_by_one(x, state)
        except (TypeError, ValueError, AttributeError, RuntimeError) as error:
            why = None if isinstance(error, LayerError) else left_over(self) or self._why(x, state)
            if why is None:
                raise
            raise why from error
        return (y, state) if self.return_state else y

    def _at_once(self, steps: Any, x: Any, state: Any) -> tuple[Any, Any]:
        cell, name = self.cell, self._name()
        x = taken(name, cell.Wi, x)
        self._check(x)
        states: list = [None] * len(cell.states)
        if state is not None:
            states = cell.taken_states(name, state, x.shape[:-2])
            everyone = (*x.shape[:-2], 1)[0], cell.Wh.shape[1]
            states = [h if h.ndim == 2 else np.broadcast_to(h, everyone) for h in states]
        length, is_one = x.shape[-2], x.ndim == 2
        y = sequence(steps, x[None] if is_one else x, cell.Wi, cell.Wh, cell.bias, *states)
        y = y[0] if is_one else y
        if not self.return_state:
            return y, None
        last = tuple([y[..., length - 1 + i, :] for i in range(len(states))])
        return y[..., :length, :], last if len(last) > 1 else last[0]

    def _one_by_one(self, x: Any, state: Any) -> tuple[Any, Any]:
        self._check(x)
        cell, outputs = self.cell, []
        state = initialstates(cell) if state is None else state
        for t in range(x.shape[-2]):
            try:
                y, state = cell(x[..., t, :], state)
            except LayerError as error:
                raise error.within(Attribute("cell")) from error.__cause__
            outputs.append(y)
        return np.stack(outputs, axis=-2), state

    def _check(self, x: Any) -> None:
        """Raises `ShapeError` for what no cell would find wrong."""
        if len(x.shape) not in (2, 3) or x.shape[-2] == 0:
            inputs = self.cell.Wi.shape[1] if type(self.cell) in CELLS else "inputs"
            takes = f"takes sequences of at least one step, of shape (N, T, {inputs}) or (T, {inputs})"
            raise ShapeError(KeyPath(), f"{self._name()} {takes}, got shape {x.shape}")

    def _why(self, x: Any, state: Any = None) -> LayerError | None:
        """After an error: what a learner needs to know about it; None if the layer sees nothing wrong."""
        shape, name = getattr(x, "shape", None), self._name()
        if shape is None:
            return no_array(name, x)
        if type(self.cell) not in CELLS:
            return None
        inputs = self.cell.Wi.shape[1]
        if shape[-1] != inputs:
            hint = "; the features come last: np.swapaxes(x, -1, -2)?" if shape[-2] == inputs else ""
            hint = "; Flux's order is turned round here: x.T?" if shape[0] == inputs and not hint else hint
            if len(shape) == 2 and inputs == 1 and not hint:
                hint = "; x[..., None] has an axis for the one feature"
            takes = f"takes sequences of shape (N, T, {inputs}) or (T, {inputs})"
            return ShapeError(KeyPath(), f"{name} {takes}, got shape {shape}{hint}")
        return self.cell.elsewhere(self, x, state)

    def initialstates(self) -> Any:
        return initialstates(self.cell)

    def _name(self) -> str:
        return self._call().replace(", return_state=True", "")

    def _call(self) -> str:
        cell = call_of(self.cell)
        own = f"{type(self).__name__}Cell("
        inside = cell.removeprefix(own)[:-1] if cell.startswith(own) else cell
        return f"{type(self).__name__}({inside}{', return_state=True' if self.return_state else ''})"


@functor
@dataclass(eq=False, repr=False, init=False)
class RNN(Recurrence):
    """The plain recurrent network, for whole sequences (Flux: ``RNN``).

    ``RNN(inputs, outputs, activation)`` makes an `RNNCell` with its keywords, `bias`, `init_kernel`,
    `init_recurrent_kernel` and `rng`; see there for the formula, and `Recurrence` for how the layer is called. With
    tanh, `relu` or no activation all steps are computed in one go; with another one by one.

    >>> rnn = RNN(2, 3, fl.relu)
    >>> rnn
    RNN(2 => 3, relu)      # 18 parameters
    >>> rnn(np.ones((5, 7, 2), np.float32)).shape
    (5, 7, 3)
    """

    def __init__(
        self, inputs: int, outputs: int, activation: Callable = np.tanh, *, return_state: bool = False, **keywords: Any
    ):
        super().__init__(RNNCell(inputs, outputs, activation, **keywords), return_state=return_state)


@functor
@dataclass(eq=False, repr=False, init=False)
class LSTM(Recurrence):
    """A network with long short-term memory, for whole sequences (Flux: ``LSTM``; PyTorch's with batch_first=True).

    ``LSTM(inputs, outputs)`` makes an `LSTMCell` with its keywords, `bias`, `init_kernel`, `init_recurrent_kernel` and
    `rng`; see there for the formula, and `Recurrence` for how the layer is called. A state is ``(h, c)``.

    >>> lstm = LSTM(2, 3, return_state=True)
    >>> x = np.ones((5, 7, 2), np.float32)
    >>> y, state = lstm(x)
    >>> more, state = lstm(x, state)
    >>> more.shape
    (5, 7, 3)
    """

    def __init__(self, inputs: int, outputs: int, *, return_state: bool = False, **keywords: Any):
        super().__init__(LSTMCell(inputs, outputs, **keywords), return_state=return_state)


@functor
@dataclass(eq=False, repr=False, init=False)
class GRU(Recurrence):
    """A network of gated recurrent units, for whole sequences (Flux: ``GRU``).

    ``GRU(inputs, outputs)`` makes a `GRUCell` with its keywords, `bias`, `init_kernel`, `init_recurrent_kernel` and
    `rng`; see there for the formula, and `Recurrence` for how the layer is called.

    >>> gru = GRU(2, 3)
    >>> gru
    GRU(2 => 3)      # 54 parameters
    >>> gru(np.ones((7, 2), np.float32)).shape
    (7, 3)
    """

    def __init__(self, inputs: int, outputs: int, *, return_state: bool = False, **keywords: Any):
        super().__init__(GRUCell(inputs, outputs, **keywords), return_state=return_state)


CELLS = (RNNCell, LSTMCell, GRUCell)  # a class derived from one of them may compute otherwise
