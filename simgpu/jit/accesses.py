"""Reading, writing and changing memory, by all threads at once: is it allowed, and what does each thread get?"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import advice
from .errors import DataRace, NeverWritten
from .lanes import ATOMIC as ATOMIC_TIME
from .lanes import FAR, NEAR, SHARED, Lanes, Mask, block_of, thread_of
from .memory import SECTOR, Part, Reach, Ref, in_units, reach
from .races import ATOMIC, READ, WRITE, Race

DOES = {READ: "reads", WRITE: "writes", ATOMIC: "changes atomically"}
KINDS = {
    (READ, WRITE): "read after write, RAW", (WRITE, READ): "write after read, WAR",
    (WRITE, WRITE): "write after write, WAW",
}  # fmt: skip


def touch(lanes: Lanes, mask: Mask, part: Part, to: Reach, way: int, site: Any) -> None:
    """An access of all lanes of the mask: is it allowed, and what does it cost?"""
    memory, line, is_shared = part.memory, site.costs, part.is_shared
    if lanes.tracer is not None:
        lanes.tracer.note(lanes, mask, part, to.at, way, site)
    log = memory.log
    if log is not None:
        memory.lines[way].add(site.line)
        if to.noted[way] != log.serial or to.footprint is None:
            _note(lanes, mask, part, to, way, site)
    line.requests += mask.warp_count
    mask.touched[2 * is_shared + (way != READ)] += 1
    if is_shared:
        line.conflicts += to.conflicts
        if to.waits is not None:
            lanes.cycles[...] += to.waits[..., None]
            lanes.figures.replays += to.conflicts
        mask.spend(SHARED)
        return
    if log is None and not to.is_read:
        memory.note(READ, to.chosen, part.each)
        to.is_read = True
    line.sectors += to.sectors
    line.used += to.used
    is_near = to.is_near
    if not is_near:
        sectors = to.chosen * part.flat.itemsize // SECTOR
        is_near = bool(memory.near[sectors].all())
        memory.near[sectors] = True
        to.is_near = True
    mask.spend(ATOMIC_TIME if way == ATOMIC else NEAR if is_near else FAR)


def _note(lanes: Lanes, mask: Mask, part: Part, to: Reach, way: int, site: Any) -> None:
    """Tell the log. Raises `DataRace`."""
    log: Any = part.memory.log
    if to.footprint is not None:
        found = log.footprint(lanes, to.footprint, way)
        to.noted[way] = log.serial if log.is_regular else -1
    else:
        found = log.access(lanes, *in_units(part, _places(lanes, mask, part, to), lanes.chosen(mask, lanes.who)), way)
    if found is not None:
        raise _race(lanes, mask, part, to, found, way, site)


def _places(lanes: Lanes, mask: Mask, part: Part, to: Reach) -> np.ndarray:
    """Where each lane that takes part goes in ``part.flat.reshape(-1)``, in order."""
    at = np.tile(to.chosen, to.times) if to.times > 1 else to.chosen  # one row may stand for all blocks
    return at + lanes.chosen(mask, np.arange(lanes.blocks)[:, None]) * part.flat.shape[1] if part.is_shared else at


def _race(lanes: Lanes, mask: Mask, part: Part, to: Reach, found: Race, way: int, site: Any) -> Exception:
    lane = found.place // part.each
    at = int(_places(lanes, mask, part, to)[lane] % part.flat.shape[-1])
    lines = sorted(part.memory.lines[found.earlier])
    where = "several lines" if len(lines) > 3 else f"line{'s' * (len(lines) > 1)} {' and '.join(map(str, lines))}"
    too = " too" if way == found.earlier else ""
    what = (
        f"this thread {DOES[way]} {part.name}[{part.index_of(at)}], which {lanes.named(found.other)} "
        f"{DOES[found.earlier]}{too} ({where}). Which of them comes first is chance: a data race "
        f"({KINDS.get((way, found.earlier), 'atomic')})."
    )
    return site.wrong(
        DataRace, what, _ends(lanes, part, to, found, way, site, at), lanes.named(lanes.chosen(mask, lanes.who)[lane])
    )


def _ends(lanes: Lanes, part: Part, to: Reach, found: Race, way: int, site: Any, at: int) -> str:
    """What ends a race."""
    is_one_line = part.memory.lines[found.earlier] == {site.line}
    add = advice.addition(site.node, site.source.tree)
    if is_one_line and add and _goes_to(lanes, to, found.other) == at:
        return f"Several threads add to one element, and each may miss what another one adds: {add}."
    if axes := lanes.launch.lost_axis or advice.first_axis(lanes.launch.program.second_axis, lanes.launch.block):
        return axes
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


def _goes_to(lanes: Lanes, to: Reach, who: int) -> int:
    """Which element the thread `who` means in this access, or -1 if it isn't among these."""
    row = block_of(who) - int(lanes.number[0])
    return int(np.broadcast_to(to.at, lanes.shape)[row, thread_of(who)]) if 0 <= row < lanes.blocks else -1


