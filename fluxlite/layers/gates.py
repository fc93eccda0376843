"""What the gates of an LSTM and a GRU do with each element. On a GPU, each function here is one launch."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..activations import sigmoid


def lstm_cell(i: Any, f: Any, n: Any, o: Any, c: Any) -> tuple[Any, Any]:
    """The new `h` and `c`, given what the gates are made of."""
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(n)
    return sigmoid(o) * np.tanh(c), c


def gru_cell(h: Any, r: Any, z: Any, n: Any, of_r: Any, of_z: Any, of_n: Any) -> Any:
    """The new `h`, given the sums of the input and, behind them, those of the state."""
    r, z = sigmoid(r + of_r), sigmoid(z + of_z)
    n = np.tanh(n + r * of_n)
    return (1 - z) * n + z * h
