"""Memory as threads see it: which elements an access means, what it costs, whether it's allowed, and what comes of it.

A warp's access of a card's memory goes in sectors of 32 bytes. Shared memory has 32 banks, which give one word of 4
bytes each at a time; a word that several lanes want goes to all of them at once.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from . import advice
from .errors import DataRace, NeverWritten, OutOfBounds
from .lanes import ATOMIC as ATOMIC_TIME
from .lanes import FAR, NEAR, SHARED, WARP, Lanes, Mask, block_of, thread_of
from .races import ATOMIC, READ, WRITE, Footprint, Log, Race

SECTOR, BANKS, WORD = 32, 32, 4
_MOST_KNOWN = 1024
_DOES = {READ: "reads", WRITE: "writes", ATOMIC: "changes atomically"}
_KINDS = {
    (READ, WRITE): "read after write, RAW", (WRITE, READ): "write after read, WAR",
    (WRITE, WRITE): "write after write, WAW",
}  # fmt: skip


class Memory:
    """A piece of memory, with a log of who touched it: one of the card's, or a shared array of every block."""

    def __init__(self, units: int, unit: int, log: Log | None) -> None:
        self.unit, self.log = unit, log  # the log counts in units of so many bytes
        self.near = np.zeros(-(-units * unit // SECTOR) + 1, bool)  # the sectors touched in this launch
        self.atomics: Any = 0  # how many each unit has seen
        self.units = units
        self.touched: dict[int, np.ndarray] = {}  # which units were written, or read if the launch writes none of them
        self.lines: dict[int, set[int]] = {READ: set(), WRITE: set(), ATOMIC: set()}

    def note(self, way: int, at: Any, each: int) -> None:
        """These elements were read or written; each is so many units."""
        if way not in self.touched:
            self.touched[way] = np.zeros(self.units, bool)
        for k in range(each):
            self.touched[way][at * each + k] = True


class Part(NamedTuple):
    """Element ``(i, j)`` is ``flat[offset + i * strides[0] + j * strides[1]]``. Shared memory: a row for each block."""

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

    def named(self, at: int) -> str:
        """The element as text: ``x[2, 3]``."""
        index = ", ".join(map(str, self.indices_of(at))) if min(self.strides, default=1) > 0 else "…"
        return f"{self.name}[{index}]"

    def in_units(self, at: np.ndarray, who: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Elements and threads as the log counts them: two arrays in one memory may have elements of two sizes."""
        each = self.each
        return (at, who) if each == 1 else ((at[:, None] * each + np.arange(each)).ravel(), np.repeat(who, each))

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


# -- Which elements the lanes mean ----------------------------------------------------------------


class Reach:
    """The elements that a mask's lanes mean, and what touching them costs."""

    def __init__(self, at: Any) -> None:
        self.at = at  # for every lane; where a lane doesn't take part, element 0
        self.chosen = at  # only of the lanes that take part, in order
        self.lane: np.ndarray | None = None  # which lanes these are, None for all
        self.footprint: Footprint | None = None
        self.times = 1  # how many blocks do the same
        self.sectors = self.used = self.conflicts = 0
        self.waits: np.ndarray | None = None  # how much longer each warp takes, because of conflicts
        self.is_near = False
        self.is_noted = False  # all are known as written; in memory that a launch only reads, as read
        self.noted = [-1, -1, -1]  # for each way, the log's serial number when it was last noted

    def places(self, lanes: Lanes, mask: Mask, part: Part) -> np.ndarray:
        """Where each lane that takes part goes in ``part.flat.reshape(-1)``, in order."""
        rows = np.arange(lanes.blocks)[:, None] * (part.shape[0] if part.is_shared else 0)
        if self.times > 1:  # one row stands for all blocks
            return (rows + self.chosen).ravel()
        return self.chosen + lanes.chosen(mask, rows) if part.is_shared else self.chosen


def reach(lanes: Lanes, mask: Mask, ref: Ref, indices: list[Any], site: Any) -> Reach:
    """Where the lanes of `mask` go with these indices. Raises `OutOfBounds`."""
    key = _key(mask, ref, indices)
    if key is not None and (found := mask.known.get(key)) is not None:
        return found
    made = Reach(_inside(lanes, mask, ref, indices, site))
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
                raise _outside(lanes, ref, axis, index, mask.on, site)
        elif index.size and index.view(np.uint64).max() >= size:  # as unsigned numbers, negative ones are large
            bad = mask.on & (index.view(np.uint64) >= size)
            if bad.any():
                first = np.broadcast_to(index, bad.shape).ravel()[bad.argmax()]
                raise _outside(lanes, ref, axis, int(first), bad, site)
            on: Any = mask.on  # the elements of `index` that some lane of the mask uses
            if index.shape[1] == 1:
                on = on.any(1, keepdims=True)
            index = np.where(on.any(0, keepdims=True) if len(index) < len(on) else on, index, 0)
        at = at + index * ref.part.strides[axis]
    return at


def as_index(x: Any) -> Any:
    return x.astype(np.int64) if isinstance(x, np.ndarray) else int(x)


def _outside(lanes: Lanes, ref: Ref, axis: int, index: int, bad: np.ndarray, site: Any) -> Exception:
    part, place, node, tree = ref.part, axis - ref.axis, site.node, site.source.tree
    size, count = part.shape[axis], int(bad.sum()) * (lanes.blocks // len(bad))
    along = f" along axis {axis}" if len(part.shape) > 1 else ""
    what = f"{part.name} has {size:,} elements{along}, 0 to {size - 1:,}; index {index:,} is outside."
    below, signed = index, None
    if index >= 2**31:
        below = -1
        parts = advice.indices_of(node)
        signed = advice.signed(parts[place] if place < len(parts) else node, tree)
        what += f" It's a number below 0 that an unsigned type can't hold: write {signed or 'int(jit.grid(1))'}."
    backwards = ", and doesn't count from the end" if below < 0 else ""
    does = f"{count:,} {'thread does' if count == 1 else 'threads do'} this here. A GPU doesn't check{backwards}."
    guard = advice.guard(node, place, len(part.shape) - ref.axis, below, part, lanes.launch.threads, tree, signed)
    return site.wrong(OutOfBounds, what, does + guard, lanes.first_of(bad))


# -- What an access costs -------------------------------------------------------------------------


def _measure(lanes: Lanes, mask: Mask, part: Part, made: Reach) -> None:
    at, size = made.at, part.flat.itemsize
    rows = max(len(mask.on), len(at) if isinstance(at, np.ndarray) else 1)
    made.times = lanes.blocks // rows
    shape = (rows, lanes.width)
    made.chosen = chosen = np.broadcast_to(at, shape).ravel()
    if not mask.is_full:
        made.lane = np.broadcast_to(mask.on, shape).ravel().nonzero()[0]
        made.chosen = chosen = chosen[made.lane]
    lane = made.lane
    if part.is_shared:
        _measure_banks(part, made, np.arange(chosen.size) if lane is None else lane, rows, lanes.width // WARP)
    elif isinstance(at, int):
        made.sectors, made.used = mask.warp_count, mask.warp_count * size
    else:
        made.sectors = made.times * _distinct(lane, chosen * size // SECTOR)
        made.used = made.times * _distinct(lane, chosen) * size
    if rows == 1 and (part.is_shared or lanes.launch.blocks == 1):
        made.footprint = Footprint(*part.in_units(chosen, np.arange(lanes.width) if lane is None else lane))


def _distinct(lane: np.ndarray | None, x: np.ndarray) -> int:
    """How many different values each warp has, added up. `lane` is None if all lanes take part."""
    rows = x.reshape(-1, WARP) if lane is None else (lane // WARP << 44 | x)[None]
    steps = rows[:, 1:] - rows[:, :-1]
    if steps.min(initial=0) < 0:
        steps = np.diff(np.sort(rows, 1))
    return len(rows) * (x.size > 0) + int(np.count_nonzero(steps))


def _measure_banks(part: Part, made: Reach, lane: np.ndarray, rows: int, warps: int) -> None:
    """Lanes that want different words of one bank go one after the other. Half a warp at a time takes 8 bytes each."""
    size = part.flat.itemsize
    words = max(1, size // WORD)
    group = np.repeat(lane // (WARP // words), words)
    word = (made.chosen[:, None] * size // WORD + np.arange(words)).ravel()
    key = np.unique(group << 40 | word)
    each = np.bincount((key >> 40) * BANKS + (key & BANKS - 1), minlength=rows * warps * words * BANKS)
    extra = np.maximum(each.reshape(-1, BANKS).max(1) - 1, 0).reshape(rows, -1, words).sum(2)
    if extra.any():
        made.conflicts, made.waits = int(extra.sum()) * made.times, extra


def _touch(lanes: Lanes, mask: Mask, part: Part, to: Reach, way: int, site: Any) -> None:
    """An access of all lanes of the mask: is it allowed, and what does it cost?"""
    memory, costs, is_shared = part.memory, site.costs, part.is_shared
    if lanes.tracer is not None:
        lanes.tracer.note(lanes, mask, part, to.at, way, site)
    log = memory.log
    if log is not None:
        memory.lines[way].add(site.line)
        if to.noted[way] != log.serial or to.footprint is None:
            _tell_log(lanes, mask, part, to, way, site)
    costs["requests"] += mask.warp_count
    mask.touched[2 * is_shared + (way != READ)] += 1
    if is_shared:
        costs["conflicts"] += to.conflicts
        if to.waits is not None:
            lanes.cycles[...] += to.waits[..., None]
            lanes.figures.replays += to.conflicts
        mask.spend(SHARED)
        return
    if log is None and not to.is_noted:
        memory.note(READ, to.chosen, part.each)
        to.is_noted = True
    costs["sectors"] += to.sectors
    costs["used"] += to.used
    is_near = to.is_near
    if not is_near:
        sectors = to.chosen * part.flat.itemsize // SECTOR
        is_near = bool(memory.near[sectors].all())
        memory.near[sectors] = True
        to.is_near = True
    mask.spend(ATOMIC_TIME if way == ATOMIC else NEAR if is_near else FAR)


def _tell_log(lanes: Lanes, mask: Mask, part: Part, to: Reach, way: int, site: Any) -> None:
    """Raises `DataRace`."""
    log: Any = part.memory.log
    if to.footprint is not None:
        found = log.footprint(lanes, to.footprint, way)
        to.noted[way] = log.serial if log.is_regular else -1
    else:
        found = log.access(lanes, *part.in_units(to.places(lanes, mask, part), lanes.chosen(mask, lanes.who)), way)
    if found is None:
        return
    lane = found.place // part.each
    at = int(to.places(lanes, mask, part)[lane] % part.flat.shape[-1])
    lines = sorted(part.memory.lines[found.earlier])
    where = "several lines" if len(lines) > 3 else f"line{'s' * (len(lines) > 1)} {' and '.join(map(str, lines))}"
    too = " too" if way == found.earlier else ""
    what = (
        f"this thread {_DOES[way]} {part.named(at)}, which {lanes.named(found.other)} {_DOES[found.earlier]}{too} "
        f"({where}). Which of them comes first is chance: a data race ({_KINDS.get((way, found.earlier), 'atomic')})."
    )
    ends = _ends(lanes, part, to, found, way, site, at)
    raise site.wrong(DataRace, what, ends, lanes.named(lanes.chosen(mask, lanes.who)[lane]))


def _ends(lanes: Lanes, part: Part, to: Reach, found: Race, way: int, site: Any, at: int) -> str:
    is_one_line = part.memory.lines[found.earlier] == {site.line}
    row = block_of(found.other) - int(lanes.number[0])  # of the other thread, if it's among these blocks
    meets = 0 <= row < lanes.blocks and np.broadcast_to(to.at, lanes.shape)[row, thread_of(found.other)] == at
    if is_one_line and meets and (add := advice.addition(site.node, site.source.tree)):
        return f"Several threads add to one element, and each may miss what another one adds: {add}."
    if is_one_line and way == found.earlier == WRITE:
        if np.all(to.chosen == at):
            return advice.own_elements(site.node)
        return "Give each thread its own element, or use jit.atomic_add."
    if lanes.launch.blocks == 1 or part.is_shared:
        if is_one_line:
            return "Read first, then jit.syncthreads(), then write; or write into another array."
        return "Put jit.syncthreads() between the two."
    if READ in (way, found.earlier):
        return (
            "Blocks never wait for each other: write into another array, or do the second part in a launch of its own. "
            "(jit.syncthreads() orders one block's threads only.)"
        )
    return "Blocks never wait for each other: one writer for each element, jit.atomic_add, or a second launch."


def _check_written(lanes: Lanes, mask: Mask, part: Part, to: Reach, site: Any) -> None:
    """Raises `NeverWritten` where a tile has an empty element."""
    written: Any = part.written
    places = to.places(lanes, mask, part)
    seen = written.reshape(-1)[places]
    if seen.all():
        to.is_noted = to.footprint is not None  # all blocks do the same
        return
    first, threads = int(seen.argmin()), lanes.launch.threads
    who, at = lanes.chosen(mask, lanes.who)[first], int(places[first] % part.shape[0])
    row = block_of(who) - int(lanes.number[0])
    returned = 0 if lanes.exited is None else int((lanes.exited & lanes.top.on)[row].sum())
    if returned:
        lines = " and ".join(map(str, sorted(lanes.exit_lines)))
        more = (
            f"{returned} of the block's {threads} threads {'has' if returned == 1 else 'have'} returned (line {lines}) "
            f"and {'writes' if returned == 1 else 'write'} nothing any more. Keep all threads until the last barrier, "
            "and guard only the last line."
        )
    else:
        more = (
            "Write every element that you read. Fill the edges with 0 where the array has nothing, in every round: "
            f"`else: {part.name}[…] = {'0.0' if part.flat.dtype.kind == 'f' else 0}`."
        )
        if at >= threads:
            more += f" Or is the block, with its {threads} threads, smaller than the tile of {part.shape[0]}?"
    what = f"no thread has written {part.name}[{at}] yet. Shared memory begins with whatever was there before."
    raise site.wrong(NeverWritten, what, more, lanes.named(who))


def _check_unwritten(lanes: Lanes, mask: Mask, part: Part, values: Any, to: Reach, site: Any) -> None:
    """An array made by `empty` holds a pattern of bits until something is written over it."""
    bad = np.asarray(values).view(part.unwritten.dtype) == part.unwritten
    if not bad.any():
        return
    bad = np.broadcast_to(bad, np.broadcast_shapes(bad.shape, mask.on.shape)) & mask.on
    if bad.any():
        element = part.named(int(np.broadcast_to(to.at, bad.shape).ravel()[bad.argmax()]))
        made = f"{part.name} was made by `empty`, and nothing has written {element} yet: it holds whatever was in"
        advised = "Write it first, or make the array with np.zeros_like."
        raise site.wrong(NeverWritten, f"{made} memory before.", advised, lanes.first_of(bad))


def load(lanes: Lanes, mask: Mask, ref: Ref, indices: list[Any], site: Any) -> Any:
    part, to = ref.part, reach(lanes, mask, ref, indices, site)
    _touch(lanes, mask, part, to, READ, site)
    flat, at = part.flat, to.at
    if not part.is_shared:
        values = flat[at]
        if part.unwritten is not None:
            _check_unwritten(lanes, mask, part, values, to, site)
    else:
        if not to.is_noted:
            _check_written(lanes, mask, part, to, site)
        if isinstance(at, int):
            values = flat[0, at] if lanes.blocks == 1 else flat[:, at : at + 1].copy()
        elif lanes.blocks == 1:
            values = flat[0][at]
        else:
            values = flat.take(at[0], 1) if len(at) == 1 else np.take_along_axis(flat, at, 1)
    if lanes.watch is not None:
        lanes.watch.touched(mask, part, to, values, site, False)
    return values


def store(lanes: Lanes, mask: Mask, ref: Ref, to: Reach, value: Any, site: Any) -> None:
    """Write `value`, of the right type, to where `to` says."""
    part = ref.part
    _touch(lanes, mask, part, to, WRITE, site)
    if lanes.watch is not None:
        lanes.watch.touched(mask, part, to, value, site, True)
    if lanes.rng is not None:  # whichever of several lanes may be the last to write an element
        at, new = to.places(lanes, mask, part), lanes.chosen(mask, value)
        order = lanes.rng.permutation(at.size)
        part.flat.reshape(-1)[at[order]] = new[order]
    elif to.footprint is not None:  # all blocks do the same
        is_of_lanes = to.lane is not None and isinstance(value, np.ndarray) and value.shape[1] > 1
        rows = part.flat if part.is_shared else part.flat[None]
        rows[:, to.chosen] = value[:, to.lane] if is_of_lanes else value
    else:
        part.flat.reshape(-1)[to.places(lanes, mask, part)] = lanes.chosen(mask, value)
    if to.is_noted:
        return
    to.is_noted = to.footprint is not None or not part.is_shared
    if part.written is None:
        part.memory.note(WRITE, to.chosen, part.each)
    else:
        part.written.reshape(-1)[to.places(lanes, mask, part)] = True


def change(lanes: Lanes, mask: Mask, ref: Ref, to: Reach, how: Any, values: list[Any], site: Any, is_used: bool) -> Any:
    """An atomic operation, ``how(old, value)``: gives what was there. Threads come in order; on a GPU, by chance."""
    part = ref.part
    _touch(lanes, mask, part, to, ATOMIC, site)
    if lanes.watch is not None:
        lanes.watch.touched(mask, part, to, None, site, True)
    at, flat = to.places(lanes, mask, part), part.flat.reshape(-1)
    if not part.is_shared:
        part.memory.atomics += np.bincount(part.in_units(at, at)[0], minlength=part.memory.units)
        part.memory.note(WRITE, at, part.each)
        lanes.figures.atomics += mask.count
    elif not to.is_noted:
        _check_written(lanes, mask, part, to, site)
    given = [lanes.chosen(mask, value) for value in values]
    if isinstance(how, np.ufunc) and not is_used:
        how.at(flat, at, *given)
        return None
    order = at.argsort(kind="stable")
    ordered = at[order]
    begins = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    turn = np.empty(at.size, np.int64)  # among those who mean the same element
    turn[order] = np.arange(at.size) - begins.nonzero()[0][begins.cumsum() - 1]
    old = np.zeros(at.size, flat.dtype)
    for k in range(int(turn.max(initial=-1)) + 1):
        now = (turn == k).nonzero()[0]
        old[now] = flat[at[now]]
        flat[at[now]] = how(old[now], *(value[now] for value in given))
    result = np.zeros(lanes.shape, flat.dtype)
    result[np.broadcast_to(mask.on, lanes.shape)] = old
    return result
