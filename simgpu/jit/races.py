"""Data races: two threads touch an element, at least one of them writes, and nothing says which comes first.

A barrier orders the threads of a block, a warp barrier those of a warp. Nothing orders two blocks of one launch. Atomic
operations may meet each other, but not a plain read or write (compute-sanitizer's names: RAW, WAR, WAW).

There are two ways to find a race, which give the same answer. While all blocks do the same at the same time, we keep
each access since the latest barrier as a `Footprint` and compare it with the others. The same footprints come again and
again, as loops do, so nearly all of that is looked up. Otherwise `Elements` keeps, for each element, who touched it.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from .lanes import same_block, same_phase, same_step, same_warp

READ, WRITE, ATOMIC = range(3)
AGAINST = {READ: (WRITE, ATOMIC), WRITE: (WRITE, READ, ATOMIC), ATOMIC: (WRITE, READ)}
_MOST_RECENT = 48


class Race(NamedTuple):
    """`place` of the access meets what the thread `other` did earlier."""

    place: int
    other: int  # as in Lanes.who
    earlier: int  # READ, WRITE or ATOMIC


class Footprint:
    """The elements that each thread of one block touches, when all blocks do the same: `at` and `thread` in pairs."""

    def __init__(self, at: np.ndarray, thread: np.ndarray) -> None:
        self.at, self.thread = at, thread
        self._met: dict[Footprint, tuple[int, int] | None] = {}

    @functools.cached_property
    def owners(self) -> tuple[np.ndarray, ...]:
        """Its elements in order, and for each the first and the last of the threads that touch it."""
        order = np.lexsort((self.thread, self.at))
        at, thread = self.at[order], self.thread[order]
        begins = np.concatenate(([True], at[1:] != at[:-1]))
        return at[begins], thread[begins], thread[np.concatenate((begins[1:], [True]))]

    def meets(self, earlier: Footprint) -> tuple[int, int] | None:
        """A place where a thread touches what another one touched in `earlier`, and that thread. Or None."""
        if earlier not in self._met:
            self._met[earlier] = self._look(earlier)
        return self._met[earlier]

    def _look(self, earlier: Footprint) -> tuple[int, int] | None:
        elements, first, last = earlier.owners
        if not elements.size or not self.at.size:
            return None
        found = np.searchsorted(elements, self.at).clip(max=elements.size - 1)
        first, last = first[found], last[found]
        bad = (elements[found] == self.at) & ((first != self.thread) | (last != self.thread))
        if not bad.any():
            return None
        place = int(bad.argmax())
        return place, int(first[place] if first[place] != self.thread[place] else last[place])


class Elements:
    """For each element, enough of those who touched it to find any race with the next access.

    One writer is enough: had there been two without an order, that would have been a race already. Of readers we keep
    the first since the latest barrier and one other, of another warp if there is one. The thread that writes differs
    from one of them, and a barrier of its own warp orders only that warp's. For two blocks likewise.
    """

    def __init__(self, size: int, crosses_blocks: bool) -> None:
        self.size, self.crosses = size, crosses_blocks
        self.logs: dict[int, list[np.ndarray]] = {}  # the latest; the other one; then the first two of two blocks

    def race(self, at: np.ndarray, who: np.ndarray, way: int) -> Race | None:
        """The first race of an access with what was noted, or with itself."""
        for earlier in AGAINST[way]:
            for log in self.logs.get(earlier, ()):
                seen = log[at]
                if seen.max(initial=-1) >= 0:
                    bad = (seen >= 0) & _unordered(seen, who, self.crosses)
                    if bad.any():
                        place = int(bad.argmax())
                        return Race(place, int(seen[place]), earlier)
        return None

    def note(self, at: np.ndarray, who: np.ndarray, way: int) -> None:
        if way not in self.logs:
            self.logs[way] = [np.full(self.size, -1) for _ in range(1 if way == WRITE else 4 if self.crosses else 2)]
        latest, *others = self.logs[way]
        if way == WRITE:
            latest[at] = who
            return
        differ = latest[at] ^ who
        # Older than the latest barrier, or than the latest barrier of its own warp.
        old = ~same_phase(differ) | (same_warp(differ) & ~same_step(differ))
        latest[at[old]] = who[old]
        differ, other = latest[at] ^ who, others[0]
        away = ~same_warp(differ)
        is_free = ~same_phase(other[at] ^ who) | same_warp(other[at] ^ latest[at])
        near = (differ != 0) & ~away & is_free
        other[at[near]] = who[near]
        other[at[away]] = who[away]
        if self.crosses:
            _, first, second = others
            new = first[at] < 0
            first[at[new]] = who[new]
            away = ~same_block(first[at] ^ who)
            second[at[away]] = who[away]


def _unordered(a: np.ndarray, b: np.ndarray, crosses_blocks: bool) -> np.ndarray:
    """Whether nothing says which of two threads came first, as `Lanes.who` has them."""
    differ = a ^ b
    together = same_phase(differ) & ~(same_warp(differ) & ~same_step(differ)) & (differ != 0)
    return together | ~same_block(differ) if crosses_blocks else together


def met_twice(at: np.ndarray, who: np.ndarray) -> Race | None:
    """Two threads of one and the same write that meet at an element."""
    if at.size < 2 or (at[1:] > at[:-1]).all():
        return None
    order = at.argsort(kind="stable")
    twice = at[order][1:] == at[order][:-1]
    twice &= who[order][1:] != who[order][:-1]
    if not twice.any():
        return None
    k = int(twice.argmax())
    return Race(int(order[k + 1]), int(who[order[k]]), WRITE)


class Log:
    """Who touched a piece of memory during a launch."""

    def __init__(self, size: int, crosses_blocks: bool, per_block: int = 0) -> None:
        self._elements = Elements(size, crosses_blocks)
        self._per_block = per_block  # of shared memory: so many elements for each block
        self._recent: dict[tuple[Footprint, int], None] = {}
        self.is_regular = not crosses_blocks  # since the latest barrier
        self.serial = 0  # of what footprints are compared with: another one after each barrier

    def footprint(self, lanes: Any, footprint: Footprint, way: int) -> Race | None:
        """All blocks touch these elements."""
        if (footprint, way) in self._recent:
            return None
        if not self.is_regular or len(self._recent) >= _MOST_RECENT:  # `access` gives up
            return self.access(lanes, *self._spread(lanes, footprint), way)
        itself = [(footprint, WRITE)] if way == WRITE else []
        for earlier, way_before in [*self._recent, *itself]:
            if way_before in AGAINST[way] and (found := footprint.meets(earlier)):
                place, thread = found
                return Race(place, int(lanes.who[0, thread]), way_before)
        self._recent[footprint, way] = None
        return None

    def access(self, lanes: Any, at: np.ndarray, who: np.ndarray, way: int) -> Race | None:
        if self.is_regular:
            self._give_up(lanes)
        found = self._elements.race(at, who, way) or (met_twice(at, who) if way == WRITE else None)
        if found is None:
            self._elements.note(at, who, way)
        return found

    def _give_up(self, lanes: Any) -> None:
        """From here to the next barrier, element by element."""
        self.is_regular = False
        self.serial += 1
        for footprint, way in self._recent:
            self._elements.note(*self._spread(lanes, footprint), way)
        self._recent.clear()

    def _spread(self, lanes: Any, footprint: Footprint) -> tuple[np.ndarray, np.ndarray]:
        """A footprint's elements and threads, in every block."""
        rows = np.arange(lanes.blocks)[:, None] * self._per_block
        return (rows + footprint.at).ravel(), np.broadcast_to(lanes.who, lanes.shape)[:, footprint.thread].ravel()

    def before_barrier(self, lanes: Any, is_everywhere: bool) -> None:
        """A barrier is about to be passed, by all blocks or by some."""
        if is_everywhere:
            self.serial += 1
            self._recent.clear()
            self.is_regular = not self._elements.crosses
        elif self.is_regular:
            self._give_up(lanes)
