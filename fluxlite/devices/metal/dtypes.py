"""MLX's types and NumPy's: which is which, and what comes out of an operation.

NumPy's rules decide, with one difference: where NumPy would make Float64 of other types, as of integers in ``x / 2``,
Float32 comes out, since an Apple GPU has nothing wider. Float64 exists only where MLX runs on the CPU, for
``device(x, dtype=None)`` and what is computed from it.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

import numpy as np


class _MLX:
    """`mlx.core`, imported when something of it is first used: what refers to it can be read without."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by those who inspect modules, not for something of MLX's
            raise AttributeError(name)
        value = getattr(importlib.import_module("mlx.core"), name)
        setattr(self, name, value)
        return value


mx: Any = _MLX()

_NAMES = (  # of the same name in both; and bool
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
    """NumPy's dtype for MLX's."""
    name = str(dtype).removeprefix("mlx.core.")
    return bfloat16() if name == "bfloat16" else np.dtype(name)


def mlx_dtype(dtype: np.dtype) -> Any:
    """MLX's dtype for NumPy's. Raises `TypeError` for what MLX has none for, or has none for on a GPU."""
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
    """One number as an MLX array. Raises `OverflowError` for an integer that `dtype` cannot hold."""
    if dtype.kind in "iu" and isinstance(value, int):
        value = int(dtype.type(value))
    elif isinstance(value, np.generic):
        value = value.item()
    if dtype.kind not in "c" and isinstance(value, complex):
        value = value.real
    return mx.array(value).astype(mlx_dtype(dtype)) if dtype.kind in "iub" else mx.array(value, mlx_dtype(dtype))


def kind(x: Any) -> Any:
    """What decides about a result's dtype: an array's dtype; of a Python number, which adapts, only its class."""
    return type(x) if type(x) in (int, float, complex) else np.dtype(bool) if type(x) is bool else x.dtype


@functools.cache
def loop(ufunc: np.ufunc, kinds: tuple) -> tuple[np.dtype, ...]:
    """The dtypes that a ufunc computes with, its operands' and then its results', for operands of these kinds.

    Raises `TypeError` where NumPy does.

    >>> loop(np.divide, (np.dtype("int32"), int))
    (dtype('float32'), dtype('float32'), dtype('float32'))
    """
    half, kinds = _without_bfloat16(kinds)
    found = ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout))
    return tuple(_restored(dtype, half, kinds) for dtype in found)


@functools.cache
def result_type(*kinds: Any) -> np.dtype:
    """The dtype that holds what these kinds hold: that of ``np.where`` and ``np.concatenate``.

    >>> result_type(np.dtype("float32"), float), result_type(np.dtype("int64"), np.dtype("float32"))
    (dtype('float32'), dtype('float32'))
    """
    half, kinds = _without_bfloat16(kinds)
    return _restored(np.result_type(*(k(0) if isinstance(k, type) else k for k in kinds)), half, kinds)


def _without_bfloat16(kinds: tuple) -> tuple[bool, tuple]:
    """Whether bfloat16 is among them, and float16 in its place: it takes part in NumPy's rules as that does."""
    half = any(isinstance(k, np.dtype) and k.name == "bfloat16" for k in kinds)
    return half, tuple(np.dtype("f2") if isinstance(k, np.dtype) and k.name == "bfloat16" else k for k in kinds)


def _restored(dtype: np.dtype, half: bool, kinds: tuple) -> np.dtype:
    if half and dtype == np.float16:
        return bfloat16()
    return narrowed(dtype, *kinds)


def narrowed(dtype: np.dtype, *kinds: Any) -> np.dtype:
    """Float32 for Float64 that came of none."""
    return dtype if any(k in _WIDE for k in kinds if isinstance(k, np.dtype)) else _WIDE.get(dtype, dtype)


def total_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of sums and products: integers are added up in 64 bits."""
    return np.dtype({"b": "i8", "i": "i8", "u": "u8"}.get(dtype.kind, dtype))


def mean_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of means: not that of integers."""
    return np.dtype("f4") if dtype.kind in "biu" else dtype