def load(lanes: Lanes, mask: Mask, ref: Ref, indices: list[Any], site: Any) -> Any:
    """The elements at these indices, for each lane."""
    to = reach(lanes, mask, ref, indices, site)
    values = _loaded(lanes, mask, ref.part, to, site)
    if lanes.watch is not None:
        lanes.watch.touched(mask, ref.part, to, values, site, False)
    return values


def _loaded(lanes: Lanes, mask: Mask, part: Part, to: Reach, site: Any) -> Any:
    touch(lanes, mask, part, to, READ, site)
    if not part.is_shared:
        values = part.flat[to.at]
        if part.unwritten is not None:
            _check_unwritten(lanes, mask, part, values, to, site)
        return values
    if not to.is_written:
        _check_written(lanes, mask, part, to, site)
    flat, at = part.flat, to.at
    if isinstance(at, int):
        return flat[0, at] if lanes.blocks == 1 else flat[:, at : at + 1].copy()
    if lanes.blocks == 1:
        return flat[0][at]
    return flat.take(at[0], 1) if len(at) == 1 else np.take_along_axis(flat, at, 1)


def _check_written(lanes: Lanes, mask: Mask, part: Part, to: Reach, site: Any) -> None:
    written: Any = part.written
    all_same = to.footprint is not None  # all blocks do the same
    seen = written[:, to.chosen] if all_same else written.reshape(-1)[None, _places(lanes, mask, part, to)]
    to.is_written = all_same and bool(seen.all())
    if not to.is_written and not seen.all():
        place = int(seen.all(0).argmin())
        who = lanes.chosen(mask, lanes.who)[int(seen[:, place].argmin()) * len(to.chosen) + place]
        at = int(to.chosen[place])
        raise site.wrong(
            NeverWritten,
            f"no thread has written {part.name}[{at}] yet. Shared memory begins with whatever was there before.",
            _completes(lanes, part, at, block_of(who)),
            lanes.named(who),
        )


def _completes(lanes: Lanes, part: Part, at: int, block: int) -> str:
    """What gets a tile written that has an empty element."""
    returned = 0 if lanes.exited is None else int((lanes.exited & lanes.top.on)[block - int(lanes.number[0])].sum())
    if returned:
        lines = " and ".join(map(str, sorted(lanes.exit_lines)))
        return (
            f"{returned} of the block's {lanes.launch.threads} threads {'has' if returned == 1 else 'have'} returned "
            f"(line {lines}) and {'writes' if returned == 1 else 'write'} nothing any more. Keep all threads until the "
            "last barrier, and guard only the last line."
        )
    small = f" Or is the block, with its {lanes.launch.threads} threads, smaller than the tile of {part.shape[0]}?"
    return (
        "Write every element that you read. Fill the edges with 0 where the array has nothing, in every round: "
        f"`else: {part.name}[…] = {'0.0' if part.flat.dtype.kind == 'f' else 0}`."
        f"{small * (at >= lanes.launch.threads)}{lanes.launch.lost_axis and ' Or: '}{lanes.launch.lost_axis}"
    )


