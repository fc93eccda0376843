"""``np.add.at`` and its like: many threads change one place, one after the other, by atomic operations."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import kernels
from .indexing import array_of, index_arrays
from .memory import Stored
from .quiet import quietly
from .refusals import SCALARS
from .rules import values_on

# The types with atomic operations.
_ATOMIC = {
    "add": "i4 i8 u4 u8 f2 f4 f8",
    "subtract": "i4 u4",
    "maximum": "i4 i8 u4 u8 f4 f8",
    "minimum": "i4 i8 u4 u8 f4 f8",
    "bitwise_and": "i4 i8 u4 u8",
    "bitwise_or": "i4 i8 u4 u8",
    "bitwise_xor": "i4 i8 u4 u8",
}


def add_at(ufunc: np.ufunc, x: Any, index: Any, *given: Any) -> None:
    """``np.add.at(x, index, y)`` and the like, which a GPU does with atomic operations."""
    if not isinstance(index, (Stored, np.ndarray, *SCALARS)) or not isinstance(x, Stored):
        raise TypeError(
            f"{ufunc.__name__}.at on a GPU takes an array there and as index a number or an array, got "
            f"{type(x).__name__} and {type(index).__name__}"
        )
    scatter(ufunc, x, index, *given)


def scatter(ufunc: np.ufunc, x: Any, index: Any, *given: Any) -> None:
    """The same at any index."""
    if ufunc.__name__ not in _ATOMIC:
        raise NotImplementedError(f"{ufunc.__name__}.at does not exist on a GPU")
    if x._values.dtype.str[1:] not in _ATOMIC[ufunc.__name__].split():
        raise TypeError(f"{ufunc.__name__}.at does not exist on a GPU for dtype {x._values.dtype}")
    device = x.device.begin()
    values = [array_of(device, value, x._values.dtype) for value in given]
    place, arrays = index_arrays(device, index, x._values.shape)
    added = [values_on(device, value) for value in values]
    quietly(device, ufunc.at, x._values, place, *added)
    # What's there is read and written once for each place, and what's added is read.
    places = arrays[0].size if arrays and arrays[0].dtype.kind != "b" else len(x._values)
    moved = 2 * places * x._values[:1].nbytes + sum(y.nbytes for y in added + arrays)
    asked = kernels.asked_at(arrays, x._values)
    device.launch(f"{ufunc.__name__}.at", moved, count=asked.kernels)
    device.besides(f"{ufunc.__name__}.at", asked, x._values.nbytes)
