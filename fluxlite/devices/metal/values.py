"""NumPy's functions in terms of MLX, on MLX arrays: the table `ON_VALUES`.

All take NumPy's parameters, except ``out=``, which `functions.py` handles.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.lib.stride_tricks import sliding_window_view

from ..simulated import SCALARS
from .dtypes import kind, mean_dtype, mlx_dtype, mx, number, numpy_dtype, result_type, total_dtype
from .ufuncs import names


def _axis(axis: Any) -> Any:
    return tuple(axis) if isinstance(axis, list) else axis


def _of(x: Any) -> np.dtype:
    return numpy_dtype(x.dtype)


def _reduction(name: str, dtype_of: Callable) -> Callable:
    def reduce(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        wide = a.astype(mlx_dtype(np.dtype(dtype) if dtype else dtype_of(_of(a))))
        return getattr(mx, name)(wide, axis=_axis(axis), keepdims=keepdims)

    return reduce


def _extremum(name: str) -> Callable:
    def extremum(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return getattr(mx, name)(a, axis=_axis(axis), keepdims=keepdims)

    return extremum


def _position(name: str) -> Callable:
    def position(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        return getattr(mx, name)(a, axis=axis, keepdims=keepdims).astype(mx.int64)

    return position


def _deviation(power: float) -> Callable:
    """The variance to this power: 1, or 0.5 for the standard deviation. MLX's takes no fractional ddof."""

    def deviation(a: Any, axis: Any = None, dtype: Any = None, ddof: float = 0, keepdims: bool = False) -> Any:
        wide = a.astype(mlx_dtype(np.dtype(dtype) if dtype else mean_dtype(_of(a))))
        squares = mx.square(wide - mx.mean(wide, axis=_axis(axis), keepdims=True))
        total = mx.sum(squares, axis=_axis(axis), keepdims=keepdims)
        count = a.size // max(total.size, 1)
        return mx.power(total / max(count - ddof, 0), power)

    return deviation


