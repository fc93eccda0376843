"""Reading, writing and changing memory, by all threads at once: is it allowed, and what does each thread get?"""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import DataRace, NeverWritten
from .lanes import ATOMIC as ATOMIC_TIME
from .lanes import BLOCK_AT, FAR, NEAR, READS, SHARED, SHARED_READS, SHARED_WRITES, WRITES, Lanes, Mask
from .memory import SECTOR, Part, Reach, Ref, in_units, reach
from .races import ATOMIC, READ, WRITE, Race

DOES = {READ: "reads", WRITE: "writes", ATOMIC: "changes, atomically,"}


def touch(lanes: Lanes, mask: Mask, part: Part, to: Reach, way: int, site: Any) -> None:
    """An access of all lanes of the mask: is it allowed, and what does it cost?"""
    memory, line = part.memory, site.costs
    if lanes.tracer is not None:
        lanes.tracer.note(lanes, mask, part, to.at, way, site)
    log = memory.log
    if log is not None and (to.noted[way] != log.serial or to.footprint is None):
        _note(lanes, mask, part, to, way, site)
    line.requests += mask.warp_count
    if part.is_shared:
        line.conflicts += to.conflicts
        if to.waits is not None:
            lanes.cycles[...] += to.waits[..., None]
            lanes.figures.replays += to.conflicts
        mask.spend(SHARED)
        mask.touched[SHARED_READS if way == READ else SHARED_WRITES] += 1
        return
    line.sectors += to.sectors
    line.used += to.used
    mask.touched[READS if way == READ else WRITES] += 1
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
    part.memory.lines[way].add(site.line)
    if to.footprint is not None:
        found = log.footprint(lanes, to.footprint, way)
        to.noted[way] = log.serial if log.is_regular else -1
    else:
        at = _everywhere(lanes, to, mask)
        if part.is_shared:
            at = at + _rows(lanes, mask, to) * part.flat.shape[1]
        found = log.access(lanes, *in_units(part, at, _chosen(lanes.who, lanes, mask)), way)
    if found is not None:
        raise _race(lanes, mask, part, to, found, way, site)


def _rows(lanes: Lanes, mask: Mask, to: Reach) -> np.ndarray:
    return _chosen(np.arange(lanes.blocks)[:, None], lanes, mask)


def _chosen(x: Any, lanes: Lanes, mask: Mask) -> np.ndarray:
    """`x` of each lane that takes part, in order."""
    x = np.broadcast_to(x, lanes.shape)
    return x.ravel() if mask.is_full else x[np.broadcast_to(mask.on, lanes.shape)]


def _everywhere(lanes: Lanes, to: Reach, mask: Mask) -> np.ndarray:
    """`to.chosen`, also where one row stands for all blocks."""
    return np.tile(to.chosen, to.times) if to.times > 1 else to.chosen


