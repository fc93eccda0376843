"""`Level`: one call of `gradient`. What is tracked for it belongs to it, and what it computes with is read-only.

Levels are numbered by one counter over the whole process: of two calls, the one inside the other has the higher
number. There is no depth to count up and down, so exceptions, generators and threads cannot leave one wrong.
"""

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
        self.frozen: dict[int, Any] = {}  # by id: what is read-only, since the way back needs the values it has now

    def freeze(self, array: Any) -> None:
        """Make `array` read-only until this level closes; a view together with the array that it views."""
        key, base = id(array), array.base
        if key in self.frozen:
            return
        if base is not None:
            if can_be_frozen(base):  # what is written into W changes W.T as well
                self.freeze(base)
                if 0 in array.strides and is_stretched(array):  # NumPy warns if the flag of such a view is only read
                    return
            elif not _is_writable_memory(base):
                return
        with _lock:
            if key not in _holders and not array.flags.writeable:  # for reasons of the program's own
                return
            self.frozen[key] = array  # first, so that it's released even if an interrupt comes now
            _holders[key] = _holders.get(key, 0) + 1
            set_writeable(array, False)

    def close(self) -> None:
        """Make what was frozen writable again, unless another level, perhaps of another thread, still holds it."""
        self.is_open = False
        with _lock:
            released = []
            for key, array in self.frozen.items():  # an array comes before its views, as it has to
                _holders[key] = _holders.get(key, 1) - 1
                if not _holders[key]:
                    del _holders[key]
                    released.append(array)
            released += _waiting_views
            _waiting_views.clear()
            for array in released:
                try:
                    set_writeable(array, True)
                except ValueError:  # it views what another level has frozen, and waits for that
                    _waiting_views.append(array)
        self.frozen = {}


_lock = threading.RLock()  # an interrupt may come before it's released: this thread can go on all the same
_holders: dict[int, int] = {}  # by id: how many levels have frozen this array
_waiting_views: list[Any] = []


def set_writeable(array: Any, value: bool) -> None:
    if type(array) is np.ndarray:
        array.setflags(value)  # type: ignore[call-arg]  # the same as below, in a third of the time
    else:
        array.flags.writeable = value


def can_be_frozen(x: Any) -> bool:
    """Whether `x` is of an array type with ``flags.writeable``; NumPy's subclasses and memmaps are."""
    return type(x) in read_only_types or isinstance(x, np.ndarray)


def is_stretched(array: Any) -> bool:
    """Whether one number stands at several places, as in what ``np.broadcast_arrays`` gives."""
    axes = zip(getattr(array, "strides", ()), array.shape) if array.size else ()  # without elements all may be 0
    return any(stride == 0 and length > 1 for stride, length in axes)


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