def _running(name: str) -> Callable:
    def running(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
        wide = a.astype(mlx_dtype(np.dtype(dtype) if dtype else total_dtype(_of(a))))
        return getattr(mx, name)(wide.reshape(-1) if axis is None else wide, axis=axis or 0)

    return running


def together(*xs: Any) -> list:
    """MLX arrays and numbers as arrays of one dtype that can hold them all."""
    dtype = result_type(*(kind(x) if isinstance(x, SCALARS) else _of(x) for x in xs))
    return [number(x, dtype) if isinstance(x, SCALARS) else x.astype(mlx_dtype(dtype)) for x in xs]


def _concatenate(arrays: Any, axis: int | None = 0, *, dtype: Any = None) -> Any:
    arrays = [x if dtype is None else x.astype(mlx_dtype(np.dtype(dtype))) for x in together(*arrays)]
    return mx.concatenate([x.reshape(-1) for x in arrays] if axis is None else arrays, axis=axis or 0)


def where(condition: Any, x: Any, y: Any) -> Any:
    condition = mx.array(bool(condition)) if isinstance(condition, SCALARS) else condition
    return mx.where(condition.astype(mx.bool_), *together(x, y))


def _einsum(subscripts: str, *operands: Any, optimize: Any = False) -> Any:
    operands = tuple(together(*operands))
    if _of(operands[0]).kind in "biu":
        raise TypeError("np.einsum on Metal takes floating-point numbers; x.astype(np.float32) makes them")
    if 0 in (x.size for x in operands):
        return mx.array(np.einsum(subscripts, *(np.zeros(x.shape) for x in operands)), operands[0].dtype)
    return mx.einsum(subscripts, *operands)


def _sort(a: Any, axis: int | None = -1) -> Any:
    return mx.sort(a, axis=axis)


def _argsort(a: Any, axis: int | None = -1) -> Any:
    return mx.argsort(a, axis=axis).astype(mx.int64)


def pad(array: Any, pad_width: Any, constant_values: Any) -> Any:
    """Pad axis by axis: MLX takes one constant for all sides, NumPy one per side."""
    widths = np.broadcast_to(pad_width, (array.ndim, 2)).tolist()
    values = np.broadcast_to(constant_values, (array.ndim, 2)).tolist()
    for axis, (lengths, fills) in enumerate(zip(widths, values, strict=True)):
        before, after = (
            mx.full((*array.shape[:axis], length, *array.shape[axis + 1 :]), number(fill, _of(array)))
            for length, fill in zip(lengths, fills, strict=True)
        )
        array = mx.concatenate([before, array, after], axis=axis)
    return array


def _roll(a: Any, shift: Any, axis: Any = None) -> Any:
    return mx.roll(a, shift, axis)


def _linalg(name: str) -> Callable:
    """MLX has these on the CPU only. An Apple GPU shares its memory with the CPU."""

    def of_matrices(*matrices: Any) -> Any:
        wide = [x.astype(mx.float32) if _of(x).kind in "biu" else x for x in together(*matrices)]
        return getattr(mx.linalg, name)(*wide, stream=mx.cpu)

    return of_matrices


def _solve(a: Any, b: Any) -> Any:
    a, b = together(a, b)
    columns = b[:, None] if b.ndim == 1 else b
    batch = np.broadcast_shapes(a.shape[:-2], columns.shape[:-2])
    a, columns = mx.broadcast_to(a, batch + a.shape[-2:]), mx.broadcast_to(columns, batch + columns.shape[-2:])
    result = _linalg("solve")(a, columns) if columns.size else columns
    return result[..., 0] if b.ndim == 1 else result


def _searchsorted(a: Any, v: Any, side: str = "left") -> Any:
    return mx.searchsorted(*together(a, v), side=side).astype(mx.int64)


def _nan_to_num(x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    if _of(x).kind not in "f":
        return x
    most = float(np.finfo(_of(x)).max)
    x = mx.where(mx.isnan(x), number(nan, _of(x)), x)
    x = mx.where(x == np.inf, number(most if posinf is None else posinf, _of(x)), x)
    return mx.where(x == -np.inf, number(-most if neginf is None else neginf, _of(x)), x)


def _round(a: Any, decimals: int = 0) -> Any:
    return a if decimals >= 0 and _of(a).kind in "iu" else mx.round(a, decimals)


def _sinc(x: Any) -> Any:
    z = math.pi * x
    return mx.where(x == 0, 1, mx.sin(z) / mx.where(x == 0, 1, z))


def _sliding_windows(x: Any, window_shape: Any, axis: Any = None) -> Any:
    """All windows of `x`, read where they lie; NumPy checks the arguments and knows the shape."""
    numpys = sliding_window_view(np.broadcast_to(np.int8(0), x.shape), window_shape, axis)
    axes = range(x.ndim) if axis is None else normalize_axis_tuple(axis, x.ndim, allow_duplicate=True)
    steps = [math.prod(x.shape[i + 1 :]) for i in range(x.ndim)]
    return mx.as_strided(x, numpys.shape, [*steps, *(steps[i] for i in axes)])


ON_VALUES: dict[str, Callable] = {
    "sum": _reduction("sum", total_dtype),
    "prod": _reduction("prod", total_dtype),
    "mean": _reduction("mean", mean_dtype),
    "var": _deviation(1),
    "std": _deviation(0.5),
    "max": _extremum("max"),
    "min": _extremum("min"),
    "argmax": _position("argmax"),
    "argmin": _position("argmin"),
    "any": lambda a, axis=None, *, keepdims=False: mx.any(a.astype(mx.bool_), axis=_axis(axis), keepdims=keepdims),
    "all": lambda a, axis=None, *, keepdims=False: mx.all(a.astype(mx.bool_), axis=_axis(axis), keepdims=keepdims),
    "count_nonzero": lambda a, axis=None, *, keepdims=False: mx.sum(
        a.astype(mx.bool_).astype(mx.int64), axis=_axis(axis), keepdims=keepdims
    ),
    "cumsum": _running("cumsum"),
    "cumprod": _running("cumprod"),
    "concatenate": _concatenate,
    "stack": lambda arrays, axis=0: mx.stack(together(*arrays), axis=axis),
    "einsum": _einsum,
    "sort": _sort,
    "argsort": _argsort,
    "partition": lambda a, kth, axis=-1: mx.partition(a, kth, axis=axis),
    "argpartition": lambda a, kth, axis=-1: mx.argpartition(a, kth, axis=axis).astype(mx.int64),
    "searchsorted": _searchsorted,
    "roll": _roll,
    "lib.stride_tricks.sliding_window_view": _sliding_windows,
    "sinc": _sinc,
    "tril": lambda m, k=0: mx.tril(m, k),
    "triu": lambda m, k=0: mx.triu(m, k),
    "round": _round,
    "nan_to_num": _nan_to_num,
    "isclose": lambda a, b, rtol=1e-5, atol=1e-8, equal_nan=False: mx.isclose(
        *together(a, b), rtol=rtol, atol=atol, equal_nan=equal_nan
    ),
    "allclose": lambda a, b, rtol=1e-5, atol=1e-8, equal_nan=False: mx.allclose(
        *together(a, b), rtol=rtol, atol=atol, equal_nan=equal_nan
    ),
    "array_equal": lambda a1, a2, equal_nan=False: mx.array_equal(*together(a1, a2), equal_nan=equal_nan),
    "real": lambda val: mx.real(val) if _of(val).kind == "c" else val,
    "imag": lambda val: mx.imag(val) if _of(val).kind == "c" else mx.zeros_like(val),
    "linalg.inv": _linalg("inv"),
    "linalg.det": _linalg("det"),
    "linalg.slogdet": _linalg("slogdet"),
    "linalg.cholesky": _linalg("cholesky"),
    "linalg.solve": _solve,
}

# Second names.
ON_VALUES |= {"amax": ON_VALUES["max"], "amin": ON_VALUES["min"], "around": ON_VALUES["round"]}

# Given an array without elements, MLX reads memory beyond the array, and then hangs or crashes.
NOT_OF_NOTHING = names(
    "sum prod mean var std max min argmax argmin any all count_nonzero cumsum cumprod sort argsort linalg.inv "
    "linalg.det linalg.slogdet linalg.cholesky lib.stride_tricks.sliding_window_view"
)
