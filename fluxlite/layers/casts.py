"""`f16`, `f32`, `f64`: a model, or data, in another floating-point type."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import astype
from ..autodiff.tracked import plain
from ..tree.ties import is_array
from ..tree.walks import fmap


def f16(x: Any) -> Any:
    """`x` with all its floating-point arrays in half precision (Flux: ``f16``). Integers stay, ties survive.

    Inside a gradient too: then the gradient comes back in the type that `x` had. Python's own numbers stay.

    >>> f16({"w": np.ones(2), "n": np.arange(2)})
    {'w': array([1., 1.], dtype=float16), 'n': array([0, 1])}
    """
    return _cast(x, np.float16)


def f32(x: Any) -> Any:
    """`x` with all its floating-point arrays in Float32, the usual type of a model (Flux: ``f32``).

    >>> f32({"w": np.ones(2), "steps": 3})
    {'w': array([1., 1.], dtype=float32), 'steps': 3}
    """
    return _cast(x, np.float32)


def f64(x: Any) -> Any:
    """`x` with all its floating-point arrays in Float64 (Flux: ``f64``).

    >>> f64(np.ones(2, np.float32))
    array([1., 1.])
    """
    return _cast(x, np.float64)


def _cast(x: Any, dtype: Any) -> Any:
    return fmap(lambda leaf: _cast_leaf(leaf, dtype), x)


def _cast_leaf(x: Any, dtype: Any) -> Any:
    value = plain(x)
    is_float = (is_array(value) or isinstance(value, np.floating)) and x.dtype.kind == "f"
    return astype(x, dtype) if is_float else x
