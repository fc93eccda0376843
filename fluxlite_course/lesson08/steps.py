"""What some warps of a launch do, step by step, while the warps of a block take turns: the microscope draws it."""

from __future__ import annotations

import ast
import functools
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from simgpu.jit import Kernel
from simgpu.jit.errors import DataRace, KernelError, StuckBarrier, many
from simgpu.jit.launch import Launch
from simgpu.jit.orders import Repeatable, Turns, Warp, difference
from simgpu.jit.source import is_stored
from simgpu.jit.tracing import Touch, Trace

WARP = 32
_ALL_BLOCKS = 16  # of a racing launch; of a larger one, the first blocks
_ARRIVALS = 4  # at a barrier that are shown one by one; the last step of these has all that came later
_SEEDS = 20  # other orders that are tried,
_MOST_TOUCHES = 8_000  # and accesses of memory by warps, in all blocks of an order
LATER, READY, WAITS, DONE = "later", "ready", "waits", "done"


class Step(NamedTuple):
    """What one warp does at one moment. `place` is the text it stands in, a `Source`, and the line."""

    place: tuple[Any, int]
    on: tuple[int, ...]  # the lanes that take part
    said: str
    touch: Touch | None = None
    part: Any = None  # the memory that it touches
    warps: tuple[str, ...] = ()  # what each warp of the block is at
    waits: bool = False

    @property
    def text(self) -> str:
        source, line = self.place
        return source.lines[line - source.first].strip()


class Seen(NamedTuple):
    """A launch in one order: the steps of each warp looked at, whether there were more, and what the arrays came to."""

    steps: dict[tuple[int, int], list[Step]]
    cut: set[tuple[int, int]]
    outcome: Any  # None if it takes too long to know


class Look(NamedTuple):
    """A launch in order, in another one if that comes to something else, and the error that it raises in step."""

    orders: list[Seen]
    error: KernelError | None

    @property
    def outcomes(self) -> tuple[str, str] | None:
        """Where the two orders differ first, in words."""
        return difference(*(seen.outcome for seen in self.orders)) if len(self.orders) > 1 else None


def look(kernel: Kernel, grid: Any, block: Any, args: Sequence[Any], warps: Sequence[tuple[int, int]], most: int) -> Look:
    """Follow these warps, each a pair of block and warp, for so many steps. The arrays are as before afterwards.

    Raises `ValueError` for a warp that isn't there.
    """
    new = functools.partial(Launch, kernel, kernel._device_of(args), grid, block, args)
    again, error = Repeatable(new, kernel.source.parameters, args), None
    with kernel._lock:
        launch = new()
        for pair in warps:
            Trace(launch, *pair)  # raises
        try:
            launch.run()
        except KernelError as found:
            error = found
        again.put_back()
        orders = [_seen(kernel, again, None, warps, most, error)]
        for seed in range(_SEEDS if isinstance(error, DataRace) and orders[0].outcome else 0):
            other = _seen(kernel, again, seed, warps, most, error)
            if other.outcome and difference(orders[0].outcome, other.outcome):
                orders.append(other)
                break
    return Look(orders, error)


def _seen(kernel: Any, again: Repeatable, seed: int | None, warps: Any, most: int, error: Any) -> Seen:
    turns = _Turns(again.new(), seed, warps, most, error)
    try:
        turns.run()
        outcome: Any = again.values() if turns.failed is None else f"{type(turns.failed).__name__} in line {turns.failed.line}"
    finally:
        again.put_back()
    outcome = outcome if turns.is_whole else None
    for eye in turns.eyes.values():
        if not eye.steps:
            nothing = "there's nothing to see of this warp" + ": another one fails first" * (error is not None)
            eye.steps.append(Step((kernel.source, kernel.source.line(kernel.source.tree)), (), nothing))
    cut = {pair for pair, eye in turns.eyes.items() if eye.is_cut}
    return Seen({pair: turns.eyes[pair].steps for pair in warps}, cut, outcome)


class _Enough(BaseException):
    """All that's looked at has been seen."""


