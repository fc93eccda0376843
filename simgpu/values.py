"""Values that aren't NumPy's: what CuPy 14 computes otherwise. All other values are NumPy's own.

Each function here is called in place of a NumPy function, with it and its arguments.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

from .rules import names


class _Halves(np.ndarray):
    """float16 numbers. Wherever one of NumPy's functions adds or multiplies them up, that's done in float32."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        plain = [np.asarray(x) if isinstance(x, _Halves) else x for x in inputs]
        is_rounded = method in ("reduce", "accumulate") and (kwargs.get("dtype") or plain[0].dtype) == np.float16
        if is_rounded:
            result = np.asarray(getattr(ufunc, method)(*plain, **{**kwargs, "dtype": np.float32}), np.float16)
        else:
            result = np.asarray(getattr(ufunc, method)(*plain, out=out and np.asarray(out[0]), **kwargs))
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
    wide = [x.astype(np.float32) if _is_half(x) else x for x in operands]
    return np.asarray(function(*wide, **{**kwargs, "dtype": None}), np.float16)


def _power(function: Callable, x: Any, y: Any, **kwargs: Any) -> Any:
    """Of integers, also to a negative power: 1 / x without its fraction."""
    if np.result_type(x, y).kind != "i" or not np.any(np.less(y, 0)):
        return function(x, y, **kwargs)
    is_whole = (y >= 0) | (abs(x) == 1)
    result = function(x, abs(y), **kwargs)
    result *= is_whole
    return result


# A matrix that can't be inverted or decomposed raises nothing on a card, since nobody looks: that would be a wait. What
# it leaves is inf, nan, or a part of the result. Here it's nan. Other matrices in a stack are right.


def _inverted(function: Callable, x: Any, *rest: Any) -> Any:
    with contextlib.suppress(np.linalg.LinAlgError):
        return function(x, *rest)
    is_singular = np.linalg.slogdet(x)[0] == 0  # raises again if it isn't square
    return function(np.where(is_singular[..., None, None], np.nan, x), *rest)


def _factored(function: Callable, x: Any) -> Any:
    with contextlib.suppress(np.linalg.LinAlgError):
        return function(x)
    if x.ndim > 2:
        return np.stack([_factored(function, part) for part in x])
    return function(np.eye(*x.shape, dtype=x.dtype)) * np.nan if x.ndim == 2 else function(x)


# By NumPy's name. Behind each stands where CuPy decides it.
DIFFERENT: dict[str, Callable] = {
    **dict.fromkeys(names("sum prod nansum nanprod trace average trapezoid"), summed),  # _core/_routines_math.pyx:789
    **dict.fromkeys(names("nanmean nanvar nanstd"), summed),  # _core/_routines_statistics.pyx:667, :712
    **dict.fromkeys(names("cumsum cumprod nancumsum nancumprod cumulative_sum cumulative_prod"), summed),
    "var": _spread, "std": _spread,  # _core/_routines_statistics.pyx:556: the mean by :644, in float32
    "einsum": _summed_products,  # linalg/_einsum.py:623
    "power": _power,  # _core/_routines_math.pyx:1000
    # linalg/_util.py:110, with 'ignore' in cupyx/_ufunc_config.py:50
    **dict.fromkeys(names("linalg.inv linalg.solve linalg.matrix_power"), _inverted), "linalg.cholesky": _factored,
}  # fmt: skip
