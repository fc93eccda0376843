"""CuPy's `cupy._core.internal`: axes, sizes and shapes."""

import math
from collections.abc import Iterable
from typing import Any

from numpy.exceptions import AxisError

from ..surface import getter, lister

__getattr__ = getter(__name__)
__dir__ = lister(__name__)


def prod(args: Iterable[int]) -> int:
    """The product of whole numbers."""
    return math.prod(args)


prod_sequence = prod


def _normalize_axis_index(axis: int, ndim: int) -> int:
    """The axis, counted from the first. Raises `AxisError` if there's none.

    >>> _normalize_axis_index(-1, 3)
    2
    """
    if not -ndim <= axis < ndim:
        raise AxisError(axis, ndim)
    return axis % ndim


def _normalize_axis_indices(axes: Any, ndim: int, sort_axes: bool = True) -> tuple[int, ...]:
    """The axes, counted from the first, in order. None stands for all. Raises `ValueError` for one that's there twice.

    >>> _normalize_axis_indices((-1, 0), 3), _normalize_axis_indices((-1, 0), 3, sort_axes=False)
    ((0, 2), (2, 0))
    """
    if axes is None:
        axes = range(ndim)
    elif not isinstance(axes, tuple):
        axes = (axes,)
    found = [_normalize_axis_index(axis, ndim) for axis in axes]
    if len(set(found)) < len(found):
        raise ValueError("duplicate value in 'axis'")
    if sort_axes:
        found.sort()
    return tuple(found)


def clp2(x: int) -> int:
    """The smallest power of 2 that's at least this; 0 for 0."""
    if x == 0:
        return 0
    return 1 << (x - 1).bit_length()
