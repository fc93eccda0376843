"""All threads of some blocks at once: which ones take part, what each name holds, and how long each warp has worked.

A value is an array of shape (blocks, threads). If all threads of a block have the same value, the shape is (blocks, 1);
if all blocks have the same, it's (1, threads); and if it's the same everywhere, it's a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import NeverWritten, Place, Refused, StuckBarrier, TooMuch, in_parentheses
from .warps import Meetings, check_part

WARP = 32
# What a warp can be busy with. Each mask counts how often its warps did.
OPERATION, FUNCTION, SHARED, NEAR, FAR, ATOMIC, BARRIER, SHUFFLE = KINDS = range(8)
# Where a thread is, in one number: block, barriers passed, warp, warp barriers passed, lane.
LANE_BITS, STEP_BITS, WARP_BITS, PHASE_BITS = 5, 12, 5, 20
STEP_AT = LANE_BITS
WARP_AT = STEP_AT + STEP_BITS
PHASE_AT = WARP_AT + WARP_BITS
BLOCK_AT = PHASE_AT + PHASE_BITS
MOST_BLOCKS = 1 << (63 - BLOCK_AT)


def numbers_of(who: int) -> tuple[int, int]:
    """The number of the block, and of the thread in it."""
    return int(who) >> BLOCK_AT, (int(who) >> WARP_AT & (1 << WARP_BITS) - 1) * WARP + (int(who) & WARP - 1)


def same(differ: Any, at: int) -> Any:
    """Whether two of these numbers, of which this is ``a ^ b``, are the same from this bit on. At `BLOCK_AT` that means
    the block, at `PHASE_AT` also its barriers, at `WARP_AT` the warp, and at `STEP_AT` the warp's barriers too."""
    return differ >> at == 0


_MOST_MASKS = 256  # that we keep


class Mask:
    """Which threads take part. `on` has shape (1, threads) if it's the same in all blocks."""

    def __init__(self, on: np.ndarray, blocks: int, open_masks: list[Mask]) -> None:
        self.on = on
        each = blocks // len(on)  # how many blocks each row stands for
        self.count = int(np.count_nonzero(on)) * each
        self.is_full = self.count == on.size * each
        self.warps: Any = on.reshape(len(on), -1, WARP).any(2)
        self.warp_count = int(np.count_nonzero(self.warps)) * each
        self.spent = [0] * len(KINDS)
        self.touched = [0] * 4  # accesses: reads, writes, the same two of shared memory
        self.known: dict = {}  # where these threads go in memory, by index
        self.open_masks, self.is_open = open_masks, False

    def spend(self, kind: int) -> None:
        """Each warp with a lane in the mask gives one instruction. It's charged later, in `Lanes.settle`."""
        if not self.is_open:
            self.is_open = True
            self.open_masks.append(self)
        self.spent[kind] += 1


# Which threads have given a variable its value: none, all that are left, or those of an array. In a branch, that's the
# mask's own array, so `is` compares them without a look at the elements.
NOBODY: Any = None
EVERYONE: Any = True


@dataclass(slots=True)
class Held:
    """What a variable of the kernel holds."""

    value: Any = None
    given: Any = NOBODY

    def put(self, value: Any) -> None:
        self.value, self.given = value, EVERYONE


