"""`Level`: one call of `gradient`. What is tracked for it belongs to it, and what it computes with is read-only.

Levels are numbered by one counter over the whole process: of two calls, the one inside the other has the higher
number. There is no depth to count up and down, so exceptions, generators and threads cannot leave one wrong.
"""

from __future__ import annotations

import itertools
import threading
from typing import Any

import numpy as np

from ..arrays import read_only_types

numbers = itertools.count(1)


class Level:
    """One call of `gradient`. What it tracks belongs to it; a call inside it has a level with a higher number."""

    __slots__ = ("number", "is_open", "frozen")

    def __init__(self, number: int) -> None:
        self.number = number
        self.is_open = True
        # Arrays that are read-only, because the way back still needs the values they have now; by their ids.
        self.frozen: dict[int, Any] = {}
        if number:  # all but that of `param`, which freezes nothing
            _open_levels.append(self)

    def freeze(self, array: Any) -> None:
        """Make `array` read-only until this level closes; a view together with the array that it views."""
        key = id(array)
        if key in self.frozen:
            return
        if array.base is not None and 0 in array.strides and can_be_frozen(array.base) and _is_stretched(array):
            self.freeze(array.base)  # NumPy warns about such a view if its flag is only read
            return
        if not array.flags.writeable:
            with _lock:  # read-only for another level, which may be about to close, or for reasons of the program's own
                is_ours = any(key in level.frozen for level in _open_levels)
                if is_ours:
                    self.frozen[key] = array
            if not is_ours and can_be_frozen(array.base):  # a loader's batch, whose data can be written to
                self.freeze(array.base)
            return
        base = array.base
        if base is not None:
            if can_be_frozen(base):  # what is written into W changes W.T as well
                self.freeze(base)
            elif not _is_writable_memory(base):
                return
        self.frozen[key] = array
        set_writeable(array, False)

    def close(self) -> None:
        """Make what was frozen writable again, unless another level, perhaps of another thread, still holds it."""
        self.is_open = False
        with _lock:
            _open_levels.remove(self)
            for key, array in self.frozen.items():  # an array comes before its views, as it has to
                if not (_open_levels and any(key in level.frozen for level in _open_levels)):
                    _release(array)
            if _waiting_views:
                views = _waiting_views.copy()
                _waiting_views.clear()
                for view in views:
                    _release(view)
        self.frozen = {}


_open_levels: list[Level] = []
_lock = threading.Lock()
_waiting_views: list[Any] = []


def _release(array: Any) -> None:
    try:
        set_writeable(array, True)
    except ValueError:  # another level has frozen the array that it views, and will release both
        _waiting_views.append(array)


def set_writeable(array: Any, value: bool) -> None:
    if type(array) is np.ndarray:
        array.setflags(value)  # type: ignore[call-arg]  # the same as below, in a third of the time
    else:
        array.flags.writeable = value


def can_be_frozen(x: Any) -> bool:
    """Whether `x` is of an array type with ``flags.writeable``; NumPy's subclasses and memmaps are."""
    return type(x) in read_only_types or isinstance(x, np.ndarray)


def _is_stretched(array: Any) -> bool:
    """Whether one number stands at several places, as in what ``np.broadcast_arrays`` gives."""
    return any(stride == 0 and length > 1 for stride, length in zip(array.strides, array.shape))


def _is_writable_memory(base: Any) -> bool:
    """NumPy makes a view writable again if it views an array, or memory that Python can write (not PyTorch's)."""
    try:
        return not memoryview(base).readonly
    except TypeError:
        return False


# The level of `param`, which has no enclosing call: it never closes and freezes nothing.
PARAMETERS = Level(0)


CLOSED = (
    "was computed inside a gradient call that has ended, and is only kept for its value: return it from the function "
    "that is differentiated, or use its .data"
)


def closed(place: str = "") -> RuntimeError:
    return RuntimeError(f"{place or 'this array'} {CLOSED}")
