"""Recurrent layers: a cell's steps through whole sequences, of shape ``(N, T, features)``."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import check_bool, check_callable, explained
from ..errors import LayerError, ShapeError
from ..tree.contract import functor
from ..tree.walks import Attribute, KeyPath
from .cells import GRUCell, LSTMCell, RNNCell, initialstates
from .inputs import taken
from .layer import Layer, layer_call
from .printing import call_of
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

    >>> layer = Recurrence(fl.LSTMCell(2, 3), return_state=True)
    >>> layer
    Recurrence(LSTMCell(2 => 3), return_state=True)      # 72 parameters
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

    ``RNN(inputs, outputs, activation)`` makes an `RNNCell` with its keywords, `bias`, `init_kernel`,
    `init_recurrent_kernel` and `rng`; see there for the formula, and `Recurrence` for how the layer is called. With
    tanh, `relu` or no activation all steps are computed in one go; with another one by one.

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

    ``LSTM(inputs, outputs)`` makes an `LSTMCell` with its keywords, `bias`, `init_kernel`, `init_recurrent_kernel` and
    `rng`; see there for the formula, and `Recurrence` for how the layer is called. A state is ``(h, c)``.

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

    ``GRU(inputs, outputs)`` makes a `GRUCell` with its keywords, `bias`, `init_kernel`, `init_recurrent_kernel` and
    `rng`; see there for the formula, and `Recurrence` for how the layer is called.

    >>> GRU(2, 3)(np.ones((7, 2), np.float32)).shape
    (7, 3)
    """

    @explained()
    def __init__(self, inputs: int, outputs: int, *, return_state: bool = False, **keywords: Any):
        super().__init__(GRUCell(inputs, outputs, **keywords), return_state=return_state)


CELLS = (RNNCell, LSTMCell, GRUCell)  # a class derived from one of them may compute otherwise