class Lanes:
    """Some blocks of a launch, whose threads all run together."""

    finds_races = True
    takes_turns = False  # in `orders.py`, warps do, with the others at a barrier
    gives_way = 0.0  # there, how likely another one comes first before an access
    rng: Any = None  # where the order is drawn, in `orders.py`

    def __init__(self, launch: Any, first: int, blocks: int) -> None:
        self.launch, self.figures, self.blocks = launch, launch.figures, blocks
        self.width = -(-launch.threads // WARP) * WARP  # the last warp may have lanes without a thread
        self.shape = (blocks, self.width)
        self.number = first + np.arange(blocks)
        self.masks: dict[bytes, Mask] = {}
        self.open: list[Mask] = []
        exists = np.arange(self.width)[None] < launch.threads
        self.top, self.nobody = self.mask(exists), self.mask(np.zeros((1, self.width), bool))
        self.alive = self.top.count
        self.going = exists  # those that haven't returned
        self.held = [Held() for _ in range(launch.program.slots)]
        self.watch, self.notes = launch.watch, launch.notes
        self.loops: list[list[Mask]] = []
        self.shared: dict[Any, Any] = {}  # references, by the place in the text that asks for it
        self.shared_bytes = launch.shared_mem
        self.phase, self.step = np.zeros(blocks, np.int64), np.zeros((blocks, self.width // WARP), np.int64)
        self.meetings: Meetings | None = None  # if a part of a warp has had a barrier
        self.cycles = np.zeros((blocks, self.width // WARP, 3))
        self.touches = np.zeros((4, *self.shape), np.int32)
        self._thread_keys: np.ndarray | None = None
        # If there's one block, its index is the same everywhere: a number.
        block = self.number[:, None] if blocks > 1 else self.number[0]
        self.axes = {
            "threadIdx": self._axes(np.arange(self.width)[None], launch.block),
            "blockIdx": self._axes(block, launch.grid),
            "blockDim": [np.uint32(n) for n in launch.block],
            "gridDim": [np.uint32(n) for n in launch.grid],
        }

    def _axes(self, number: Any, dim: Sequence[int]) -> list[Any]:
        x, y, _ = dim
        return [part.astype(np.uint32) for part in (number % x, number // x % y, number // x // y)]

    def mask(self, on: np.ndarray) -> Mask:
        """The mask with these lanes: the same object while we keep it."""
        key = on.tobytes()
        if key not in self.masks:
            if len(self.masks) > _MOST_MASKS:
                self.settle()
                self.masks.clear()
            self.masks[key] = Mask(on, self.blocks, self.open)
        return self.masks[key]

    def split(self, mask: Mask, test: Any) -> tuple[Mask, Mask]:
        """The lanes where `test` is true, and the others. A warp that has both is divergent."""
        self.figures.branches += mask.warp_count
        if not isinstance(test, np.ndarray):  # the same for all
            if test:
                return (mask, self.nobody)
            return (self.nobody, mask)
        yes, no = self.mask(mask.on & test), self.mask(mask.on & ~test)
        self.figures.divergent += yes.warp_count + no.warp_count - mask.warp_count
        return yes, no

    def either(self, a: Mask, b: Mask) -> Mask:
        """The lanes of both masks."""
        if a.count and b.count:
            return self.mask(a.on | b.on)
        if a.count:
            return a
        return b

    def exit(self, mask: Mask) -> Mask:
        """These threads are done. None of them goes on."""
        self.alive -= mask.count
        self.going = self.going & ~mask.on
        return self.nobody

    def assign(self, mask: Mask, slot: int, value: Any, site: Any) -> None:
        """Give a variable its value in the lanes of `mask`. The others keep theirs."""
        held = self.held[slot]
        if mask.count == self.alive:
            held.put(value)
        elif held.given is NOBODY:
            held.value, held.given = value, mask.on
        else:
            held.value = where(mask.on, value, held.value, site)
            if held.given is not EVERYONE and held.given is not mask.on:
                held.given = held.given | mask.on

    def value_of(self, mask: Mask, slot: int, site: Any, what: str, fix: str = "") -> Any:
        """A variable's value. Raises `NeverWritten` if a lane of `mask` hasn't given it one."""
        held = self.held[slot]
        if held.given is not EVERYONE and held.given is not mask.on:
            missing = mask.on if held.given is NOBODY else mask.on & ~held.given
            if missing.any():
                raise site.wrong(NeverWritten, what, fix, self.first_of(missing))
        return held.value

    def value_in_thread(self, value: Any, block: int, thread: int | slice) -> Any:
        """What a thread has of a value, or a slice of threads. None if their block isn't among these."""
        row = block - int(self.number[0])
        if 0 <= row < self.blocks:
            return np.broadcast_to(value, self.shape)[row, thread]
        return None

    @property
    def thread_keys(self) -> np.ndarray:
        """Where each thread is, as one number. `races.py` compares these."""
        if self._thread_keys is None:
            thread = np.arange(self.width)
            own = (thread // WARP << WARP_AT) + thread % WARP
            if self.meetings is None:
                steps = np.repeat(self.step, WARP, 1)
            else:
                steps = self.meetings.steps
            steps = steps << LANE_BITS
            self._thread_keys = (self.number << BLOCK_AT)[:, None] + (self.phase << PHASE_AT)[:, None] + own + steps
        return self._thread_keys

    def place_of(self, who: int) -> Place:
        return self.place(*numbers_of(who))

    def place(self, block: int, thread: int) -> Place:
        return Place(unravel(block, self.launch.grid), unravel(thread, self.launch.block))

    def first_of(self, on: np.ndarray) -> Place:
        row, thread = np.unravel_index(int(on.argmax()), on.shape)
        return self.place(int(self.number[row]), int(thread))

    def select(self, mask: Mask, x: Any) -> np.ndarray:
        """`x` of each lane that takes part, in order."""
        x = np.broadcast_to(x, self.shape)
        if mask.is_full:
            return x.ravel()
        return x[np.broadcast_to(mask.on, self.shape)]

    def settle(self) -> None:
        """Charge what the masks have counted to their warps and threads."""
        self._charge()
        for mask in self.open:
            for kind, times in enumerate(mask.touched):
                if times:
                    self.touches[kind] += mask.on * np.int32(times)
            mask.touched, mask.is_open = [0] * 4, False
        self.open.clear()

    def _charge(self) -> None:
        """Charge all open masks at once: their instructions of each kind, times the cycles of each kind."""
        owing = [mask for mask in self.open if any(mask.spent)]
        if not owing:
            return
        spent = np.array([mask.spent for mask in owing], float)
        self.figures.spent += np.array([mask.warp_count for mask in owing]) @ spent
        cycles = spent @ self.launch.cycles
        for mask, each in zip(owing, cycles):
            self.cycles += mask.warps[..., None] * each
            mask.spent = [0] * len(KINDS)

    def barrier(self, mask: Mask, site: Any) -> None:
        """All threads of each block wait for each other, except for those that have exited."""
        self.check_barrier(mask, site)
        mask.spend(BARRIER)
        self._charge()
        here = np.broadcast_to(mask.on.any(1), self.blocks)
        self._tell_logs(bool(here.all()))
        self.phase += here
        if self.phase[0] >> PHASE_BITS:
            raise site.wrong(TooMuch, f"more than {1 << PHASE_BITS:,} barriers in one launch")
        self.step[here] = 0
        if self.meetings is not None:
            self.meetings.forget(here)
        self._thread_keys = None
        np.copyto(self.cycles, self.cycles.max(1, keepdims=True), where=here[:, None, None])

    def _tell_logs(self, is_everywhere: bool) -> None:
        for memory in (*self.launch.memories, *(ref.part.memory for ref in self.shared.values())):
            if memory.log is not None:
                memory.log.before_barrier(self, is_everywhere)

    def check_barrier(self, mask: Mask, site: Any) -> None:
        """Raises `StuckBarrier` if a block's threads wait for one that's still running and doesn't come."""
        if mask.count == self.alive:
            return
        here = np.broadcast_to(mask.on, self.shape)
        missing = np.broadcast_to(self.going, self.shape) & ~here
        stuck = here.any(1) & missing.any(1)
        if not stuck.any():
            return
        row = int(stuck.argmax())
        count, first = int(missing[row].sum()), unravel(int(missing[row].argmax()), self.launch.block)
        what = (
            f"{count} of the block's {self.launch.threads} threads {'does' if count == 1 else 'do'}n't come here, "
            f"first of all thread {in_parentheses(first)}: the others would wait forever."
        )
        where = "where all threads pass: not inside an `if` or a loop that only some of them go through."
        place = self.place(int(self.number[row]), int(here[row].argmax()))
        raise site.wrong(StuckBarrier, what, f"Put {site.words['barrier']} {where}", place)

    def warp_barrier(self, mask: Mask, site: Any) -> None:
        if (stuck := self.stuck_in_warp(mask)) is not None:
            here, missing = stuck
            what = f"{missing}, of the same warp, doesn't come here: this one would wait forever."
            fix = f"Put {site.words['warp barrier']} where all threads of a warp pass."
            raise site.wrong(StuckBarrier, what, fix, here)
        mask.spend(BARRIER)
        self._tell_logs(False)
        self.step += mask.warps
        if self.meetings is not None:
            self.meetings.whole(self, mask)
        self._begin_step(site)

    def stuck_in_warp(self, mask: Mask) -> tuple[Place, Place] | None:
        """A thread that's here, and one of its warp that's still running and isn't. None if all of each warp are."""
        missing = self.going & ~mask.on & np.repeat(mask.warps, WARP, 1)
        if not missing.any():
            return None
        of_these_warps = np.repeat(missing.reshape(len(missing), -1, WARP).any(2), WARP, 1)
        return self.first_of(mask.on & of_these_warps), self.first_of(missing)

    def part_barrier(self, mask: Mask, bits: Any, site: Any) -> None:
        """The lanes that `bits` names, a mask for each thread, wait for each other."""
        bits, here = check_part(self, mask, bits, site)
        mask.spend(BARRIER)
        self._tell_logs(False)
        if self.meetings is None:
            self.meetings = Meetings(self)
        self.meetings.part(self, bits, here)
        self._begin_step(site)

    def _begin_step(self, site: Any) -> None:
        if self.step.max() >> STEP_BITS:
            raise site.wrong(TooMuch, f"more than {1 << STEP_BITS:,} warp barriers between two barriers")
        self._thread_keys = None


def where(on: np.ndarray, new: Any, old: Any, site: Any) -> Any:
    """`new` where `on`, otherwise `old`: numbers, tuples of them, or places in an array."""
    if isinstance(new, (np.ndarray, np.generic)):
        return np.where(on, new, old)
    if type(new) is tuple:
        return tuple([where(on, a, b, site) for a, b in zip(new, old)])
    if new.part is not old.part or new.axis != old.axis:
        raise site.wrong(Refused, "on the simulated GPU, a name means the same array in all threads: here they differ.")
    return new._replace(offset=np.where(on, new.offset, old.offset))


def unravel(number: int, dim: Sequence[int]) -> tuple[int, ...]:
    """``(3,)``, ``(3, 0)`` or ``(3, 0, 1)``: as many axes as the launch has."""
    x, y, z = dim
    if z > 1:
        return number % x, number // x % y, number // x // y
    if y > 1:
        return number % x, number // x % y
    return (number % x,)
