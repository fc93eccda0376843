"""Arrays made by `empty`: they hold a pattern of bits until something is written over it, by a kernel or otherwise.

So nothing has to be told about every write, and a kernel that reads what nobody has written can be found. A program
would have to compute this very pattern to be accused wrongly. With integers of one or two bytes it easily does, so
those aren't looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .memory import Stored
from .rules import current_card

# As a floating-point number, each of these is a NaN that no computation gives.
_PATTERNS = {2: np.uint16(0x7EB7), 4: np.uint32(0x7FEDBEEF), 8: np.uint64(0x7FFEDBEEFCAFEBAD)}


def empty(function: Callable, args: tuple, kwargs: dict, device: Any) -> Any:
    """`np.empty` and `np.empty_like` on a simulated GPU: new memory that nothing has been written to."""
    plain = [x._values if isinstance(x, Stored) else x for x in args]
    named = {name: x._values if isinstance(x, Stored) else x for name, x in kwargs.items()}
    device = current_card(device)
    values = (device.instead or _plainly)(function, *plain, **named)
    made = device.new(values)
    pattern = _pattern(values.dtype)
    if pattern is not None and values.size and device.instead is None:
        values.view(pattern.dtype)[...] = pattern
        made._buffer.is_empty = True
    return made


def pattern_of(x: Any) -> Any:
    """The pattern that unwritten elements of `x` hold, or None if all are written."""
    return _pattern(x.dtype) if x._buffer.is_empty else None


def _pattern(dtype: np.dtype) -> Any:
    return None if dtype.itemsize == 2 and dtype.kind != "f" else _PATTERNS.get(dtype.itemsize)


def _plainly(function: Callable, *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)
