"""What sums, means and their like ask of a GPU. It depends on which of CuPy's three ways they take.

1. CUB, NVIDIA's library, for whole arrays or along the last axes, of numbers of some types: one kernel, or two for a
   whole array that's too large for one block of threads (`cub_reduction` in CuPy's cuda/cub.pyx:446).
2. A kernel of CuPy's own with CUB's blocks: two for a whole array (_core/_cub_reduction.pyx:287).
3. A kernel of CuPy's own, for everything else: one.

CUB wants memory in one piece. Each function here takes the arguments of the NumPy function.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .asked import BY_LIBRARY, NOTHING, ONE, Asked
from .surface import names

_BLOCK = 16 * 1024  # bytes that one block of threads reduces: 256 threads with 16 numbers of 4 bytes each
_TINY = 128  # CuPy reduces fewer elements without CUB's blocks
_SUMMED = names("i8 u8 f2 f4 f8 c8 c16")  # what CUB sums without changing the type (cuda/cub.pyx:36)


_TWO = Asked(2, library=True)


def of_size(nbytes: int) -> int:
    """The kernels in which CUB reduces this many bytes to one number."""
    return 1 if nbytes <= _BLOCK else 2


def _way(x: np.ndarray, axis: Any) -> str:
    """``"all"`` if the whole array is reduced, ``"rows"`` if that's along pieces of memory, otherwise ``"other"``."""
    flags = x.flags
    if not (flags.c_contiguous or flags.f_contiguous):
        return "other"
    if axis is None:
        return "all"
    axes = sorted(i % x.ndim for i in (axis if isinstance(axis, tuple) else (axis,)))
    if len(axes) == x.ndim:
        return "all"
    if not axes or axes[-1] - axes[0] + 1 != len(axes):
        return "other"
    rows = axes[-1] == x.ndim - 1 if flags.c_contiguous else axes[0] == 0
    return "rows" if rows else "other"


def _by_cub(x: np.ndarray, axis: Any) -> Asked | None:
    way = _way(x, axis)
    return None if way == "other" else _TWO if way == "all" and x.nbytes > _BLOCK else BY_LIBRARY


def _sum_by_cub(x: np.ndarray, axis: Any, dtype: Any) -> Asked | None:
    is_for_cub = x.dtype.str[1:] in _SUMMED if dtype is None else np.dtype(dtype) == x.dtype and x.dtype.kind != "b"
    return _by_cub(x, axis) if is_for_cub else None


def own(x: np.ndarray, axis: Any = None, *rest: Any, **kwargs: Any) -> Asked:
    """What CUB has no function for: ``any``, ``all``, and what leaves out NaNs."""
    return Asked(2) if x.size >= _TINY and _way(x, axis) == "all" else ONE


def total(x: np.ndarray, axis: Any = None, dtype: Any = None, out: Any = None, **kwargs: Any) -> Asked:
    asked = _sum_by_cub(x, axis, dtype)
    if asked is None:
        return own(x, axis)
    return asked if out is None else asked.and_kernels(1)


def mean(x: np.ndarray, axis: Any = None, dtype: Any = None, out: Any = None, **kwargs: Any) -> Asked:
    """With CUB a sum and a division. A result of another type than the sum, or one that's asked for, is converted."""
    kind = x.dtype.kind
    summed_as = dtype if dtype is not None else "f8" if kind in "iub" else "f4" if x.dtype.char == "e" else x.dtype
    by_cub = _sum_by_cub(x, axis, summed_as)
    asked = own(x, axis) if by_cub is None else by_cub.and_kernels(1)
    is_converted = out is None and (dtype is not None or kind in "iub" or x.dtype.char == "e")
    return asked.and_kernels(1) if is_converted else asked


def average(x: np.ndarray, axis: Any = None, weights: Any = None, *rest: Any, **kwargs: Any) -> Asked:
    return mean(x, axis) if weights is None else Asked(6, reads=(1,))


def var(x: np.ndarray, axis: Any = None, *rest: Any, **kwargs: Any) -> Asked:
    """The mean, which is converted to its own type, and then the squared differences."""
    return mean(x, axis, x.dtype if x.dtype.kind in "fc" else "f8").and_kernels(1)


def std(x: np.ndarray, axis: Any = None, *rest: Any, **kwargs: Any) -> Asked:
    return var(x, axis).and_kernels(1)


def extreme(x: np.ndarray, axis: Any = None, out: Any = None, **kwargs: Any) -> Asked:
    asked = _by_cub(x, axis) if x.dtype.kind != "b" else None
    return own(x, axis) if asked is None else asked if out is None else asked.and_kernels(1)


def spread(x: np.ndarray, axis: Any = None, *rest: Any, **kwargs: Any) -> Asked:
    """The largest, the smallest, and their difference."""
    asked = extreme(x, axis)
    return asked.and_kernels(asked.kernels + 1)


def place(x: np.ndarray, axis: Any = None, *rest: Any, **kwargs: Any) -> Asked:
    """CUB finds only the place in a whole array, whose type is then changed."""
    asked = _by_cub(x, axis) if _way(x, axis) == "all" and x.dtype.kind != "b" else None
    return own(x, axis) if asked is None else asked.and_kernels(1)


def nan_extreme(x: np.ndarray, axis: Any = None, *rest: Any, **kwargs: Any) -> Asked:
    """CuPy then looks whether a result is NaN, to warn of it: `isnan`, `any`, and the host reads the answer."""
    kept = 1 if axis is None else x.size // max(1, math.prod(np.take(x.shape, np.atleast_1d(axis)).tolist()))
    return Asked(own(x, axis).kernels + 1 + (2 if kept >= _TINY else 1), reads=(1,))


def nan_var(x: np.ndarray, axis: Any = None, *rest: Any, **kwargs: Any) -> Asked:
    """How many there are, their sum, and the squared differences."""
    return Asked(2 * own(x, axis).kernels + 1)


def nan_std(x: np.ndarray, axis: Any = None, *rest: Any, **kwargs: Any) -> Asked:
    return nan_var(x, axis).and_kernels(1)


def norm(x: np.ndarray, ord: Any = None, axis: Any = None, *rest: Any, **kwargs: Any) -> Asked:
    """Of a whole array: products, their sum, the root. Along an axis it's one kernel of its own."""
    if axis is not None:
        return ONE
    return total(x).and_kernels(1 if ord in (1, np.inf, -np.inf) and x.ndim == 1 else 2)


def agreement(x: Any, y: Any, *rest: Any, **kwargs: Any) -> Asked:
    """Which elements agree, and whether all do."""
    try:
        size = math.prod(np.broadcast_shapes(np.shape(x), np.shape(y)))
    except ValueError:  # the host sees that they don't
        return NOTHING
    return Asked(1 + (2 if size >= _TINY else 1))
