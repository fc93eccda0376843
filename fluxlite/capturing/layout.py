"""Where the buffers of a replay lie: in one block of memory, in which those that take turns share a place."""

import bisect
from typing import NamedTuple

import numpy as np

from .liveness import Liveness
from .memory import root_of
from .program import Call, Program

_ROW = 64  # bytes: each buffer begins where a row of the cache does


class Taken(NamedTuple):
    """A part of the block, from one byte to another, that a buffer has from one call to another."""

    start: int
    end: int
    first_call: int
    last_call: int


class Layout:
    """Where in one block of memory each buffer lies: two that are needed at the same time lie apart.

    The largest are placed first, each as low as it can be; so little is left between them.
    """

    def __init__(self, program: Program, calls: list[Call], liveness: Liveness) -> None:
        self._owned = program.owned
        first, last = _first_and_last_calls(program, calls, liveness.elsewhere())
        for key in liveness.full_at_the_start():
            first[key] = 0
            last.setdefault(key, 0)
        for key in liveness.full_at_the_end():
            first[key] = 0
            last[key] = len(calls)
        self.offsets: dict[int, int] = {}
        self.size = 0  # bytes
        self.unshared = 0  # what it would be if each buffer had its own
        taken: list[Taken] = []  # by where they start
        for key in sorted(first, key=lambda key: (-program.owned[key].nbytes, first[key])):
            beside = [part for part in taken if part.first_call <= last[key] and first[key] <= part.last_call]
            start, end = self._find_room(key, beside)
            bisect.insort(taken, Taken(start, end, first[key], last[key]))
        block = np.empty(self.size + _ROW, np.uint8)
        self._block = block[-block.ctypes.data % _ROW :]
        self._views: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def _find_room(self, key: int, beside: list[Taken]) -> tuple[int, int]:
        """The lowest part that's large enough, where nothing lies at the same time."""
        need = -(-max(self._owned[key].nbytes, 1) // _ROW) * _ROW
        start = 0
        for part in beside:
            if part.start - start >= need:
                break
            start = max(start, part.end)
        self.offsets[key] = start
        self.size = max(self.size, start + need)
        self.unshared += need
        return start, start + need

    def at(self, x: np.ndarray) -> np.ndarray:
        """`x` in the planned memory. What's outside, such as a parameter, is itself."""
        root = root_of(x)
        if id(root) not in self.offsets:
            return x
        if id(x) not in self._views:
            inside = x.__array_interface__["data"][0] - root.__array_interface__["data"][0]
            view = np.ndarray(x.shape, x.dtype, self._block, self.offsets[id(root)] + inside, x.strides)
            self._views[id(x)] = (x, view)  # `x` stays alive, so its id isn't another one's
        return self._views[id(x)][1]


def _first_and_last_calls(
    program: Program, calls: list[Call], elsewhere: set[int]
) -> tuple[dict[int, int], dict[int, int]]:
    """By id of a buffer: the first and the last of the calls that touch it, counted from 0."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for i, call in enumerate(calls):
        for x in (*call.reads(), *call.writes()):
            key = id(root_of(x))
            if key in program.owned and key not in elsewhere:
                first.setdefault(key, i)
                last[key] = i
    return first, last
