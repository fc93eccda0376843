"""Which MLX function stands for which NumPy ufunc: element-wise functions, and matmul.

Most have the same name in both and are listed in `SAME_UFUNCS`. `UFUNCS` has those that we compute differently.
All others raise `TypeError`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..simulated import SCALARS, refusal
from .dtypes import kind, loop, mlx_dtype, mx, number, numpy_dtype
from .indexing import write_all
from .wrapped import Wrapped


def names(text: str) -> frozenset[str]:
    """The words of a text, so that a table reads like a list."""
    return frozenset(text.split())


def same_names(table: str) -> dict[str, str]:
    """Turn words into ``{"sin": "sin", "power": "power"}``. ``absolute=abs`` means that MLX's name is abs."""
    pairs = (word.partition("=") for word in table.split())
    return {name: theirs or name for name, _, theirs in pairs}


# NumPy's name, and MLX's if it differs. The operands already have the loop's dtypes.
SAME_UFUNCS = same_names(
    """
    add subtract multiply divide floor_divide remainder power float_power=power negative positive absolute=abs fabs=abs
    sqrt square reciprocal expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh
    arcsinh arccosh arctanh degrees radians rad2deg=degrees deg2rad=radians floor ceil rint=round trunc
    maximum minimum equal not_equal less less_equal greater greater_equal isnan isinf isfinite
    logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor invert=bitwise_invert
    left_shift right_shift conjugate
    """
)


def _inner_of_integers(x: Any, y: Any) -> Any:
    """A matrix product of integers. MLX multiplies floating-point matrices only."""
    rows, columns = x[None] if x.ndim == 1 else x, y[:, None] if y.ndim == 1 else y
    products = rows[..., :, :, None] * columns[..., None, :, :]
    result = mx.sum(products, axis=-2) if products.size else mx.zeros(products.shape[:-2] + products.shape[-1:])
    result = result[..., 0] if y.ndim == 1 else result
    return result[..., 0, :] if x.ndim == 1 and y.ndim > 1 else result[0] if x.ndim == 1 else result


def _matmul(x: Any, y: Any) -> Any:
    if x.ndim == 0 or y.ndim == 0:
        raise ValueError("matmul: an operand has no axes; use *")
    if numpy_dtype(x.dtype).kind in "biu":
        return _inner_of_integers(x, y)
    return mx.matmul(x, y)


def _hypot(x: Any, y: Any) -> Any:
    x, y = mx.abs(x), mx.abs(y)
    larger = mx.maximum(x, y)
    ratio = mx.minimum(x, y) / mx.maximum(larger, 1e-37)  # squares could overflow
    return mx.where(mx.isinf(x) | mx.isinf(y), np.inf, larger * mx.sqrt(1 + ratio * ratio))


def _exp(x: Any) -> Any:
    # For Float64, MLX's exp is good to 8 digits and its power to 16. (sin and cos have 8 too, and stay that way.)
    return mx.power(math.e, x) if x.dtype == mx.float64 else mx.exp(x)


def _logaddexp(x: Any, y: Any) -> Any:
    if x.dtype != mx.float64:
        return mx.logaddexp(x, y)
    apart = mx.where(x == y, 0, mx.abs(x - y))  # equal infinities differ by 0, not NaN
    return mx.maximum(x, y) + mx.log1p(_exp(-apart))


def _divmod(x: Any, y: Any) -> tuple:
    return mx.floor_divide(x, y), mx.remainder(x, y)


def _chosen(better: Callable) -> Callable:
    """The better of two values, never NaN if there's a choice."""
    return lambda x, y: mx.where(mx.isnan(x), y, mx.where(mx.isnan(y), x, better(x, y)))


UFUNCS: dict[str, Callable] = {
    "matmul": _matmul,
    "vecdot": lambda x, y: mx.sum(x * y, axis=-1),
    "divmod": _divmod,
    "sign": lambda x: mx.where(mx.isnan(x), x, mx.sign(x)),  # MLX gives 0 for NaN
    "exp": _exp,
    "logaddexp": _logaddexp,
    "exp2": lambda x: mx.power(2, x),
    "cbrt": lambda x: mx.sign(x) * mx.power(mx.abs(x), 1 / 3),
    "hypot": _hypot,
    "logaddexp2": lambda x, y: _logaddexp(x * math.log(2), y * math.log(2)) / math.log(2),
    "fmod": lambda x, y: mx.sign(x) * mx.remainder(mx.abs(x), mx.abs(y)),
    "fmax": _chosen(lambda x, y: mx.maximum(x, y)),
    "fmin": _chosen(lambda x, y: mx.minimum(x, y)),
    "signbit": lambda x: (x < 0) | (mx.isinf(1 / x) & (1 / x < 0)),  # true for -0.0 too
    "copysign": lambda x, y: mx.where(UFUNCS["signbit"](y), -mx.abs(x), mx.abs(x)),
    "heaviside": lambda x, y: mx.where(mx.isnan(x), x, mx.where(x == 0, y, (x > 0).astype(x.dtype))),
}