def _check_unwritten(lanes: Lanes, mask: Mask, part: Part, values: Any, to: Reach, site: Any) -> None:
    """An array made by `empty` holds a pattern of bits until something is written over it."""
    bad = np.asarray(values).view(part.unwritten.dtype) == part.unwritten
    if bad.any():
        bad = np.broadcast_to(bad, np.broadcast_shapes(bad.shape, mask.on.shape)) & mask.on
        if bad.any():
            at = int(np.broadcast_to(to.at, bad.shape).ravel()[bad.argmax()])
            raise site.wrong(
                NeverWritten,
                f"{part.name} was made by `empty`, and nothing has written {part.name}[{part.index_of(at)}] yet: it "
                "holds whatever was in memory before.",
                "Write it first, or make the array with np.zeros_like.",
                lanes.first_of(bad),
            )  # fmt: skip


def store(lanes: Lanes, mask: Mask, ref: Ref, to: Reach, value: Any, site: Any) -> None:
    """Write `value`, of the right type, to where `to` says."""
    part = ref.part
    touch(lanes, mask, part, to, WRITE, site)
    if lanes.watch is not None:
        lanes.watch.touched(mask, part, to, value, site, True)
    if to.footprint is not None:  # all blocks do the same
        is_of_lanes = to.lane is not None and isinstance(value, np.ndarray) and value.shape[1] > 1
        rows = part.flat if part.is_shared else part.flat[None]
        rows[:, to.chosen] = value[:, to.lane] if is_of_lanes else value
    elif mask.is_full and isinstance(to.at, np.ndarray) and to.at.shape == lanes.shape and not part.is_shared:
        part.flat[to.at] = value
    else:
        part.flat.reshape(-1)[_places(lanes, mask, part, to)] = lanes.chosen(mask, value)
    if to.is_written:
        return
    to.is_written = to.footprint is not None or not part.is_shared
    if part.written is None:
        part.memory.note(WRITE, to.chosen, part.each)
    elif to.is_written:
        part.written[:, to.chosen] = True
    else:
        part.written.reshape(-1)[_places(lanes, mask, part, to)] = True


def change(lanes: Lanes, mask: Mask, ref: Ref, to: Reach, how: Any, values: list[Any], site: Any, is_used: bool) -> Any:
    """An atomic operation, one thread after the other: ``how(old, value)``. Gives what was there before.

    In which order the threads come is chance on a GPU. Here it's the order of their numbers.
    """
    part = ref.part
    touch(lanes, mask, part, to, ATOMIC, site)
    if lanes.watch is not None:
        lanes.watch.touched(mask, part, to, None, site, True)
    at, flat = _places(lanes, mask, part, to), part.flat.reshape(-1)
    if not part.is_shared:
        part.memory.count_atomics(in_units(part, at, at)[0], 1)
        part.memory.note(WRITE, at, part.each)
        lanes.figures.atomics += mask.count
    elif not to.is_written:
        _check_written(lanes, mask, part, to, site)
    given = [lanes.chosen(mask, value) for value in values]
    if isinstance(how, np.ufunc) and not is_used:
        how.at(flat, at, *given)
        return None
    return _in_turn(lanes, mask, flat, at, how, given)


def _in_turn(lanes: Lanes, mask: Mask, flat: np.ndarray, at: np.ndarray, how: Any, given: list[Any]) -> np.ndarray:
    order = at.argsort(kind="stable")
    ordered = at[order]
    begins = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    group = begins.nonzero()[0][begins.cumsum() - 1]
    turn = np.empty(at.size, np.int64)
    turn[order] = np.arange(at.size) - group
    old = np.zeros(at.size, flat.dtype)
    for k in range(int(turn.max(initial=-1)) + 1):
        now = (turn == k).nonzero()[0]
        old[now] = flat[at[now]]
        flat[at[now]] = how(old[now], *(value[now] for value in given))
    result = np.zeros(lanes.shape, flat.dtype)
    result[np.broadcast_to(mask.on, lanes.shape)] = old
    return result
