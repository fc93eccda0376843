"""A gate over time: how much of its memory a layer keeps at each step. Lesson 16 draws it."""

from __future__ import annotations

from typing import Any

import numpy as np

import fluxlite as fl


def kept(layer: Any, x: Any) -> np.ndarray:
    """Which share of each number in its memory `layer` keeps at each step, on the CPU.

    For an `LSTM` that's the forget gate, for a `GRU` the update gate. `x` has shape ``(T, inputs)``, and the result
    ``(T, outputs)``: 1 keeps all of it, 0 nothing. Raises `TypeError` for another layer, since it has no such gate.

    >>> gru = fl.GRU(2, 3)
    >>> gru.cell.bias[3:6] = 100  # the update gate is wide open
    >>> kept(gru, np.zeros((2, 2), np.float32))
    array([[1., 1., 1.],
           [1., 1., 1.]], dtype=float32)
    """
    cell = getattr(layer, "cell", None)
    if not isinstance(cell, (fl.LSTMCell, fl.GRUCell)):
        raise TypeError(f"kept(layer, x) takes an LSTM or a GRU, whose memory has a gate; got {type(layer).__name__}")
    size, state, gates = cell.Wh.shape[1], fl.initialstates(cell), []
    rows = slice(size, 2 * size)  # of the weights: both layers have this gate second
    Wi, Wh, bias = cell.Wi[rows], cell.Wh[rows], 0 if cell.bias is None else cell.bias[rows]
    for point in x:
        h = state[0] if isinstance(state, tuple) else state
        gates.append(fl.sigmoid(Wi @ point + Wh @ h + bias))
        _, state = cell(point, state)
    return fl.cpu(np.stack(gates))
