"""Which MLX function stands for which NumPy ufunc: `SAME_UFUNCS`, or `UFUNCS`, computed otherwise. Others raise."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...arrays import add_at
from ...autodiff.rules import METHODS
from ..simulated import COMPARISONS, SCALARS, refusal
from .array import MetalArray
from .dtypes import as_dtype, kind, loop, mx


def names(table: str) -> dict[str, str]:
    """NumPy's names and MLX's: "sin absolute=abs" gives ``{"sin": "sin", "absolute": "abs"}``."""
    return {name: theirs or name for name, _, theirs in (word.partition("=") for word in table.split())}


# The operands already have the loop's dtypes.
SAME_UFUNCS = names("""
    add subtract multiply divide floor_divide remainder power float_power=power negative positive absolute=abs fabs=abs
    sqrt square reciprocal expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh
    arcsinh arccosh arctanh degrees radians rad2deg=degrees deg2rad=radians floor ceil rint=round trunc
    maximum minimum equal not_equal less less_equal greater greater_equal isnan isinf isfinite
    logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor invert=bitwise_invert
    left_shift right_shift conjugate matmul
""")


def _hypot(x: Any, y: Any) -> Any:
    x, y = mx.abs(x), mx.abs(y)
    larger = mx.maximum(x, y)
    ratio = mx.minimum(x, y) / mx.maximum(larger, 1e-37)  # squares could overflow
    return mx.where(mx.isinf(x) | mx.isinf(y), np.inf, larger * mx.sqrt(1 + ratio * ratio))


def _exp(x: Any) -> Any:
    # For Float64, MLX's exp is good to 8 digits and its power to 16. (sin and cos have 8 too, and stay that way.)
    return mx.power(math.e, x) if x.dtype == mx.float64 else mx.exp(x)


def _logaddexp(x: Any, y: Any) -> Any:
    apart = mx.where(x == y, 0, mx.abs(x - y))  # equal infinities differ by 0, not NaN
    return mx.maximum(x, y) + mx.log1p(_exp(-apart))


UFUNCS: dict[str, Callable] = {
    "vecdot": lambda x, y: mx.sum(x * y, axis=-1),
    "divmod": lambda x, y: (mx.floor_divide(x, y), mx.remainder(x, y)),
    "sign": lambda x: mx.where(mx.isnan(x), x, mx.sign(x)),  # MLX gives 0 for NaN
    "exp": _exp,
    "hypot": _hypot,
    "logaddexp": _logaddexp,
    "exp2": lambda x: mx.power(2, x),
    "cbrt": lambda x: mx.sign(x) * mx.power(mx.abs(x), 1 / 3),
}


def call(device: Any, ufunc: np.ufunc, method: str, inputs: tuple, kwargs: dict) -> Any:
    """The result of a ufunc, or of one of its methods."""
    name = ufunc.__name__
    if (ufunc, method) in METHODS:  # a function by itself
        return METHODS[ufunc, method](*inputs, **({"axis": 0} | kwargs))
    if method == "at" and ufunc is np.add:
        total, index, values = inputs
        return add_at(total, index, values if isinstance(values, MetalArray) else np.asarray(values, like=total))
    if method != "__call__":
        raise NotImplementedError(f"np.{name}.{method} does not exist on Metal")
    if refused := kwargs.keys() - {"out", "dtype"}:
        raise TypeError(f"np.{name} takes no keyword {min(refused)!r} for arrays on Metal")
    if name not in UFUNCS and name not in SAME_UFUNCS:
        raise lacking(name)
    for x in inputs:
        is_number = isinstance(x, SCALARS) or isinstance(x, np.ndarray) and x.ndim == 0 and ufunc in COMPARISONS
        if not is_number and not isinstance(x, MetalArray):
            raise refusal(ufunc, x, device)
    kinds = [np.dtype(kwargs["dtype"])] * ufunc.nin if kwargs.get("dtype") else map(kind, inputs)
    dtypes = loop(ufunc, tuple(kinds))
    values = [as_dtype(x.values if isinstance(x, MetalArray) else x, dtype) for x, dtype in zip(inputs, dtypes)]
    made = UFUNCS[name](*values) if name in UFUNCS else getattr(mx, SAME_UFUNCS[name])(*values)
    several = made if isinstance(made, tuple) else (made,)
    results = [device.new(as_dtype(x, dtype)) for x, dtype in zip(several, dtypes[ufunc.nin :])]
    if kwargs.get("out"):
        results = [written(ufunc, out, x) for out, x in zip(kwargs["out"], results)]
    return results[0] if ufunc.nout == 1 else tuple(results)


def written(function: Any, out: Any, result: MetalArray) -> Any:
    """Write `result` to `out` wherever NumPy would: no number may lose its fraction."""
    if out is None:
        return result
    if not isinstance(out, MetalArray):
        raise refusal(function, out, result.device)
    if not np.can_cast(result.dtype, out.dtype, "same_kind"):
        raise TypeError(f"{function.__name__}: cannot write {result.dtype} into an array of {out.dtype}")
    return out.replace(as_dtype(result.values, out.dtype))


def lacking(name: str) -> TypeError:
    return TypeError(f"np.{name} does not exist for arrays on Metal. Take others, or compute on the host: cpu(x)")
