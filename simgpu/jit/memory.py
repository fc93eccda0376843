"""Memory as threads see it: which elements an access means, what it costs, whether it's allowed, and what it does.

The card's memory comes in sectors of 32 bytes. Shared memory has 32 banks, each of which gives one word of 4 bytes at a
time. If several lanes want the same word, all of them get it at once.
"""

from typing import Any, NamedTuple

import numpy as np

from .errors import DataRace, NeverWritten, OutOfBounds
from .lanes import ATOMIC as ATOMIC_TIME
from .lanes import FAR, NEAR, SHARED, WARP, Lanes, Mask, numbers_of
from .races import ATOMIC, READ, WRITE, Log, Race

SECTOR, BANKS, WORD = 32, 32, 4
_MOST_KNOWN = 1024
_DOES = {READ: "reads", WRITE: "writes", ATOMIC: "changes atomically"}
_KINDS = {
    (READ, WRITE): "read after write, RAW", (WRITE, READ): "write after read, WAR",
    (WRITE, WRITE): "write after write, WAW",
}  # fmt: skip


class Memory:
    """A piece of the card's memory, or a shared array of every block, with a log of which threads touched it."""

    def __init__(self, size: int, itemsize: int, log: Log | None) -> None:
        self.itemsize, self.log = itemsize, log
        self.near = np.zeros(-(-size * itemsize // SECTOR) + 1, bool)  # the sectors touched in this launch
        self.atomics: Any = 0  # how many each element has seen
        self.written = np.zeros(size, bool)
        self.lines: dict[int, set[int]] = {READ: set(), WRITE: set(), ATOMIC: set()}


class Part(NamedTuple):
    """Element ``(i, j)`` is ``flat[offset + i * strides[0] + j * strides[1]]``. Shared memory: a row for each block."""

    name: str
    memory: Memory
    flat: np.ndarray
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0
    is_shared: bool = False
    is_dynamic: bool = False  # shared memory whose size the launch says
    unwritten: Any = None  # if `empty` made the array: the bits of an element that nothing has written yet

    def element_text(self, at: int) -> str:
        """The element at a flat position as text: ``x[2, 3]``."""
        if min(self.strides, default=1) <= 0:
            return f"{self.name}[…]"
        at, index = at - self.offset, [0] * len(self.shape)
        for axis in sorted(range(len(self.shape)), key=lambda axis: -self.strides[axis]):
            index[axis] = min(at // self.strides[axis], self.shape[axis] - 1)
            at -= index[axis] * self.strides[axis]
        return f"{self.name}[{', '.join(map(str, index))}]"


class Ref(NamedTuple):
    """An array that a name holds: all of it, or what's left after the first indices, as in ``x[0]``."""

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

    def __init__(self, lanes: Lanes, mask: Mask, part: Part, at: Any) -> None:
        self.part, self.at = part, at  # for every lane; where a lane doesn't take part, some element
        rows = max(len(mask.on), len(at) if isinstance(at, np.ndarray) else 1)
        shape, size = (rows, lanes.width), part.flat.itemsize
        chosen, lane = np.broadcast_to(at, shape).ravel(), None  # all lanes
        if not mask.is_full:
            lane = np.broadcast_to(mask.on, shape).ravel().nonzero()[0]
            chosen = chosen[lane]
        self.chosen = chosen  # only of the lanes that take part, in order
        self.lane = np.arange(chosen.size) if lane is None else lane
        self.times = lanes.blocks // rows  # how many blocks do the same
        self.is_regular = rows == 1 and (part.is_shared or lanes.launch.blocks == 1)  # all blocks do it, each by itself
        self.sectors = self.used = self.conflicts = 0
        self.waits: Any = None  # how much longer each warp takes, because of conflicts
        self.is_near = self.is_noted = False  # noted: all are known as written
        if part.is_shared:  # lanes that want different words of one bank take turns; with 8 bytes each, in half warps
            words, warps = max(1, size // WORD), lanes.width // WARP
            group = np.repeat(self.lane // (WARP // words), words)
            word = (chosen[:, None] * size // WORD + np.arange(words)).ravel()
            key = np.unique(group << 40 | word)
            each = np.bincount((key >> 40) * BANKS + (key & BANKS - 1), minlength=rows * warps * words * BANKS)
            extra = np.maximum(each.reshape(-1, BANKS).max(1) - 1, 0).reshape(rows, -1, words).sum(2)
            if extra.any():
                self.conflicts, self.waits = int(extra.sum()) * self.times, extra
        else:
            self.sectors = self.times * _count_distinct(lane, chosen * size // SECTOR)
            self.used = self.times * _count_distinct(lane, chosen) * size

    def places(self, lanes: Lanes) -> np.ndarray:
        """Where each lane that takes part goes in ``part.flat.reshape(-1)``, in the lanes' order."""
        each = self.part.flat.shape[-1] if self.part.is_shared else 0  # elements of a block
        if self.times > 1:  # one row stands for all blocks
            return (np.arange(self.times)[:, None] * each + self.chosen).ravel()
        if each:
            return self.chosen + self.lane // lanes.width * each
        return self.chosen

    def thread_keys(self, lanes: Lanes) -> np.ndarray:
        """Where each of these lanes is, as in `Lanes.thread_keys`."""
        return lanes.thread_keys.reshape(self.times, -1)[:, self.lane].ravel()


def reach(lanes: Lanes, mask: Mask, ref: Ref, indices: list[Any], site: Any) -> Reach:
    """Where the lanes of `mask` go with these indices."""
    arrays = [index for index in indices if isinstance(index, np.ndarray)]
    if len(mask.on) > 1 or isinstance(ref.offset, np.ndarray) or any([len(index) > 1 for index in arrays]):
        return Reach(lanes, mask, ref.part, _flat_positions(lanes, mask, ref, indices, site))
    # All blocks do the same, so a loop finds it again.
    parts = [index.tobytes() if isinstance(index, np.ndarray) else index for index in indices]
    key = (id(ref.part), ref.axis, ref.offset, *parts)
    if key not in mask.known:
        if len(mask.known) > _MOST_KNOWN:
            mask.known.clear()
        mask.known[key] = Reach(lanes, mask, ref.part, _flat_positions(lanes, mask, ref, indices, site))
    return mask.known[key]


def _flat_positions(lanes: Lanes, mask: Mask, ref: Ref, indices: list[Any], site: Any) -> Any:
    """Which element of ``part.flat`` each lane means. Raises `OutOfBounds`."""
    at: Any = ref.part.offset + ref.offset
    for axis, index in enumerate(indices, ref.axis):
        index, size = as_index(index), ref.part.shape[axis]
        if isinstance(index, int):
            if not 0 <= index < size:
                raise _out_of_bounds(lanes, ref, axis, index, mask.on, site)
        elif index.size and index.view(np.uint64).max() >= size:  # as unsigned numbers, negative ones are large
            bad = mask.on & (index.view(np.uint64) >= size)
            if bad.any():
                first = np.broadcast_to(index, bad.shape).ravel()[bad.argmax()]
                raise _out_of_bounds(lanes, ref, axis, int(first), bad, site)
            index = np.where(index.view(np.uint64) < size, index, 0)
        at = at + index * ref.part.strides[axis]
    return at


def as_index(x: Any) -> Any:
    """A number of elements: an int, or an array of int64."""
    if isinstance(x, np.ndarray):
        return x.astype(np.int64)
    return int(x)


def _out_of_bounds(lanes: Lanes, ref: Ref, axis: int, index: int, bad: np.ndarray, site: Any) -> Exception:
    part, place = ref.part, axis - ref.axis
    size, count = part.shape[axis], int(bad.sum()) * (lanes.blocks // len(bad))
    along = f" along axis {axis}" if len(part.shape) > 1 else ""
    if size:
        there = f"{size:,} elements{along}, 0 to {size - 1:,}"
    else:
        there = "no elements"
    what = f"{part.name} has {there}; index {index:,} is outside."
    is_signed = index < 2**31
    if not is_signed:
        what += f" It's a number below 0 that an unsigned type can't hold{site.words['unsigned']}."
    backwards = ", and doesn't count from the end" if index < 0 else ""
    does = f"{count:,} {'thread does' if count == 1 else 'threads do'} this here. A GPU doesn't check{backwards}."
    if is_signed:
        guard = site.guard(place, len(part.shape) - ref.axis, index, part)
    else:
        guard = ""
    if part.is_dynamic:
        each = f"{part.flat.itemsize} bytes for each element"
        guard = f" The launch says how large it is: shared_mem={lanes.launch.shared_mem}, and it takes {each}."
    return site.wrong(OutOfBounds, what, does + guard, lanes.first_of(bad))


def _count_distinct(lane: np.ndarray | None, x: np.ndarray) -> int:
    """How many different values each warp has, summed up. `lane` is None if all lanes take part."""
    if lane is None:
        rows = x.reshape(-1, WARP)
    else:
        rows = (lane // WARP << 44 | x)[None]
    steps = rows[:, 1:] - rows[:, :-1]
    if steps.min(initial=0) < 0:
        steps = np.diff(np.sort(rows, 1))
    return len(rows) * (x.size > 0) + int(np.count_nonzero(steps))


def _touch(lanes: Lanes, mask: Mask, to: Reach, way: int, site: Any) -> None:
    """An access of all lanes of the mask: is it allowed, and what does it cost?"""
    part, memory, is_shared = to.part, to.part.memory, to.part.is_shared
    costs = lanes.figures.costs[site.source.name, site.line, site.text]
    for note in lanes.notes:
        note(lanes, mask, part, to.at, way, site)
    if memory.log is not None and lanes.finds_races:
        memory.lines[way].add(site.line)
        _tell_log(lanes, memory.log, to, way, site)
    costs["requests"] += mask.warp_count
    mask.touched[2 * is_shared + (way != READ)] += 1
    if is_shared:
        costs["conflicts"] += to.conflicts
        if to.waits is not None:
            lanes.cycles[...] += to.waits[..., None]
        mask.spend(SHARED)
        return
    costs["sectors"] += to.sectors
    costs["used"] += to.used
    is_near, to.is_near = to.is_near, True
    if not is_near:
        sectors = to.chosen * part.flat.itemsize // SECTOR
        is_near = bool(memory.near[sectors].all())
        memory.near[sectors] = True
    if way == ATOMIC:
        mask.spend(ATOMIC_TIME)
    elif is_near:
        mask.spend(NEAR)
    else:
        mask.spend(FAR)


def _tell_log(lanes: Lanes, log: Log, to: Reach, way: int, site: Any) -> None:
    """Raises `DataRace` if the log finds one."""
    part, found = to.part, log.race(lanes, to, ATOMIC if way == READ and site.is_guess else way)
    if found is None:
        return
    at = int(to.places(lanes)[found.place] % part.flat.shape[-1])
    lines = sorted(part.memory.lines[found.earlier])
    if len(lines) > 3:
        where = "several lines"
    else:
        where = f"line{'s' * (len(lines) > 1)} {' and '.join(map(str, lines))}"
    too = " too" if way == found.earlier else ""
    other = f"{lanes.place_of(found.other)} {_DOES[found.earlier]}{too}"
    kind = _KINDS.get((way, found.earlier), "atomic")
    what = (
        f"this thread {_DOES[way]} {part.element_text(at)}, which {other} ({where}). Which of them comes first is "
        f"chance: a data race ({kind})."
    )
    this = lanes.place_of(to.thread_keys(lanes)[found.place])
    raise site.wrong(DataRace, what, _instead_of(found, lanes, to, way, site, at), this)


def _instead_of(found: Race, lanes: Lanes, to: Reach, way: int, site: Any, at: int) -> str:
    """What to write so that there's no race."""
    barrier, add_atomically = site.words["barrier"], site.words["add"]
    is_one_line = to.part.memory.lines[found.earlier] == {site.line}
    meets = lanes.value_in_thread(to.at, *numbers_of(found.other)) == at
    if is_one_line and meets and (add := site.addition()):
        return f"Several threads add to one element, and each may miss what another one adds: {add}."
    if is_one_line and way == found.earlier == WRITE:
        return f"Every thread runs the whole function: let each write elements of its own, or use {add_atomically}."
    if lanes.launch.blocks == 1 or to.part.is_shared:
        between = f"Read first, then {barrier}, then write; or write into another array."
        if is_one_line:
            return between
        return f"Put {barrier} between the two."
    return (
        "Blocks never wait for each other: write into another array, do the second part in a launch of its own, or use "
        f"{add_atomically}. ({barrier} orders one block's threads only.)"
    )


def _check_written(lanes: Lanes, to: Reach, site: Any) -> None:
    """Raises `NeverWritten` if nothing has written one of these elements of shared memory, or of what `empty` made."""
    part, places = to.part, to.places(lanes)
    if part.is_shared:
        seen = part.memory.written[places]
    else:
        seen = part.flat[places].view(part.unwritten.dtype) != part.unwritten
    if seen.all():
        to.is_noted = part.is_shared
        return
    first = int(seen.argmin())
    at = int(places[first] % part.flat.shape[-1])
    if not part.is_shared:
        nothing = f"{part.name} was made by `empty`, and nothing has written {part.element_text(at)} yet"
        what = f"{nothing}: it holds whatever was in memory before."
        more = f"Write it first, or make the array with {site.words['array']}."
    else:
        what = (
            f"no thread has written {part.element_text(at)} yet. Shared memory begins with whatever was there before."
        )
        more = "Keep all threads until the last barrier, and guard only the last line."  # since some have returned
        if lanes.alive == lanes.top.count:
            more = (
                "Write every element that you read. Fill the edges with 0 where the array has nothing, in every round: "
                f"{site.zero(part)}."
            )
    raise site.wrong(NeverWritten, what, more, lanes.place_of(to.thread_keys(lanes)[first]))


def load(lanes: Lanes, mask: Mask, to: Reach, site: Any) -> Any:
    _touch(lanes, mask, to, READ, site)
    part, flat, at = to.part, to.part.flat, to.at
    if (part.is_shared or part.unwritten is not None) and not to.is_noted:
        _check_written(lanes, to, site)
    if not part.is_shared:
        return flat[at]
    if lanes.blocks == 1:
        return flat[0][at]
    is_same = isinstance(at, int) or len(at) == 1
    if is_same:
        return flat.take(np.ravel(at), 1)
    return np.take_along_axis(flat, at, 1)


def store(lanes: Lanes, mask: Mask, value: Any, to: Reach, site: Any) -> None:
    """Write `value`, which has the right type, where `to` says."""
    _touch(lanes, mask, to, WRITE, site)
    part, at, new = to.part, to.places(lanes), lanes.select(mask, value)
    if lanes.rng is not None:  # whichever of several lanes may be the last to write an element
        order = lanes.rng.permutation(at.size)
        at, new = at[order], new[order]
    part.flat.reshape(-1)[at] = new
    if not to.is_noted:
        part.memory.written[at] = True
        to.is_noted = True


def change(lanes: Lanes, mask: Mask, to: Reach, how: Any, values: list[Any], site: Any, is_used: bool) -> Any:
    """An atomic operation, ``how(old, value)``. Returns what was there. Threads come in order; on a GPU, by chance."""
    _touch(lanes, mask, to, ATOMIC, site)
    part, at, flat = to.part, to.places(lanes), to.part.flat.reshape(-1)
    if not part.is_shared:
        part.memory.atomics += np.bincount(at, minlength=part.memory.written.size)
        part.memory.written[at] = True
        lanes.figures.atomics += mask.count
    elif not to.is_noted:
        _check_written(lanes, to, site)
    given = [lanes.select(mask, value).astype(flat.dtype, copy=False) for value in values]
    if isinstance(how, np.ufunc) and not is_used:
        how.at(flat, at, *given)
        return None
    order = at.argsort(kind="stable")
    ordered = at[order]
    begins = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    turn = np.empty(at.size, np.int64)  # of each lane, among those that mean the same element
    turn[order] = np.arange(at.size) - begins.nonzero()[0][begins.cumsum() - 1]
    old = np.zeros(at.size, flat.dtype)
    for k in range(int(turn.max(initial=-1)) + 1):
        now = (turn == k).nonzero()[0]
        old[now] = flat[at[now]]
        flat[at[now]] = how(old[now], *(value[now] for value in given))
    result = np.zeros(lanes.shape, flat.dtype)
    result[np.broadcast_to(mask.on, lanes.shape)] = old
    return result
