"""Arrays made by `empty`: they hold a pattern of bits until something is written over it, by a kernel or otherwise.

So nothing has to be told about every write. A program would have to compute this very pattern to be accused wrongly. With
integers of one or two bytes it easily does, so those aren't looked at.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..memory import Buffer

# As a floating-point number, each of these is a NaN that no computation gives.
_PATTERNS = {2: np.uint16(0x7EB7), 4: np.uint32(0x7FEDBEEF), 8: np.uint64(0x7FFEDBEEFCAFEBAD)}


class EmptyBuffer(Buffer):
    """Memory that nothing has been written to."""

    __slots__ = ()


def fill(values: np.ndarray) -> None:
    """Fill an array with the pattern."""
    pattern = _pattern(values.dtype)
    if pattern is not None and values.size:
        values.view(pattern.dtype)[...] = pattern


def pattern_of(x: Any) -> Any:
    """The pattern that unwritten elements of `x` hold, or None if all are written."""
    return _pattern(x.dtype) if isinstance(x._buffer, EmptyBuffer) else None


def _pattern(dtype: np.dtype) -> Any:
    return None if dtype.itemsize == 2 and dtype.kind != "f" else _PATTERNS.get(dtype.itemsize)
