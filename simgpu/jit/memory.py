"""Memory as threads see it: which elements an access means, what it costs, and whether it's allowed.

A warp's access of a card's memory goes in sectors of 32 bytes. Shared memory has 32 banks, which give one word of 4
bytes each at a time; a word that several lanes want goes to all of them at once.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from . import advice
from .errors import OutOfBounds
from .lanes import WARP, Lanes, Mask
from .races import ATOMIC, READ, WRITE, Footprint, Log

SECTOR, BANKS, WORD = 32, 32, 4
_MOST_KNOWN = 1024
_SMALL = 1024  # index arrays up to this size are kept, and found again


class Memory:
    """A piece of memory, with a log of who touched it: one of the card's, or a shared array of every block."""

    def __init__(self, units: int, unit: int, log: Log | None) -> None:
        self.unit, self.log = unit, log  # the log counts in units of so many bytes
        self.near = np.zeros(-(-units * unit // SECTOR) + 1, bool)  # the sectors touched in this launch
        self.atomics: np.ndarray | None = None  # how many atomics each unit has seen
        self.units = units
        self.touched: dict[int, np.ndarray] = {}  # which units were written, or read if the launch writes none of them
        self.lines: dict[int, set[int]] = {READ: set(), WRITE: set(), ATOMIC: set()}

    def note(self, way: int, at: Any, each: int) -> None:
        """These elements were read or written; each is so many units."""
        if way not in self.touched:
            self.touched[way] = np.zeros(self.units, bool)
        for k in range(each):
            self.touched[way][at * each + k] = True

    def count_atomics(self, at: np.ndarray, times: int) -> None:
        if self.atomics is None:
            self.atomics = np.zeros(self.units, np.int64)
        self.atomics += times * np.bincount(at, minlength=self.units)


class Part(NamedTuple):
    """An array in a memory. Element ``(i, j)`` is ``flat[offset + i * strides[0] + j * strides[1]]``.

    Shared memory has a row for each block: `flat` is then ``(blocks, size)``.
    """

    name: str
    memory: Memory
    flat: np.ndarray
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0
    written: np.ndarray | None = None  # of shared memory, and then where
    unwritten: Any = None  # of an array made by `empty`: the bits that nothing has written over

    @property
    def is_shared(self) -> bool:
        return self.written is not None

    @property
    def each(self) -> int:
        """How many units an element has."""
        return self.flat.itemsize // self.memory.unit

    def indices_of(self, at: int) -> list[int]:
        """The index along each axis of a flat position, as far as it can be told: 0 where all have the same."""
        at -= self.offset
        found = [0] * len(self.shape)
        for axis in sorted(range(len(self.shape)), key=lambda axis: -self.strides[axis]):
            if self.strides[axis] > 0:
                found[axis] = min(at // self.strides[axis], self.shape[axis] - 1)
                at -= found[axis] * self.strides[axis]
        return found

    def index_of(self, at: int) -> str:
        """The same as text: ``2, 3``."""
        return ", ".join(map(str, self.indices_of(at))) if min(self.strides, default=1) > 0 else "…"

    def among(self, seen: np.ndarray | None) -> tuple[int, int]:
        """How many elements are among these units of its memory, and how many there are."""
        size, each = math.prod(self.shape), self.each
        if seen is None or not size:
            return 0, size
        strides = [stride * each for stride in self.strides]
        own = np.lib.stride_tricks.as_strided(seen[self.offset * each :], self.shape, strides)
        return int(np.count_nonzero(own)), size


class Ref(NamedTuple):
    """What a name holds that means an array: all of it, or what's left after the first indices, as in ``x[0]``."""

    part: Part
    axis: int = 0
    offset: Any = 0

    @property
    def shape(self) -> tuple[int, ...]:
        return self.part.shape[self.axis :]

    @property
    def strides(self) -> list[int]:
        """In bytes."""
        return [stride * self.part.flat.itemsize for stride in self.part.strides[self.axis :]]


class Reach:
    """The elements that a mask's lanes mean, and what touching them costs."""

    __slots__ = (
        "at", "chosen", "lane", "footprint", "times", "sectors", "used", "conflicts", "waits", "is_near", "is_written",
        "is_read", "noted",
    )  # fmt: skip

    def __init__(self, at: Any) -> None:
        self.at = at  # for every lane; where a lane doesn't take part, element 0
        self.chosen = at  # only of the lanes that take part, in order
        self.lane: np.ndarray | None = None  # which lanes these are, None for all
        self.footprint: Footprint | None = None
        self.times = 1  # how many blocks do the same
        self.sectors = self.used = self.conflicts = 0
        self.waits: np.ndarray | None = None  # how much longer each warp takes, because of conflicts
        self.is_near = self.is_written = self.is_read = False
        self.noted = [-1, -1, -1]  # for each way, the log's serial number when it was last noted


def reach(lanes: Lanes, mask: Mask, ref: Ref, indices: list[Any], site: Any) -> Reach:
    """Where the lanes of `mask` go with these indices. Raises `OutOfBounds`."""
    key = _key(mask, ref, indices)
    if key is not None:
        found = mask.known.get(key)
        if found is not None:
            return found
    at = _inside(lanes, mask, ref, indices, site)
    made = Reach(at)
    _measure(lanes, mask, ref.part, made)
    if key is not None:
        if len(mask.known) > _MOST_KNOWN:
            mask.known.clear()
        mask.known[key] = made
    return made


def _key(mask: Mask, ref: Ref, indices: list[Any]) -> Any:
    """What tells one access from another, if all blocks do the same. Otherwise None."""
    if len(mask.on) > 1 or isinstance(ref.offset, np.ndarray):
        return None
    parts = []
    for index in indices:
        if isinstance(index, np.ndarray):
            if len(index) > 1:
                return None
            index = index.tobytes()
        parts.append(index)
    return (id(ref.part), ref.axis, ref.offset, *parts)


def _inside(lanes: Lanes, mask: Mask, ref: Ref, indices: list[Any], site: Any) -> Any:
    """The flat position, after each index was looked at."""
    at: Any = ref.part.offset + ref.offset
    for axis, index in enumerate(indices, ref.axis):
        index, size = as_index(index), ref.part.shape[axis]
        if isinstance(index, int):
            if not 0 <= index < size:
                raise _outside(lanes, ref, axis, index, mask.on, mask.count, site)
        elif index.size and index.view(np.uint64).max() >= size:  # as unsigned numbers, negative ones are large
            bad = mask.on & (index.view(np.uint64) >= size)
            if bad.any():
                first = np.broadcast_to(index, bad.shape).ravel()[bad.argmax()]
                times = lanes.blocks // len(bad)
                raise _outside(lanes, ref, axis, int(first), bad, int(bad.sum()) * times, site)
            index = np.where(_taking_part(mask, index), index, 0)
        at = at + index * ref.part.strides[axis]
    return at


def as_index(x: Any) -> Any:
    return x.astype(np.int64) if isinstance(x, np.ndarray) else int(x)


def _taking_part(mask: Mask, index: np.ndarray) -> np.ndarray:
    """Which elements of `index` some lane of the mask uses."""
    on: Any = mask.on
    if index.shape[1] == 1:
        on = on.any(1, keepdims=True)
    return on.any(0, keepdims=True) if index.shape[0] < len(on) else on


def _outside(lanes: Lanes, ref: Ref, axis: int, index: int, bad: Any, count: int, site: Any) -> Exception:
    part, place, node = ref.part, axis - ref.axis, site.node
    size = part.shape[axis]
    along = f" along axis {axis}" if len(part.shape) > 1 else ""
    what = f"{part.name} has {size:,} elements{along}, 0 to {size - 1:,}; index {index:,} is outside."
    below, signed = index, None
    if index >= 2**31:
        below = -1
        parts = advice.indices_of(node)
        signed = advice.signed(parts[place] if place < len(parts) else node, site.source.tree)
        what += f" It's a number below 0 that an unsigned type can't hold: write {signed or 'int(jit.grid(1))'}."
    backwards = ", and doesn't count from the end" if below < 0 else ""
    lost, program = lanes.launch.lost_axis, lanes.launch.program
    does = f"{count:,} {'thread does' if count == 1 else 'threads do'} this here. A GPU doesn't check{backwards}."
    if not lost or program.second_axis[1]:  # else a guard would only make the numbers wrong
        axes = len(part.shape) - ref.axis
        does += advice.guard(node, place, axes, below, part, lanes.launch, site.source.tree, signed)
    return site.wrong(OutOfBounds, what, f"{does}\n{lost}".strip(), lanes.first_of(bad))


# -- What an access costs -------------------------------------------------------------------------


def _measure(lanes: Lanes, mask: Mask, part: Part, made: Reach) -> None:
    at, on = made.at, mask.on
    rows = max(len(on), len(at) if isinstance(at, np.ndarray) else 1)
    made.times = lanes.blocks // rows
    shape = (rows, lanes.width)
    if mask.is_full:
        chosen = np.broadcast_to(at, shape).ravel()
        lane = None
    else:
        lane = np.broadcast_to(on, shape).ravel().nonzero()[0]
        chosen = np.broadcast_to(at, shape).ravel()[lane]
    made.chosen, made.lane = chosen, lane
    if part.is_shared:
        _measure_banks(lanes, part, made, np.arange(chosen.size) if lane is None else lane, rows)
    elif isinstance(at, int):
        made.sectors = mask.warp_count
        made.used = mask.warp_count * part.flat.itemsize
    else:
        warp = None if lane is None else lane // WARP
        made.sectors = made.times * _distinct(warp, chosen * part.flat.itemsize // SECTOR)
        made.used = made.times * _distinct(warp, chosen) * part.flat.itemsize
    if rows == 1 and (part.is_shared or lanes.launch.blocks == 1):
        thread = np.arange(lanes.width) if lane is None else lane
        made.footprint = Footprint(*in_units(part, chosen, thread))


def _distinct(warp: np.ndarray | None, x: np.ndarray) -> int:
    """How many different values each warp has, added up. `warp` is None if all lanes take part."""
    if warp is None:
        rows = x.reshape(-1, WARP)
        steps = rows[:, 1:] - rows[:, :-1]
        if steps.min(initial=0) < 0:
            rows = np.sort(rows, 1)
            steps = rows[:, 1:] - rows[:, :-1]
        return len(rows) + int(np.count_nonzero(steps))
    key = warp << 44 | x
    steps = key[1:] - key[:-1]
    if steps.min(initial=0) < 0:
        key.sort()
        steps = key[1:] - key[:-1]
    return int(key.size > 0) + int(np.count_nonzero(steps))


def _measure_banks(lanes: Lanes, part: Part, made: Reach, lane: np.ndarray, rows: int) -> None:
    """Lanes that want different words of one bank go one after the other. Half a warp at a time takes 8 bytes each."""
    size = part.flat.itemsize
    words = max(1, size // WORD)
    group = np.repeat(lane // (WARP // words), words)
    word = (made.chosen[:, None] * size // WORD + np.arange(words)).ravel()
    key = np.unique(group << 40 | word)
    group = key >> 40
    each = np.bincount(group * BANKS + (key & BANKS - 1), minlength=rows * lanes.width // WARP * words * BANKS)
    extra = np.maximum(each.reshape(-1, BANKS).max(1) - 1, 0).reshape(rows, -1, words).sum(2)
    conflicts = int(extra.sum())
    if conflicts:
        made.conflicts, made.waits = conflicts * made.times, extra


def in_units(part: Part, at: np.ndarray, who: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Elements and threads as the log counts them: two arrays in one memory may have elements of different sizes."""
    each = part.each
    if each == 1:
        return at, who
    return (at[:, None] * each + np.arange(each)).ravel(), np.repeat(who, each)
