"""How weights start: random numbers of a size that suits the layer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def glorot_uniform(*shape: int, rng: np.random.Generator | None = None, gain: float = 1) -> Any:
    """Uniform in ``±gain * sqrt(6 / (inputs + outputs))``, float32, on the CPU (Flux: ``glorot_uniform``).

    `shape` is ``(outputs, inputs)``; further axes count as a window that both see.

    >>> w = glorot_uniform(5, 10, rng=np.random.default_rng(0))
    >>> w.shape, w.dtype, bool(abs(w).max() <= (6 / 15) ** 0.5)
    ((5, 10), dtype('float32'), True)
    """
    rng = np.random.default_rng() if rng is None else rng
    window = math.prod(shape[2:])
    inputs, outputs = (shape[1] * window, shape[0] * window) if len(shape) > 1 else (shape[0], shape[0])
    limit = gain * math.sqrt(6 / max(inputs + outputs, 1))
    return rng.uniform(-limit, limit, shape).astype(np.float32)
