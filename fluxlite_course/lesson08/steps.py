"""What some warps of a launch do, step by step, while the warps of a block take turns: the microscope draws it."""

from __future__ import annotations

import ast
import functools
import math
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fluxlite.cuda.jit import DataRace, Kernel
from fluxlite.messages import many
from simgpu.jit.launch import Launch, three
from simgpu.jit.orders import Repeatable, Turns, Warp
from simgpu.jit.source import is_stored
from simgpu.jit.tracing import WARP, Touch, Trace

_SEEDS, _ENDS = 10, 5  # a racing launch runs in so many other orders; of its outcomes, so many are told
_MOST_BLOCKS, _MOST_TOUCHES = 16, 8_000  # of a racing launch; its accesses of memory by warps
_ARRIVALS = 4  # at a barrier, one by one; the last of these has all that come later
LATER, READY, WAITS, DONE = "later", "ready", "waits", "done"  # what a warp is at


class Step(NamedTuple):
    """What one warp does at one moment."""

    line: int
    on: tuple[int, ...]  # the lanes that take part
    said: str
    touch: Touch | None = None
    part: Any = None  # the memory that it touches
    warps: tuple[str, ...] = ()  # what each warp of the block is at
    waits: bool = False
    is_cut: bool = False  # the warp goes on, but that's all we look at


class Seen(NamedTuple):
    """A launch in one order: the steps of each warp looked at, and what the arrays came to, or None."""

    steps: dict[tuple[int, int], list[Step]]
    outcome: dict[str, np.ndarray] | None


class Look(NamedTuple):
    """A launch in order, in another one if that ends differently, its race, an element that differs, and its ends."""

    source: Any
    race: DataRace | None
    orders: list[Seen]
    element: str = ""
    ends: tuple[str, ...] = ()


def some_warps(kernel: Kernel, grid: Any, block: Any) -> tuple[tuple[int, int], ...]:
    """The first two, and the very last, where guards are."""
    blocks, threads = math.prod(three(grid, "blocks", kernel.name)), math.prod(three(block, "threads", kernel.name))
    last = (threads - 1) // WARP
    return (0, 0), (0, 1) if last else (min(1, blocks - 1), 0), (blocks - 1, last)


def look(kernel: Kernel, grid: Any, block: Any, args: Sequence[Any], warps: Sequence[Any], most: int) -> Look:
    """Follow these warps, each a pair of block and warp, for so many steps. The arrays are as before afterwards.

    Raises `ValueError` for a warp that isn't there, and what the launch raises, unless that's a race.
    """
    new = functools.partial(Launch, kernel, kernel._device_of(args), grid, block, args)
    again, race = Repeatable(new, kernel.source.parameters, args), None
    with kernel._lock:
        launch = new()
        launch.watched = -1, -1  # what `kernel.watched` would print isn't asked for
        for pair in warps:
            Trace(launch, *pair)  # raises
        try:
            launch.run()
        except DataRace as found:
            race = found
        finally:
            again.put_back()
        seen = [_seen(again, seed, warps, most, race is not None) for seed in [None, *range(_SEEDS * bool(race))]]
    return _compared(kernel.source, race, [seen[0], *(each for each in seen[1:] if each.outcome)])


def _compared(source: Any, race: DataRace | None, seen: list[Seen]) -> Look:
    """Where the outcomes differ first."""
    for name, first in (seen[0].outcome or {}).items():
        values = np.stack([each.outcome[name] for each in seen if each.outcome])
        for index in np.argwhere((values != first).any(0))[:1]:
            ends = [str(value).removesuffix(".0") for value in values[:, *index]]  # all digits: they may differ late
            other = next((k for k, end in enumerate(ends) if end != ends[0]), 0)
            distinct = tuple(dict.fromkeys([ends[0], ends[other], *ends]))[:_ENDS]
            return Look(source, race, [seen[0], seen[other]], f"{name}[{', '.join(map(str, index))}]", distinct)
    return Look(source, race, seen[:1])


def _seen(again: Repeatable, seed: int | None, warps: Any, most: int, races: bool) -> Seen:
    turns = _Turns(again.new(), seed, warps, most, races)
    try:
        turns.run()
        outcome = again.values() if turns.is_whole else None
    finally:
        again.put_back()
    none = Step(turns.launch.source.first, (), "there's nothing to see of this warp")
    return Seen({pair: eye.steps or [none] for pair, eye in turns.eyes.items()}, outcome)


def _short(number: Any) -> str:
    return f"{number:g}" if isinstance(number, (float, np.floating)) else str(number)


class _Enough(BaseException):
    """All that's looked at has been seen, or it takes too long."""


