"""Rows of numbers: running products, differences, polynomials, curves through points."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ..arrays import of_type, on_device_of
from ..rules import composed
from ..tracked import plain


@composed(np.cumprod)
def cumprod(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """Each times the one before it, then times the product of two before those, of four, …: right at zeros."""
    a, axis = (np.ravel(a), 0) if axis is None else (a, normalize_axis_index(axis, np.ndim(a)))
    a, before = np.moveaxis(of_type(a, dtype), axis, 0), 1
    while before < len(a):
        a, before = np.concatenate([a[:before], a[before:] * a[:-before]]), 2 * before
    return np.moveaxis(a, 0, axis)


@composed(np.linspace)
def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, *, axis: int = 0) -> Any:
    """Between two numbers, or between the elements of two arrays, along a new axis."""
    like = start if hasattr(start, "dtype") else stop
    steps = on_device_of(plain(like), np.arange(num, dtype=like.dtype)) / max(num - bool(endpoint), 1)
    difference = stop - start
    steps = np.reshape(steps, (num,) + (1,) * np.ndim(difference))
    return np.moveaxis(start + steps * difference, 0, axis)
