"""``np.apply_along_axis`` and ``np.apply_over_axes``: the user's function gets arrays of the device, as in CuPy."""

from collections.abc import Callable
from typing import Any

import numpy as np


def apply_along_axis(func1d: Callable, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """`func1d` of each vector along the axis, one call after the other. All its results have the same shape."""
    rows = np.moveaxis(arr, np.lib.array_utils.normalize_axis_index(axis, arr.ndim), -1)
    places = list(np.ndindex(rows.shape[:-1]))
    if not places:
        raise ValueError("apply_along_axis needs at least one vector, and an axis other than this has length 0")
    made = [np.asarray(func1d(rows[place], *args, **kwargs), like=arr) for place in places]
    result = np.stack(made).reshape(rows.shape[:-1] + made[0].shape)
    for _ in made[0].shape:
        result = np.moveaxis(result, -1, axis)
    return result


def apply_over_axes(func: Callable, a: Any, axes: Any) -> Any:
    """``func(a, axis)`` for one axis after the other. Where it takes the axis away, one of length 1 comes back."""
    for axis in np.atleast_1d(axes):
        axis = np.lib.array_utils.normalize_axis_index(int(axis), a.ndim)
        result = func(a, axis)
        if result.ndim < a.ndim:
            result = np.expand_dims(result, axis)
        if result.ndim != a.ndim:
            raise ValueError("apply_over_axes: the function's result hasn't as many axes as its argument, or one less")
        a = result
    return a
