"""`f16`, `f32`, `f64`: a model, or data, in another floating-point type."""

from typing import Any

import numpy as np

from ..arguments import explained
from ..arrays import astype
from ..autodiff.tracked import plain
from ..tree.ties import is_array
from ..tree.walks import fmap


@explained()
def f16(x: Any) -> Any:
    """`x` with all its floating-point arrays in half precision (Flux: ``f16``). Integers stay, ties survive.

    Inside a gradient too: then the gradient comes back in the type that `x` had. Python's own numbers stay.

    >>> f16({"w": np.ones(2), "n": np.arange(2)})
    {'w': array([1., 1.], dtype=float16), 'n': array([0, 1])}
    """
    return _cast(x, np.float16)


@explained()
def f32(x: Any) -> Any:
    """`x` with all its floating-point arrays in Float32, the usual type of a model (Flux: ``f32``)."""
    return _cast(x, np.float32)


@explained()
def f64(x: Any) -> Any:
    """`x` with all its floating-point arrays in Float64 (Flux: ``f64``)."""
    return _cast(x, np.float64)


def _cast(x: Any, dtype: Any) -> Any:
    def cast_leaf(leaf: Any) -> Any:
        value = plain(leaf)
        is_float = (is_array(value) or isinstance(value, np.floating)) and leaf.dtype.kind == "f"
        return astype(leaf, dtype) if is_float else leaf

    return fmap(cast_leaf, x)
