"""How MLX's types map to NumPy's, and which type an operation gives.

NumPy's rules hold, with one exception. Where NumPy makes Float64 out of other types, as in ``x / 2`` for integers,
we give Float32, since an Apple GPU has nothing wider. Float64 exists only where MLX runs on the CPU, for
``device(x, dtype=None)`` and what's computed from it.
"""

import functools
import importlib
from typing import Any

import numpy as np


class _MLX:
    """`mlx.core`, imported at its first use."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python's inspection tools ask for these, and they aren't MLX's
            raise AttributeError(name)
        value = getattr(importlib.import_module("mlx.core"), name)
        setattr(self, name, value)
        return value


mx: Any = _MLX()

_NARROWER = {np.dtype("f8"): np.dtype("f4"), np.dtype("c16"): np.dtype("c8")}


def mlx_dtype(dtype: Any) -> Any:
    """MLX's dtype for a NumPy one. Raises `TypeError` if MLX has none, or none on a GPU."""
    found = _mlx_dtype(np.dtype(dtype))
    if found == mx.float64 and mx.default_device() != mx.cpu:
        raise TypeError(
            "Metal has no Float64. gpu(x) makes Float32 of it; of a number, float(x) leaves the array's type alone. "
            "To compare with Float64, MLX can run on the CPU: mlx.core.set_default_device(mlx.core.cpu)"
        )
    return found


@functools.cache
def _mlx_dtype(dtype: np.dtype) -> Any:
    found = getattr(mx, "bool_" if dtype.kind == "b" else dtype.name, None)  # the libraries share all other names
    if dtype.name == "bfloat16":
        raise TypeError("NumPy can't compute with bfloat16, so it doesn't go to Metal: take np.float16")
    if not isinstance(found, mx.Dtype):
        raise TypeError(f"MLX has no dtype {dtype}: the widest are float64, on the CPU alone, and complex64")
    return found


@functools.cache
def numpy_dtype(dtype: Any) -> np.dtype:
    """NumPy's dtype for an MLX one. It has no bfloat16."""
    return np.dtype(str(dtype).removeprefix("mlx.core."))


def as_dtype(x: Any, dtype: Any) -> Any:
    """An MLX array with NumPy's `dtype`, or a number as one. Raises `OverflowError` for an integer that doesn't fit."""
    dtype = np.dtype(dtype)
    if isinstance(x, mx.array):
        return x.astype(mlx_dtype(dtype))
    if dtype.kind in "iu" and isinstance(x, int):
        x = int(dtype.type(x))
    elif isinstance(x, (np.generic, np.ndarray)):
        x = x.item()
    if dtype.kind != "c" and isinstance(x, complex):
        x = x.real
    return mx.array(x).astype(mlx_dtype(dtype)) if dtype.kind in "iub" else mx.array(x, mlx_dtype(dtype))


def kind(x: Any) -> Any:
    """What determines a result's dtype: an array's dtype, or a Python number's class, since numbers adapt."""
    if isinstance(x, mx.array):
        return numpy_dtype(x.dtype)
    return type(x) if type(x) in (int, float, complex) else np.dtype(bool) if type(x) is bool else x.dtype


@functools.cache
def loop(ufunc: np.ufunc, kinds: tuple) -> list[np.dtype]:
    """The dtypes that a ufunc computes with for operands of these kinds: the operands', then the results'."""
    return [narrowed(dtype, *kinds) for dtype in ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout))]


@functools.cache
def result_type(*kinds: Any) -> np.dtype:
    """The dtype that can hold all of these kinds, as ``np.where`` and ``np.concatenate`` need."""
    return narrowed(np.result_type(*(k(0) if isinstance(k, type) else k for k in kinds)), *kinds)


def narrowed(dtype: np.dtype, *kinds: Any) -> np.dtype:
    """Float32 instead of Float64, unless Float64 was among the kinds."""
    return dtype if any(k in _NARROWER for k in kinds if isinstance(k, np.dtype)) else _NARROWER.get(dtype, dtype)


def total_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of sums and products: integers are accumulated in 64 bits."""
    return np.dtype({"b": "i8", "i": "i8", "u": "u8"}.get(dtype.kind, dtype))


def mean_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of means, which is never an integer type."""
    return np.dtype("f4") if dtype.kind in "biu" else dtype