class _Warp(Warp):
    """A warp that an eye may follow, and whose arrival at a barrier the others see."""

    def __init__(self, turns: _Turns, block: int, own: np.ndarray, shared: dict[Any, Any]) -> None:
        super().__init__(turns, block, own, shared)
        self.has_begun, self.eye = False, turns.eyes.get((block, int(own.argmax()) // WARP))
        if self.eye:
            self.watch = self.eye  # type: ignore[assignment]
            self.notes = [self.give_way, self.eye.note]

    def give_way(self, *access: Any) -> None:
        self.turns.count()
        super().give_way(*access)

    @property
    def state(self) -> str:
        return DONE if self.is_done else WAITS if self.is_waiting else READY if self.has_begun else LATER

    def barrier(self, mask: Any, site: Any) -> None:
        self.is_waiting = self.has_begun = True
        is_stuck = isinstance(self.turns.error, StuckBarrier) and self.turns.error.line == site.line
        if self.eye:
            said = "waits forever: not all threads come here" if is_stuck else "waits at the barrier"
            self.eye.add(site.source, site.line, mask.on, said, waits=True)
        if is_stuck:
            raise self.turns.error
        for eye in self.turns.near:
            eye.another_came()
        super().barrier(mask, site)


class _Turns(Turns):
    warp = _Warp

    def __init__(self, launch: Any, seed: int | None, warps: Sequence[tuple[int, int]], most: int, error: Any) -> None:
        super().__init__(launch, seed)
        self.falls_apart = False  # a warp stays whole: there's one to look at
        self.error, self.races = error, isinstance(error, DataRace)
        self.failed: KernelError | None = None  # what was raised in this order
        self.is_whole, self.touches = True, 0
        blocks = range(min(launch.blocks, _ALL_BLOCKS)) if self.races else ()
        self.blocks = sorted({*blocks, *(block for block, _ in warps)})  # type: ignore[assignment]
        self.eyes = {pair: _Eye(launch, pair, most) for pair in warps}
        self.near: list[_Eye] = []  # those that look at this block

    def _take(self, warps: list[Any]) -> None:
        self.touches = 0
        self.near = [warp.eye for warp in warps if warp.eye]
        for eye in self.near:
            eye.warps = warps
        try:
            super()._take(warps)
        except _Enough:
            pass
        except KernelError as error:
            self.failed = self.failed or error
            failed = next((warp.eye for warp in warps if warp.error is error and warp.eye), None)
            if failed and not failed.steps[-1].waits:
                failed.fails(error)
        self.back = threading.Semaphore(0)  # those that were stopped have released it

    def count(self) -> None:
        self.touches += 1
        if self.touches * len(self.blocks) > _MOST_TOUCHES:
            self.is_whole = False
            raise _Enough

    def enough(self) -> bool:
        """Whether nothing more of this block is needed. Of a race, the end is."""
        return not self.races and all(eye.is_cut or warp.is_done for eye in self.near for warp in eye.own())


class _Eye:
    """Follows one warp: it's told each access, each line and each test, as `Watch` is of a single thread."""

    def __init__(self, launch: Any, pair: tuple[int, int], most: int) -> None:
        self.trace, self.most = Trace(launch, *pair), most
        self.here = slice(pair[1] * WARP, (pair[1] + 1) * WARP)
        self.steps: list[Step] = []
        self.warps: list[Any] = []  # of its block
        self.is_cut = False
        self._wrote: Any = None  # where the latest access wrote

    def add(self, source: Any, line: int, on: Any, said: str, touch: Any = None, part: Any = None, **more: Any) -> None:
        if len(self.steps) >= self.most:
            self.is_cut = True
            if self.warps[0].turns.enough():
                raise _Enough
            return
        lanes = tuple(int(lane) for lane in np.ravel(on)[self.here].nonzero()[0])
        for warp in self.own():
            warp.has_begun = True
        self.steps.append(Step((source, line), lanes, said, touch, part, self._states(), **more))

    def fails(self, error: KernelError) -> None:
        last = self.steps[-1]
        line = error.line if error.line in range(last.place[0].first, last.place[0].first + len(last.place[0].lines)) else 0
        place = (last.place[0], line or last.place[1])
        self.steps.append(last._replace(place=place, said=error.what.partition(". ")[0].rstrip("."), touch=None))

    def own(self) -> list[Any]:
        return [warp for warp in self.warps if warp.eye is self]

    def another_came(self) -> None:
        """A warp has come to the barrier: that's a step of those that wait there already."""
        states, last = self._states(), self.steps[-1:]
        if last and last[0].waits and len(self.steps) < self.most and states != last[0].warps:
            before = [step for step in self.steps[-_ARRIVALS:] if step.waits and step.place == last[0].place]
            self.steps[-1 if len(before) == _ARRIVALS else len(self.steps) :] = [last[0]._replace(warps=states)]

    def _states(self) -> tuple[str, ...]:
        return tuple(warp.state for warp in self.warps)

    def note(self, lanes: Any, mask: Any, part: Any, at: Any, way: int, site: Any) -> None:
        count = len(self.trace)
        self.trace.note(lanes, mask, part, at, way, site)
        if len(self.trace) == count:
            return
        touch = self.trace[-1]
        lane = min(touch.addresses)
        place = touch.addresses[lane] // touch.itemsize
        flat = part.flat.reshape(-1)
        said = f"lane {lane}: {part.named(place)}" + (f" = {flat[place]:g}" if touch.way == "read" else "")
        self._wrote = None if touch.way == "read" else (flat, place)
        self.add(site.source, site.line, mask.on, said, touch, part)

    def after(self, node: Any, source: Any, lanes: Any, mask: Any, variables: dict[str, Any]) -> None:
        line, last = source.line(node), self.steps[-1] if self.steps else None
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", node)
        names = [part.id for part in ast.walk(target) if is_stored(part)]
        slots = {name: variables[name].slot for name in names if isinstance(variables[name].type, np.dtype)}
        result = "; ".join(f"{name} = {self._numbers(lanes.held[slot].value)}" for name, slot in slots.items())
        if self.is_cut or last is None or last.touch is None or last.place != (source, line):
            if result or isinstance(node, ast.Return):
                self.add(source, line, mask.on, result or "done: these lanes leave")
            return
        if self._wrote:
            flat, place = self._wrote
            self.steps[-1], self._wrote = last._replace(said=f"{last.said} = {flat[place]:g}"), None
        elif result:
            self.steps[-1] = last._replace(said=f"{last.said} → {result}")

    def tested(self, node: Any, source: Any, mask: Any, seen: Any) -> None:
        yes = np.broadcast_to(seen, (1, mask.on.shape[1])) & mask.on
        there, count = (int(np.count_nonzero(on[0, self.here])) for on in (mask.on, yes))
        said = f"{'yes' if count else 'no'} in all {there} lanes"
        if 0 < count < there:
            said = f"yes in {many(count, 'lane')}, no in {there - count}: those sit out"
        self.add(source, source.line(node), yes if count else mask.on, said)

    def _numbers(self, value: Any) -> str:
        """What the lanes have of a value: one number, or the first ones and the last."""
        values = [f"{x:g}" for x in np.broadcast_to(value, (1, self.warps[0].width))[0, self.here].tolist()]
        return values[0] if len(set(values)) == 1 else f"{', '.join(values[:3])}, … {values[-1]}"