class _Warp(Warp):
    """A warp that an eye may follow, and whose arrival at a barrier the others see."""

    turns: _Turns

    def __init__(self, turns: _Turns, block: int, own: np.ndarray, shared: dict[Any, Any]) -> None:
        super().__init__(turns, block, own, shared)
        self.has_begun, self.eye = False, turns.eyes.get((block, int(own.argmax()) // WARP))
        if self.eye:
            self.eye.warp = self
            self.watch, self.notes = self.eye, [self.give_way, self.eye.note]  # type: ignore[assignment]

    def give_way(self, *access: Any) -> None:
        self.turns.touches += 1
        if self.turns.touches > _MOST_TOUCHES:
            raise _Enough
        super().give_way(*access)

    @property
    def state(self) -> str:
        return DONE if self.is_done else WAITS if self.is_waiting else READY if self.has_begun else LATER

    def barrier(self, mask: Any, site: Any) -> None:
        self.is_waiting = self.has_begun = True
        if self.eye:
            self.eye.add(site.source, site.line, mask.on, "waits at the barrier", waits=True)
        for eye in self.turns.near:
            eye.another_came()
        super().barrier(mask, site)


class _Turns(Turns):
    warp: Any = _Warp
    blocks: Any

    def __init__(self, launch: Any, seed: int | None, warps: Sequence[Any], most: int, races: bool) -> None:
        super().__init__(launch, seed)
        self.falls_apart = False  # a warp stays whole: there's one to look at
        self.races, self.touches = races, 0
        self.is_whole = races and launch.blocks <= _MOST_BLOCKS  # what the arrays come to, all blocks tell together
        self.blocks = range(launch.blocks) if self.is_whole else sorted({block for block, _ in warps})
        self.eyes = {pair: _Eye(Trace(launch, *pair), most) for pair in warps}
        self.taken: list[Any] = []  # the warps of this block, and those that look at them
        self.near: list[_Eye] = []

    def _take(self, warps: list[Any]) -> None:
        self.taken, self.near = warps, [warp.eye for warp in warps if warp.eye]
        try:
            super()._take(warps)
        except _Enough:
            self.is_whole = False
        self.back = threading.Semaphore(0)  # those that were stopped have released it


class _Eye:
    """Follows one warp: it's told each access, each line and each test, as `Watch` is of a single thread."""

    def __init__(self, trace: Trace, most: int) -> None:
        self.trace, self.most = trace, most
        self.here = slice(trace.warp * WARP, (trace.warp + 1) * WARP)
        self.steps: list[Step] = []
        self.warp: Any = None
        self._wrote: Any = None  # where the latest access wrote

    def add(self, source: Any, line: int, on: Any, said: str, touch: Any = None, part: Any = None, **more: Any) -> None:
        turns = self.warp.turns
        if source.name != turns.launch.source.name:
            return  # inside a function that the kernel calls
        if len(self.steps) == self.most:
            self.steps[-1] = self.steps[-1]._replace(is_cut=True)
            if not turns.races and all(eye.is_cut or eye.warp.is_done for eye in turns.near):
                raise _Enough
            return
        self.warp.has_begun = True
        lanes = tuple(int(lane) for lane in np.ravel(on)[self.here].nonzero()[0])
        self.steps.append(Step(line, lanes, said, touch, part, self._states(), **more))

    @property
    def is_cut(self) -> bool:
        return bool(self.steps) and self.steps[-1].is_cut

    def another_came(self) -> None:
        """A warp has come to the barrier: that's a step of those that wait there already."""
        states, last = self._states(), self.steps[-1:]
        if last and last[0].waits and len(self.steps) < self.most and states != last[0].warps:
            before = [step for step in self.steps[-_ARRIVALS:] if step.waits and step.line == last[0].line]
            self.steps[-1 if len(before) == _ARRIVALS else len(self.steps) :] = [last[0]._replace(warps=states)]

    def _states(self) -> tuple[str, ...]:
        return tuple(warp.state for warp in self.warp.turns.taken)

    def note(self, lanes: Any, mask: Any, part: Any, at: Any, way: int, site: Any) -> None:
        count = len(self.trace)
        self.trace.note(lanes, mask, part, at, way, site)
        if len(self.trace) > count:
            touch, flat = self.trace[-1], part.flat.reshape(-1)
            lane = min(touch.addresses)
            place = touch.addresses[lane] // touch.itemsize
            is_read = touch.way == "read"
            said = f"lane {lane}: {part.named(place)}" + (f" = {_short(flat[place])}" if is_read else "")
            self._wrote = None if is_read else (flat, place)
            self.add(site.source, site.line, mask.on, said, touch, part)

    def after(self, node: Any, source: Any, lanes: Any, mask: Any, variables: dict[str, Any]) -> None:
        line, last = source.line(node), self.steps[-1] if self.steps else None
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", node)
        names = [part.id for part in ast.walk(target) if is_stored(part)]
        slots = {name: variables[name].slot for name in names if isinstance(variables[name].type, np.dtype)}
        result = "; ".join(f"{name} = {self._numbers(lanes.held[slot].value)}" for name, slot in slots.items())
        if self.is_cut or last is None or last.touch is None or last.line != line:
            if result or isinstance(node, ast.Return):
                self.add(source, line, mask.on, result or "done: these lanes leave")
        elif self._wrote:
            flat, place = self._wrote
            self.steps[-1], self._wrote = last._replace(said=f"{last.said} = {_short(flat[place])}"), None
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
        values = [_short(x) for x in np.broadcast_to(value, (1, self.warp.width))[0, self.here]]
        return values[0] if len(set(values)) == 1 else f"{', '.join(values[:3])}, … {values[-1]}"
