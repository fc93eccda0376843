"""`Level`: one call of `gradient`. What is tracked for it belongs to it, and what it computes with is read-only.

Levels are numbered by one counter over the whole process: of two calls, the one inside the other has the higher
number. There is no depth to count up and down, so exceptions, generators and threads cannot leave one wrong.
"""

from __future__ import annotations

import itertools
import threading
from typing import Any

import numpy as np

from .arrays import read_only_types

numbers = itertools.count(1)


class Level:
    """One call of `gradient`. What it tracks belongs to it; a call inside it has a level with a higher number."""

    __slots__ = ("number", "is_open", "frozen", "frozen_views")

    def __init__(self, number: int) -> None:
        self.number = number
        self.is_open = True
        # Arrays that are read-only, because the way back still needs the values they have now; by their ids.
        self.frozen: dict[int, Any] = {}
        self.frozen_views: dict[int, Any] = {}

    def freeze(self, array: Any) -> None:
        """Make `array` read-only until this level closes; a view together with the array that it views."""
        key, base = id(array), array.base
        mine = self.frozen if base is None else self.frozen_views
        if key in mine or key not in _holders and not array.flags.writeable:
            return
        if base is not None:
            if not _can_be_released(array):
                return
            if type(base) in read_only_types:  # what is written into W changes W.T as well
                self.freeze(base)
        mine[key] = array
        with _lock:
            _holders[key] = _holders.get(key, 0) + 1
            set_writeable(array, False)

    def close(self) -> None:
        """Make what was frozen writable again."""
        self.is_open = False
        with _lock:
            owners = [array for array in self.frozen.values() if _let_go(array)]
            views = [array for array in self.frozen_views.values() if _let_go(array)] + _waiting_views
            _waiting_views.clear()
            for array in owners:
                set_writeable(array, True)
            # Views come second: one cannot be made writable before the array that it views.
            for array in views:
                try:
                    set_writeable(array, True)
                except ValueError:  # another gradient has frozen the array that it views, and will release both
                    _waiting_views.append(array)
        self.frozen, self.frozen_views = {}, {}


def set_writeable(array: Any, value: bool) -> None:
    if type(array) is np.ndarray:
        array.setflags(value)  # type: ignore[call-arg]  # the same as below, in a third of the time
    else:
        array.flags.writeable = value


# By how many open levels an array is frozen, also in other threads: the last one makes it writable again.
_holders: dict[int, int] = {}
_lock = threading.Lock()
_waiting_views: list[Any] = []


def _let_go(array: Any) -> bool:
    """One holder of `array` less; whether that was the last."""
    key = id(array)
    _holders[key] -= 1
    if _holders[key] == 0:
        del _holders[key]
    return key not in _holders


def _can_be_released(view: Any) -> bool:
    """NumPy makes a view writable again if it views an array, or memory that Python can write (not PyTorch's)."""
    if type(view.base) in read_only_types:
        return True
    try:
        return not memoryview(view.base).readonly
    except TypeError:
        return False


# The level of `param`, which has no enclosing call: it never closes and freezes nothing.
PARAMETERS = Level(0)


def closed() -> RuntimeError:
    return RuntimeError(
        "this array was computed inside a gradient call that has ended, and is only kept for its value: "
        "return it from the function that is differentiated, or use its .data"
    )
