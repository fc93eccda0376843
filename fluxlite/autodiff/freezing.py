"""While `gradient` runs, the arrays that it computed with are read-only: the backward pass needs the values they had.

The derivative of ``x * y`` needs the `x` that was there. If a program changes it in between, the gradient would be
wrong without a word; so NumPy refuses at the line that tries. A `Level` is one call of `gradient`, and keeps the list.
"""

import threading
from typing import Any

import numpy as np

from ..annotations import Array, LibraryArray
from ..array_kinds import ARRAY_KINDS, can_freeze


class Level:
    """One call of `gradient`. What it tracks belongs to it, and what it computes with is read-only until it closes.

    A call inside another one has a higher number. No depth is kept, which exceptions or threads could leave wrong.
    """

    __slots__ = ("number", "is_open", "frozen", "_as_holder")

    def __init__(self, number: int) -> None:
        self.number = number
        self.is_open = True
        self.frozen: dict[int, LibraryArray] = {}  # by id: what's read-only, since the backward pass needs its values
        self._as_holder: tuple[Level, ...] = (self,)  # for all that it freezes: a tuple for each is work

    def freeze(self, array: LibraryArray) -> None:
        """Make `array` read-only until this level closes; a view together with the array that it views."""
        key = id(array)
        if key in self.frozen:
            return
        base = array.base
        if base is not None:
            if can_freeze(base):  # what is written into W changes W.T, too
                self.freeze(base)
                if 0 in array.strides and is_stretched(array):  # NumPy warns even if such a view's flag is only read
                    return
            elif not _is_writable_memory(base):
                return
        with _lock:
            holders = _holders.get(key, ())
            if not holders and not array.flags.writeable:  # for reasons of the program's own
                return
            self.frozen[key] = array  # first, so that it's released even if an interrupt comes now
            _holders[key] = holders + self._as_holder
            if type(array) is np.ndarray:
                array.setflags(write=False)  # the same as below, in a third of the time
            else:
                array.flags.writeable = False

    def close(self) -> None:
        """Make what was frozen writable again, unless another level, perhaps of another thread, still holds it.

        Ctrl-C may come at any instruction: then a second call does what's left.
        """
        self.is_open = False
        with _lock:
            for key, array in self.frozen.items():  # an array comes before its views, as it has to
                holders = _holders.get(key, ())
                if len(holders) > 1 or (holders and holders[0] is not self):
                    _holders[key] = tuple([level for level in holders if level is not self])
                    continue
                _holders.pop(key, None)
                if not _is_writable_again(array):
                    _waiting_views[key] = array
            if _waiting_views:
                for key, array in list(_waiting_views.items()):
                    if _is_writable_again(array):
                        _waiting_views.pop(key, None)
            self.frozen = {}
            self._as_holder = ()


def _is_writable_again(array: LibraryArray) -> bool:
    """Make `array` writable. False if it views what another level has frozen, and has to wait for that."""
    try:
        if type(array) is np.ndarray:
            array.setflags(write=True)
        else:
            array.flags.writeable = True
    except ValueError:
        return False
    return True


_lock = threading.RLock()  # an interrupt may come before it's released: this thread can go on all the same
_holders: dict[int, tuple[Level, ...]] = {}  # by id: the levels that have frozen this array
_waiting_views: dict[int, LibraryArray] = {}  # by id
PARAMETERS = Level(0)  # of `param`, which has no enclosing call: it never closes and freezes nothing


def is_frozen(x: Any) -> bool:
    """Whether `x` is read-only, and perhaps only because of a gradient. A memmap may be for the program's reasons."""
    kind = ARRAY_KINDS.get(type(x))
    return kind is not None and kind.can_freeze and not x.flags.writeable


def is_stretched(array: Array) -> bool:
    """Whether one number stands at several places, as in what ``np.broadcast_arrays`` gives."""
    if not array.size:  # without elements all strides may be 0
        return False
    axes = zip(getattr(array, "strides", ()), array.shape)
    return any(stride == 0 and length > 1 for stride, length in axes)


def _is_writable_memory(base: Any) -> bool:
    """NumPy makes a view writable again if it views an array, or memory that Python can write (not PyTorch's)."""
    try:
        return not memoryview(base).readonly
    except TypeError:
        return False
