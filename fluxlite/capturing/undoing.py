"""What a run changes outside, and how to put it back: parameters, an optimizer's memory, buffers, generators."""

import contextlib
import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .memory import root_of, values_of


class Undoing:
    """What was there before a run. `owned` is the run's own memory, by id: nothing in it has to be put back."""

    def __init__(self, owned: dict[int, np.ndarray]) -> None:
        self._owned = owned
        self._undo: dict[Any, Callable[[], None]] = {}

    def later(self, key: Any, undo: Callable[[], None]) -> None:
        """`undo` puts something back. For each `key`, only the first one counts: it knows what was there."""
        self._undo.setdefault(key, undo)

    def note_array(self, target: Any) -> None:
        """`target` is about to be changed in place."""
        root = root_of(target)
        if id(root) in self._owned:
            return
        if root.flags.writeable:
            self.later(id(root), functools.partial(np.copyto, root, root.copy()))
            return
        view = values_of(target)  # which may be written to all the same
        key = id(root), repr(view.__array_interface__)
        self.later(key, functools.partial(np.copyto, view, view.copy()))

    def note_item(self, owner: dict[str, Any], key: str) -> None:
        """``owner[key]``, such as an optimizer's count of steps, is about to be another one."""
        self.later((id(owner), key), functools.partial(operator.setitem, owner, key, owner[key]))

    def note_generator(self, generator: Any) -> None:
        """A generator of random numbers is about to be drawn from."""
        self.later(id(generator), functools.partial(put_state, generator, state_of(generator)))

    def put_back(self) -> None:
        """All is as it was: the last change first, and each of them even if one raises."""
        with contextlib.ExitStack() as each:
            for undo in self._undo.values():
                each.callback(undo)


def state_of(generator: Any) -> Any:
    """A device's generator has its state by itself; one of NumPy's, in its bit generator."""
    return getattr(generator, "bit_generator", generator).state


def put_state(generator: Any, state: Any) -> None:
    """The generator goes on from a `state` that it had."""
    getattr(generator, "bit_generator", generator).state = state
