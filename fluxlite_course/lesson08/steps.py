"""What some warps of a launch do, step by step, while the warps of a block take turns: the microscope draws it."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fluxlite.cuda.jit import DataRace, Kernel
from fluxlite.words import many
from simgpu.jit.launch import three
from simgpu.jit.orders import Repeatable, Turns, Warp
from simgpu.jit.source import is_stored
from simgpu.jit.tracing import WARP, Touch, Trace

_SEEDS, _ENDS = 10, 4  # how many other orders a racing launch runs in, and how many of its ends we tell
_MOST_THREADS = 4096  # of a racing launch that runs again


class Step(NamedTuple):
    """What one warp does at one moment."""

    line: int
    on: tuple[int, ...]  # the lanes that take part
    said: str
    touch: Touch | None = None
    part: Any = None  # the memory that it touches
    waiting: tuple[bool, ...] = ()  # at a barrier: which warps of the block have come


class Look(NamedTuple):
    """A kernel's text, each warp's steps, one more than asked for if it goes on, and what a race comes to."""

    source: Any
    steps: dict[tuple[int, int], list[Step]]
    ends: str = ""


def some_warps(kernel: Kernel, grid: Any, block: Any) -> tuple[tuple[int, int], ...]:
    """The first two, and the very last, where guards matter."""
    blocks, threads = math.prod(three(grid, "blocks", kernel.name)), math.prod(three(block, "threads", kernel.name))
    last = (threads - 1) // WARP
    return (0, 0), (0, 1) if last else (min(1, blocks - 1), 0), (blocks - 1, last)


def look(
    kernel: Kernel, grid: Any, block: Any, args: Sequence[Any], warps: Sequence[Any], most: int, shared_mem: int = 0
) -> Look:
    """Follow these warps, each a pair of block and warp, for so many steps. Afterwards, the arrays are as before.

    Raises `ValueError` for a warp that isn't there, and what the launch raises, unless that's a race.
    """
    again, ends = Repeatable(kernel, kernel.device_of(args), grid, block, args, shared_mem), ""
    with kernel.lock:
        launch = again.new()
        eyes = {pair: _Eye(Trace(launch, *pair), launch.source, most) for pair in warps}
        try:
            launch.run()
        except DataRace:
            again.put_back()
            ends = _ends(again) if launch.blocks * launch.threads <= _MOST_THREADS else ""
        again.put_back()
        _Turns(again.new(), eyes).run()
        again.put_back()
    none = Step(kernel.source.first, (), "there's nothing to see of this warp")
    return Look(kernel.source, {pair: eye.steps or [none] for pair, eye in eyes.items()}, ends)


def _ends(again: Repeatable) -> str:
    """Which element differs if the warps run in other orders, and what it comes to."""
    found = [again.outcome(seed) for seed in (None, *range(_SEEDS))]
    found = [outcome for outcome in found if isinstance(outcome, dict)]  # otherwise it's an error's text
    for name in again.arrays:
        values = np.stack([outcome[name] for outcome in found])
        for index in np.argwhere((values != values[0]).any(0))[:1]:
            first, *others = dict.fromkeys(f"{value:.12g}" for value in values[:, *index])
            where = f"{name}[{', '.join(map(str, index))}]"
            return f"A race: {where} ends as {first}. In other orders: {', '.join(others[:_ENDS])}."
    return ""


class _Warp(Warp):
    """A warp that an eye may follow, and whose arrival at a barrier the others see."""

    turns: _Turns

    def __init__(self, turns: _Turns, block: int, own: np.ndarray, shared: dict[Any, Any]) -> None:
        super().__init__(turns, block, own, shared)
        if eye := turns.eyes.get((block, int(own.argmax()) // WARP)):
            self.watch, self.notes = eye, [eye.note]  # type: ignore[assignment]

    def barrier(self, mask: Any, site: Any) -> None:
        self.is_waiting = True
        waiting = tuple(warp.is_waiting for warp in self.turns.taken)
        for warp in self.turns.taken:
            if warp.watch and warp.is_waiting:
                warp.watch.waits(site, mask if warp is self else None, waiting)
        super().barrier(mask, site)


class _Turns(Turns):
    """The warps of a block in order, each up to the next barrier."""

    warp: Any = _Warp
    blocks: Any

    def __init__(self, launch: Any, eyes: dict[tuple[int, int], _Eye]) -> None:
        super().__init__(launch, seed=None)
        self.eyes, self.blocks = eyes, sorted({block for block, _ in eyes})
        self.taken: list[Any] = []  # the warps of this block

    def _take(self, warps: list[Any]) -> None:
        self.taken = warps
        super()._take(warps)


class _Eye:
    """Follows one warp: the simulated GPU tells it each access, each line and each test, as it tells `Watch`."""

    def __init__(self, trace: Trace, source: Any, most: int) -> None:
        self.trace, self.source, self.most = trace, source, most
        self.here = slice(trace.warp * WARP, (trace.warp + 1) * WARP)
        self.steps: list[Step] = []
        self.wrote: Any = None  # where the latest access wrote

    def add(self, source: Any, line: int, on: Any, said: str, *more: Any) -> None:
        if source is self.source and len(self.steps) <= self.most:  # not inside a function that the kernel calls
            lanes = tuple(int(lane) for lane in np.ravel(on)[self.here].nonzero()[0])
            self.steps.append(Step(line, lanes, said, *more))

    def waits(self, site: Any, mask: Any, waiting: tuple[bool, ...]) -> None:
        """This warp comes to a barrier, or another one does: of the others, the first and the last get a step."""
        if mask:
            self.add(site.source, site.line, mask.on, "waits at the barrier", None, None, waiting)
        elif self.steps and (last := self.steps[-1]).waiting:
            if len(self.steps) > 1 and self.steps[-2].waiting and self.steps[-2].line == last.line:
                self.steps.pop()
            self.steps.append(last._replace(waiting=waiting))

    def note(self, lanes: Any, mask: Any, part: Any, at: Any, way: int, site: Any) -> None:
        count = len(self.trace)
        self.trace.note(lanes, mask, part, at, way, site)
        for touch in self.trace[count:]:
            flat, first = part.flat.reshape(-1), min(touch.addresses)
            place = touch.addresses[first] // touch.itemsize
            who, said = _who(touch, first), part.element_text(place)
            self.wrote = (flat, place) if touch.way != "read" else None
            said = f"{who}: {said}{'' if self.wrote else f' = {flat[place]:g}'}"
            self.add(site.source, site.line, mask.on, said, touch, part)

    def note_line(self, node: Any, source: Any, lanes: Any, mask: Any, variables: dict[str, Any]) -> None:
        """A line is done: what it wrote is there now, and its names have their numbers."""
        if self.wrote and self.steps and self.steps[-1].touch is self.trace[-1]:
            flat, place = self.wrote
            self.steps[-1] = self.steps[-1]._replace(said=f"{self.steps[-1].said} = {flat[place]:g}")
        self.wrote = None
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", node)
        names = [part.id for part in ast.walk(target) if is_stored(part)]
        slots = {name: variables[name].slot for name in names if isinstance(variables[name].type, np.dtype)}
        said = "; ".join(f"{name} = {self._numbers(lanes.held[slot].value)}" for name, slot in slots.items())
        if said or isinstance(node, ast.Return):
            self.add(source, source.line(node), mask.on, said or "done: these lanes leave")

    def note_test(self, node: Any, source: Any, lanes: Any, mask: Any, seen: Any) -> None:
        yes = np.broadcast_to(seen, (1, mask.on.shape[1])) & mask.on
        there, count = (int(np.count_nonzero(on[0, self.here])) for on in (mask.on, yes))
        said = f"{'yes' if count else 'no'} in all {there} lanes"
        if 0 < count < there:
            said = f"yes in {many(count, 'lane')}, no in {there - count}: those sit out"
        self.add(source, source.line(node), yes if count else mask.on, said)

    def _numbers(self, value: Any) -> str:
        """What the lanes have of a value: one number, or the first ones and the last."""
        values = [f"{x:g}" for x in np.ravel(value)[self.here if np.size(value) > 1 else slice(1)]]
        return values[0] if len(set(values)) == 1 else f"{', '.join(values[:3])}, … {values[-1]}"


def _who(touch: Touch, first: int) -> str:
    """Whose number is at the place of the lane `first` after this access, if several lanes go there."""
    there = [lane for lane, at in touch.addresses.items() if at == touch.addresses[first]]
    if touch.way == "change" and len(there) > 1:
        return many(len(there), "lane")  # each of them adds
    if touch.way == "write":
        return f"lane {max(there)}"  # the last one to write
    return f"lane {first}"