def _race(lanes: Lanes, mask: Mask, part: Part, to: Reach, found: Race, way: int, site: Any) -> Exception:
    each = part.flat.itemsize // part.memory.unit
    at = int(_everywhere(lanes, to, mask)[found.place // each])
    who = int(_chosen(lanes.who, lanes, mask)[found.place // each])
    lines = part.memory.lines[found.earlier]
    where = f"line {', '.join(map(str, sorted(lines)))}" if len(lines) < 4 else "several lines"
    if found.other >> BLOCK_AT == who >> BLOCK_AT:
        fix = "Put jit.syncthreads() between the two."
        if len(lines) == 1 and site.line in lines and way != READ and found.earlier == way:
            fix = "Give each thread its own element, or use jit.atomic_add."
    else:
        fix = "Blocks never wait for each other: one writer for each element, jit.atomic_add, or a second launch."
    kind = {(READ, WRITE): "RAW", (WRITE, READ): "WAR", (WRITE, WRITE): "WAW"}.get((way, found.earlier), "atomic")
    text = (
        f"this thread {DOES[way]} {part.name}[{_index(part, at)}], which {lanes.named(found.other)} "
        f"{DOES[found.earlier]} too ({where}). Which of them comes first is chance: a data race ({kind}).\n  {fix}"
    )
    return site.wrong(DataRace, text, lanes.named(who))


def _index(part: Part, at: int) -> str:
    """The index of a flat position, as in ``2, 3``. Only for an array whose axes lie in order."""
    at -= part.offset
    found = []
    for stride, size in zip(part.strides, part.shape):
        if stride <= 0:
            return "…"
        found.append(min(at // stride, size - 1))
        at -= found[-1] * stride
    return ", ".join(map(str, found))


def load(lanes: Lanes, mask: Mask, ref: Ref, indices: list[Any], site: Any) -> Any:
    """The elements at these indices, for each lane."""
    to = reach(lanes, mask, ref, indices, site)
    part = ref.part
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
    if to.footprint is not None:
        seen = written[:, to.chosen].all(0)
        to.is_written = bool(seen.all())
    else:
        seen = written[_rows(lanes, mask, to), to.chosen]
    if not seen.all():
        place = int(seen.argmin())
        who = int(_chosen(lanes.who, lanes, mask)[place])
        raise site.wrong(
            NeverWritten,
            f"no thread has written {part.name}[{int(to.chosen[place])}] yet. Shared memory begins with whatever was "
            f"there "
            "before.\n  Write every element that is read, also those at the edges.",
            lanes.named(who),
        )  # fmt: skip


def _check_unwritten(lanes: Lanes, mask: Mask, part: Part, values: Any, to: Reach, site: Any) -> None:
    """An array made by `empty` holds a pattern of bits until something is written over it."""
    bad = np.asarray(values).view(part.unwritten.dtype) == part.unwritten
    if bad.any():
        bad = np.broadcast_to(bad, np.broadcast_shapes(bad.shape, mask.on.shape)) & mask.on
        if bad.any():
            at = int(np.broadcast_to(to.at, bad.shape).ravel()[bad.argmax()])
            raise site.wrong(
                NeverWritten,
                f"{part.name} was made by `empty`, and nothing has written {part.name}[{_index(part, at)}] yet: it "
                f"holds "
                "whatever was in memory before.\n  Write it first, or make the array with np.zeros_like.",
                lanes.first_of(bad),
            )  # fmt: skip


def store(lanes: Lanes, mask: Mask, ref: Ref, to: Reach, value: Any, site: Any) -> None:
    """Write `value`, of the right type, to where `to` says."""
    part = ref.part
    touch(lanes, mask, part, to, WRITE, site)
    if part.is_shared:
        if to.footprint is None:
            rows, at = _rows(lanes, mask, to), to.chosen
            part.flat[rows, at] = _chosen(value, lanes, mask)
            part.written[rows, at] = True  # type: ignore[index]
            return
        part.flat[:, to.chosen] = _columns(value, to)
        if not to.is_written:
            part.written[:, to.chosen] = True  # type: ignore[index]
            to.is_written = True
    elif to.footprint is not None:  # there's one block
        given = _columns(value, to)
        part.flat[to.chosen] = given[0] if isinstance(given, np.ndarray) else given
    elif mask.is_full and isinstance(to.at, np.ndarray) and to.at.shape == lanes.shape:
        part.flat[to.at] = value
    else:
        part.flat[_everywhere(lanes, to, mask)] = _chosen(value, lanes, mask)


def _columns(value: Any, to: Reach) -> Any:
    """`value` of the lanes that `to` has, in each block."""
    if to.lane is None or not isinstance(value, np.ndarray) or value.shape[1] == 1:
        return value
    return value[:, to.lane]


def change(lanes: Lanes, mask: Mask, ref: Ref, to: Reach, how: Any, values: list[Any], site: Any, is_used: bool) -> Any:
    """An atomic operation, one thread after the other: ``how(old, value)``. Gives what was there before.

    In which order the threads come is chance on a GPU. Here it's the order of their numbers.
    """
    part = ref.part
    touch(lanes, mask, part, to, ATOMIC, site)
    at = _everywhere(lanes, to, mask)
    flat = part.flat
    if part.is_shared:
        if not to.is_written:
            _check_written(lanes, mask, part, to, site)
        at = at + _rows(lanes, mask, to) * flat.shape[1]
        flat = flat.reshape(-1)
    else:
        part.memory.count_atomics(in_units(part, at, at)[0], 1)
        lanes.figures.atomics += mask.count
    given = [_chosen(value, lanes, mask) for value in values]
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
