"""How MLX's types map to NumPy's, and which type an operation gives.

NumPy's rules hold, with one exception. Where NumPy makes Float64 out of other types, as in ``x / 2`` for integers,
we give Float32, since an Apple GPU has nothing wider. Float64 exists only where MLX runs on the CPU, for
``device(x, dtype=None)`` and what's computed from it.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

import numpy as np


class _MLX:
    """`mlx.core`, imported at its first use, so that code that mentions it can be loaded without MLX."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python's inspection tools ask for these, and they aren't MLX's
            raise AttributeError(name)
        value = getattr(importlib.import_module("mlx.core"), name)
        setattr(self, name, value)
        return value


mx: Any = _MLX()

_NAMES = (  # the names that both libraries share, except bool
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32",
    "float64", "complex64",
)  # fmt: skip
_WIDE = {np.dtype("f8"): np.dtype("f4"), np.dtype("c16"): np.dtype("c8")}


@functools.cache
def bfloat16() -> np.dtype:
    """NumPy's bfloat16. Raises `TypeError` if the package that adds it is missing."""
    try:
        import ml_dtypes
    except ImportError:
        raise TypeError("NumPy knows no bfloat16 by itself: pip install ml_dtypes") from None
    return np.dtype(ml_dtypes.bfloat16)


@functools.cache
def numpy_dtype(dtype: Any) -> np.dtype:
    """NumPy's dtype for an MLX one."""
    name = str(dtype).removeprefix("mlx.core.")
    return bfloat16() if name == "bfloat16" else np.dtype(name)


def mlx_dtype(dtype: np.dtype) -> Any:
    """MLX's dtype for a NumPy one. Raises `TypeError` if MLX has none, or none on a GPU."""
    found = _mlx_dtype(dtype)
    if found == mx.float64 and mx.default_device() != mx.cpu:
        raise TypeError(
            "Metal has no Float64. gpu(x) makes Float32 of it; of a number, float(x) leaves the array's type alone. "
            "To compare with Float64, MLX can run on the CPU: mlx.core.set_default_device(mlx.core.cpu)"
        )
    return found


@functools.cache
def _mlx_dtype(dtype: np.dtype) -> Any:
    if dtype.name == "bool":
        return mx.bool_
    if dtype.name not in _NAMES:
        hint = "; gpu(x) makes complex64 of it" if dtype == np.complex128 else ""
        raise TypeError(f"MLX has no dtype {dtype}{hint}. It has bool, {', '.join(_NAMES)}")
    return getattr(mx, dtype.name)


def number(value: Any, dtype: np.dtype) -> Any:
    """One number as an MLX array. Raises `OverflowError` for an integer that doesn't fit `dtype`."""
    if dtype.kind in "iu" and isinstance(value, int):
        value = int(dtype.type(value))
    elif isinstance(value, np.generic):
        value = value.item()
    if dtype.kind not in "c" and isinstance(value, complex):
        value = value.real
    return mx.array(value).astype(mlx_dtype(dtype)) if dtype.kind in "iub" else mx.array(value, mlx_dtype(dtype))


def kind(x: Any) -> Any:
    """What determines a result's dtype: an array's dtype, or a Python number's class, since numbers adapt."""
    return type(x) if type(x) in (int, float, complex) else np.dtype(bool) if type(x) is bool else x.dtype


@functools.cache
def loop(ufunc: np.ufunc, kinds: tuple) -> tuple[np.dtype, ...]:
    """The dtypes that a ufunc computes with for operands of these kinds: the operands', then the results'.

    Raises `TypeError` where NumPy does.

    >>> loop(np.divide, (np.dtype("int32"), int))
    (dtype('float32'), dtype('float32'), dtype('float32'))
    """
    half, kinds = _without_bfloat16(kinds)
    found = ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout))
    return tuple(_restored(dtype, half, kinds) for dtype in found)


@functools.cache
def result_type(*kinds: Any) -> np.dtype:
    """The dtype that can hold all of these kinds, as ``np.where`` and ``np.concatenate`` need.

    >>> result_type(np.dtype("float32"), float), result_type(np.dtype("int64"), np.dtype("float32"))
    (dtype('float32'), dtype('float32'))
    """
    half, kinds = _without_bfloat16(kinds)
    return _restored(np.result_type(*(k(0) if isinstance(k, type) else k for k in kinds)), half, kinds)


def _without_bfloat16(kinds: tuple) -> tuple[bool, tuple]:
    """Whether bfloat16 is among them, and the kinds with float16 in its place, which follows the same NumPy rules."""
    half = any(isinstance(k, np.dtype) and k.name == "bfloat16" for k in kinds)
    return half, tuple(np.dtype("f2") if isinstance(k, np.dtype) and k.name == "bfloat16" else k for k in kinds)


def _restored(dtype: np.dtype, half: bool, kinds: tuple) -> np.dtype:
    if half and dtype == np.float16:
        return bfloat16()
    return narrowed(dtype, *kinds)


def narrowed(dtype: np.dtype, *kinds: Any) -> np.dtype:
    """Float32 instead of Float64, unless Float64 was among the kinds."""
    return dtype if any(k in _WIDE for k in kinds if isinstance(k, np.dtype)) else _WIDE.get(dtype, dtype)


def total_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of sums and products: integers are accumulated in 64 bits."""
    return np.dtype({"b": "i8", "i": "i8", "u": "u8"}.get(dtype.kind, dtype))


def mean_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of means, which is never an integer type."""
    return np.dtype("f4") if dtype.kind in "biu" else dtype
