"""Data races: two threads touch an element, at least one of them writes, and nothing says which comes first.

A barrier orders the threads of a block, a warp barrier those of a warp. Nothing orders two blocks of one launch. Atomic
operations may meet each other, but not a plain read or write (compute-sanitizer's names: RAW, WAR, WAW).

`Elements` keeps, for each element, which threads touched it. While all blocks do the same at the same time, each in
memory of its own, we look only at the first block: once between two barriers, however often a loop comes back.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .lanes import BLOCK_AT, PHASE_AT, STEP_AT, STEP_BITS, WARP, WARP_AT, numbers_of, same

READ, WRITE, ATOMIC = range(3)
AGAINST = {READ: (WRITE, ATOMIC), WRITE: (WRITE, READ, ATOMIC), ATOMIC: (WRITE, READ)}
_MOST_RECENT = 48


class Race(NamedTuple):
    """`place` of the access meets what the thread `other` did earlier."""

    place: int
    other: int  # one of Lanes.thread_keys
    earlier: int  # READ, WRITE or ATOMIC


class Elements:
    """For each element, enough of the threads that touched it to find any race with the next access.

    One writer is enough, since two without an order would be a race already. Of the readers we keep the first since the
    latest barrier and one other, from another warp if there is one: the next writer differs from one of them, and a
    barrier of its own warp orders only that warp's threads. We do the same for two blocks.
    """

    def __init__(self, size: int, crosses_blocks: bool) -> None:
        self.size, self.crosses = size, crosses_blocks
        self.logs: dict[int, list[np.ndarray]] = {}  # the latest; the other one; then the first two of two blocks

    def race(self, at: np.ndarray, who: np.ndarray, way: int, meetings: Any = None) -> Race | None:
        """The first race of an access with earlier ones, or with itself. If there's none, we note the access."""
        for earlier in AGAINST[way]:
            for log in self.logs.get(earlier, ()):
                seen = log[at]
                if seen.max(initial=-1) >= 0:
                    differ = seen ^ who
                    bad = same(differ, PHASE_AT) & ~(same(differ, WARP_AT) & ~same(differ, STEP_AT)) & (differ != 0)
                    if meetings is not None:
                        bad |= _without_meeting(meetings, seen, who)
                    if self.crosses:
                        bad |= ~same(differ, BLOCK_AT)
                    bad &= seen >= 0
                    if bad.any():
                        place = int(bad.argmax())
                        return Race(place, int(seen[place]), earlier)
        if way == WRITE and not (at[1:] > at[:-1]).all():
            ordered = np.sort(at)
            twice = ordered[1:] == ordered[:-1]
            if twice.any():
                places = (at == ordered[twice.argmax()]).nonzero()[0]
                return Race(int(places[0]), int(who[places[-1]]), WRITE)
        self.note(at, who, way)
        return None

    def note(self, at: np.ndarray, who: np.ndarray, way: int) -> None:
        if way not in self.logs:
            if way == WRITE:
                count = 1
            elif self.crosses:
                count = 4
            else:
                count = 2
            self.logs[way] = [np.full(self.size, -1) for _ in range(count)]
        latest, *others = self.logs[way]
        if way == WRITE:
            latest[at] = who
            return
        differ = latest[at] ^ who
        # Older than the latest barrier, or than the latest barrier of its own warp.
        old = ~same(differ, PHASE_AT) | (same(differ, WARP_AT) & ~same(differ, STEP_AT))
        latest[at[old]] = who[old]
        differ, other = latest[at] ^ who, others[0]
        away = ~same(differ, WARP_AT)
        is_free = ~same(other[at] ^ who, PHASE_AT) | same(other[at] ^ latest[at], WARP_AT)
        near = (differ != 0) & ~away & is_free
        other[at[near]] = who[near]
        other[at[away]] = who[away]
        if self.crosses:
            _, first, second = others
            new = first[at] < 0
            first[at[new]] = who[new]
            away = ~same(first[at] ^ who, BLOCK_AT)
            second[at[away]] = who[away]


def _without_meeting(meetings: Any, seen: np.ndarray, who: np.ndarray) -> np.ndarray:
    """Where two lanes of a warp have other counts of its barriers, and haven't met at any of them."""
    differ = seen ^ who
    unsure = (seen >= 0) & same(differ, WARP_AT) & ~same(differ, STEP_AT)
    for k in unsure.nonzero()[0]:
        block, thread = numbers_of(who[k])
        early, late = ((int(key) % WARP, int(key) >> STEP_AT & (1 << STEP_BITS) - 1) for key in (seen[k], who[k]))
        unsure[k] = early[0] != late[0] and not meetings.are_ordered(block, thread // WARP, early, late)
    return unsure


class Log:
    """Which threads touched a piece of memory during a launch."""

    def __init__(self, size: int, crosses_blocks: bool, per_block: int = 0) -> None:
        self._elements = Elements(size, crosses_blocks)
        self._first = Elements(per_block or size, False)  # of the first block
        self._recent: dict[tuple[Any, int], None] = {}  # what all blocks did since the latest barrier
        self.is_regular = not crosses_blocks  # since the latest barrier

    def race(self, lanes: Any, to: Any, way: int) -> Race | None:
        """The first race of an access, a `memory.Reach`, with earlier ones, or with itself."""
        if self.is_regular and to.is_regular:
            if (to, way) in self._recent:
                return None
            if len(self._recent) < _MOST_RECENT:
                self._recent[to, way] = None
                return self._first.race(to.chosen, lanes.thread_keys[0, to.lane], way, lanes.meetings)
        self._give_up(lanes)
        return self._elements.race(to.places(lanes), to.thread_keys(lanes), way, lanes.meetings)

    def _give_up(self, lanes: Any) -> None:
        """From here to the next barrier, element by element."""
        self.is_regular = False
        for to, way in self._recent:
            self._elements.note(to.places(lanes), to.thread_keys(lanes), way)
        self._recent.clear()

    def before_barrier(self, lanes: Any, is_everywhere: bool) -> None:
        """A barrier is about to be passed, by all blocks or by some."""
        if is_everywhere:
            self._recent.clear()
            self.is_regular = not self._elements.crosses
        else:
            self._give_up(lanes)