# the equivalent of each ufunc method
_REDUCE: dict[str, Any] = {
    "add": np.sum, "multiply": np.prod, "maximum": np.max, "minimum": np.min, "logical_and": np.all,
    "logical_or": np.any,
}  # fmt: skip
_ACCUMULATE: dict[str, Any] = {"add": np.cumsum, "multiply": np.cumprod}


def call_ufunc(device: Any, ufunc: np.ufunc, method: str, inputs: tuple, kwargs: dict) -> Any:
    """The result of a ufunc, or of one of its methods. Raises `TypeError` for operands on the host."""
    if method == "reduce" and ufunc.__name__ in _REDUCE:
        return _REDUCE[ufunc.__name__](*inputs, **({"axis": 0} | kwargs))
    if method == "accumulate" and ufunc.__name__ in _ACCUMULATE:
        return _ACCUMULATE[ufunc.__name__](*inputs, **({"axis": 0} | kwargs))
    if method == "at" and ufunc is np.add:
        return _add_at(*inputs)
    if method != "__call__":
        raise NotImplementedError(f"np.{ufunc.__name__}.{method} does not exist on Metal")
    refused = kwargs.keys() - {"out", "dtype"}
    if refused:
        raise TypeError(f"np.{ufunc.__name__} takes no keyword {min(refused)!r} for arrays on Metal")
    operands = [x if isinstance(x, Wrapped) else _number(ufunc, x, device) for x in inputs]
    kinds = (np.dtype(kwargs["dtype"]),) * len(operands) if kwargs.get("dtype") else tuple(map(kind, operands))
    results = _computed(device, ufunc, operands, loop(ufunc, kinds))
    if kwargs.get("out"):
        results = [written(ufunc, out, x) for out, x in zip(kwargs["out"], results, strict=True)]
    return results[0] if ufunc.nout == 1 else tuple(results)


def _computed(device: Any, ufunc: np.ufunc, operands: list, dtypes: tuple) -> list:
    name = ufunc.__name__
    if name not in UFUNCS and name not in SAME_UFUNCS:
        raise lacking(name)
    values = [
        x.values.astype(mlx_dtype(dtype)) if isinstance(x, Wrapped) else number(x, dtype)
        for x, dtype in zip(operands, dtypes, strict=False)
    ]
    result = UFUNCS[name](*values) if name in UFUNCS else getattr(mx, SAME_UFUNCS[name])(*values)
    results = result if isinstance(result, (tuple, list)) else [result]
    return [device.new(x.astype(mlx_dtype(dtype))) for x, dtype in zip(results, dtypes[len(operands) :], strict=True)]


_COMPARISONS = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)


def _number(function: Any, x: Any, device: Any) -> Any:
    """`x`, an operand that isn't one of our arrays, if it's a number. Raises `TypeError` if not."""
    if isinstance(x, SCALARS):
        return x
    if isinstance(x, np.ndarray) and x.ndim == 0 and function in _COMPARISONS:
        return x[()]
    raise refusal(function, x, device)


def written(function: Any, out: Any, result: Wrapped) -> Any:
    """Write `result` to `out` wherever NumPy would: no number may lose its fraction."""
    if out is None:
        return result
    if not isinstance(out, Wrapped):
        raise refusal(function, out, result.device)
    if not np.can_cast(result.dtype, out.dtype, "same_kind"):
        raise TypeError(f"{function.__name__}: cannot write {result.dtype} into an array of {out.dtype}")
    return write_all(out, result.values)


def lacking(name: str) -> TypeError:
    """The error for a function that's in no table."""
    return TypeError(
        f"np.{name} does not exist for arrays on Metal. Build it from other functions, or compute on the host: cpu(x)."
    )


def _add_at(x: Any, index: Any, values: Any) -> None:
    from ...arrays import add_at

    if not isinstance(x, Wrapped):
        raise refusal(np.add, x, values.device if isinstance(values, Wrapped) else index.device)
    add_at(x, index, values if isinstance(values, Wrapped) else x.device.copy_in(np.asarray(values, x.dtype), False))
