"""Values that aren't NumPy's: what CuPy 14 computes otherwise. All other values are NumPy's own.

Each function here is called in place of a NumPy function, with it and its arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .surface import names


class _Halves(np.ndarray):
    """float16 numbers. Wherever one of NumPy's functions adds or multiplies them up, that's done in float32."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        plain = [np.asarray(x) if isinstance(x, _Halves) else x for x in inputs]
        is_rounded = method in ("reduce", "accumulate", "reduceat") and _is_half(kwargs.get("dtype") or plain[0].dtype)
        if is_rounded:
            kwargs["dtype"] = np.float32
        result = np.asarray(getattr(ufunc, method)(*plain, **kwargs))
        result = result.astype(np.float16) if is_rounded else result
        if out is None:
            return result.view(_Halves)
        out[0][...] = result
        return out[0]


def _is_half(x: Any) -> bool:
    return getattr(x, "dtype", x) == np.float16


def summed(function: Callable, *args: Any, **kwargs: Any) -> Any:
    """Sums of float16 are added up in float32 and then rounded, once.

    Some of a card's sums stay in float16: CUB's, running totals, the squares of `var`. They're made in a tree, which
    comes close to this. We don't follow the tree, but what's larger than float16 can hold is inf here, too.
    """
    if not any(isinstance(x, np.ndarray) and _is_half(x) for x in args):
        return function(*args, **kwargs)
    result = function(*(x.view(_Halves) if isinstance(x, np.ndarray) else x for x in args), **kwargs)
    if result is kwargs.get("out"):
        return result
    return tuple(map(np.array, result)) if isinstance(result, tuple) else np.array(result)


def _spread(function: Callable, x: Any, axis: Any = None, *rest: Any, **kwargs: Any) -> Any:
    if _is_half(x):
        kwargs["mean"] = np.mean(x, axis=axis, keepdims=True)
    return summed(function, x, axis, *rest, **kwargs)


def _summed_products(function: Callable, *operands: Any, **kwargs: Any) -> Any:
    result = function(*operands, **kwargs)
    if not _is_half(result) or result.base is not None:  # a view has no sums
        return result
    result, kwargs = np.asarray(result), {**kwargs, "out": None}
    result[...] = function(*(x.astype(np.float32) if _is_half(x) else x for x in operands), **kwargs)
    return result


def power(function: Callable, x: Any, y: Any, **kwargs: Any) -> Any:
    """Of integers, also to a negative power: 1 / x without its fraction."""
    try:
        return function(x, y, **kwargs)
    except ValueError:
        if np.shape(y) and np.min(y) >= 0 or np.result_type(x, y).kind != "i":
            raise
    result = function(x, abs(y), **kwargs)
    result *= (np.asarray(y) >= 0) | (abs(np.asarray(x)) == 1)
    return result


def _unchecked(function: Callable, x: Any, *rest: Any, **kwargs: Any) -> Any:
    """A matrix that can't be inverted or decomposed raises nothing, since nobody looks: that would be a wait.

    What a card leaves then is inf, nan, or half of a result; here it's nan. The others in a stack are right.
    """
    try:
        return function(x, *rest, **kwargs)
    except np.linalg.LinAlgError:
        if x.ndim < 2:
            raise
    is_solve = function is np.linalg.solve
    alone = (lambda x: np.linalg.inv(x)) if is_solve else lambda x: function(x, *rest, **kwargs)
    bad = np.reshape([_raises(alone, x[i]) for i in np.ndindex(x.shape[:-2])], x.shape[:-2]).astype(bool)
    other = np.nan if is_solve else np.eye(*x.shape[-2:], dtype=x.dtype)
    result = function(np.where(bad[..., None, None], other, x), *rest, **kwargs)
    if not is_solve:
        for part in result if isinstance(result, tuple) else (result,):
            part[bad] = np.nan
    return result


def _raises(function: Callable, x: np.ndarray) -> bool:
    try:
        function(x)
    except np.linalg.LinAlgError:
        return True
    return False


# By NumPy's name. Behind each stands where CuPy decides it.
DIFFERENT: dict[str, Callable] = {
    **dict.fromkeys(names("sum prod nansum nanprod trace average trapezoid"), summed),  # _core/_routines_math.pyx:789
    **dict.fromkeys(names("nanmean nanvar nanstd"), summed),  # _core/_routines_statistics.pyx:667, :712
    **dict.fromkeys(names("cumsum cumprod nancumsum nancumprod cumulative_sum cumulative_prod"), summed),
    "var": _spread, "std": _spread,  # _core/_routines_statistics.pyx:556: the mean by :644, in float32
    "einsum": _summed_products,  # linalg/_einsum.py:623
    "power": power,  # _core/_routines_math.pyx:1000
    # linalg/_util.py:110, with 'ignore' in cupyx/_ufunc_config.py:50
    **{f"linalg.{name}": _unchecked for name in names("inv solve cholesky matrix_power pinv svd eigh eigvalsh")},
}  # fmt: skip
