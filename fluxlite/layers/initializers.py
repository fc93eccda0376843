"""How weights start: random numbers of a size that suits the layer."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import astype
from ..messages import notice
from ..seeds import WEIGHTS, next_generator
from ..tree.ties import is_array


def glorot_uniform(*shape: int, rng: np.random.Generator | None = None, gain: float = 1) -> Any:
    """Uniform in ``±gain * sqrt(6 / (inputs + outputs))``, float32, on the CPU (Flux: ``glorot_uniform``).

    `shape` is ``(outputs, inputs)``; further axes count as a window that both see. Drawn by `rng`; without one,
    `fluxlite.seed` makes it repeatable, `np.random.seed` doesn't.

    >>> w = glorot_uniform(5, 10, rng=np.random.default_rng(0))
    >>> w.shape, w.dtype, bool(abs(w).max() <= (6 / 15) ** 0.5)
    ((5, 10), dtype('float32'), True)
    """
    rng = next_generator(WEIGHTS) if rng is None else rng
    window = math.prod(shape[2:])
    inputs, outputs = (shape[1] * window, shape[0] * window) if len(shape) > 1 else (shape[0], shape[0])
    limit = gain * math.sqrt(6 / max(inputs + outputs, 1))
    return rng.uniform(-limit, limit, shape).astype(np.float32)


def start(
    init: Callable, outputs: int, inputs: int, rng: np.random.Generator | None = None, what: str = "Dense(init=…)"
) -> Any:
    """A layer's first weights, of shape ``(outputs, inputs)``: what `init` gives, Float32 if it is Float64.

    Raises `TypeError` for what is no array of floating-point numbers, `ValueError` for one of another shape.
    """
    weight = init(outputs, inputs, **({} if rng is None else {"rng": rng}))
    if not is_array(weight) or weight.dtype.kind != "f":
        got = f"an array of {weight.dtype.name}" if is_array(weight) else f"a {type(weight).__name__}"
        raise TypeError(f"{what} gives an array of floating-point numbers, got {got}")
    if weight.shape != (outputs, inputs):
        raise ValueError(f"{what}: init({outputs}, {inputs}) gives an array of that shape, got {weight.shape}")
    if weight.dtype != np.float64:
        return weight
    notice(
        "init",
        f"{what}: what init gives is float64 and becomes float32, as parameters usually are. "
        f"{what.partition('(')[0]}.of(…) keeps the type of its arrays.",
    )
    return astype(weight, np.float32)
