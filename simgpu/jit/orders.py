"""A launch whose warps run one at a time, in a random order, and not in step. It shows what a data race does.

A warp goes on to the next barrier or, with some seeds, gives way between two accesses of memory. With some seeds it
also falls apart into two, as its threads may since Volta. It has to stop in the middle of the kernel, so what it does
is a generator that yields there (`Waiting` in `values.py`). Python's threads could stop, too, but not every platform
can start one.
"""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..memory import Stored
from .errors import DataRace, KernelError
from .lanes import WARP, Lanes, Mask
from .launch import Launch

GIVES_WAY = (0.0, 0.0, 0.2, 0.5)  # how likely, between two accesses: each seed draws one of these


class Warp(Lanes):
    """One warp of a block, or some threads of it, which go their own way until a barrier."""

    finds_races = False
    takes_turns = True

    def __init__(self, turns: "Turns", block: int, own: np.ndarray, shared: dict[Any, Any]) -> None:
        super().__init__(turns.launch, block, 1)
        self.top = self.mask(self.top.on & own)
        self.going = self.top.on
        self.alive = self.top.count
        self.shared = shared
        self.turns = turns
        self.rng = turns.rng
        self.gives_way = turns.gives_way
        self.notes = []
        self.is_waiting = self.is_done = False
        self._steps = turns.launch.steps(self)

    def go_on(self) -> None:
        """Go on until another warp may come first, or to the end."""
        try:
            next(self._steps)
        except StopIteration:
            self.is_done = True

    def barrier(self, mask: Mask, site: Any) -> None:
        self.check_barrier(mask, site)
        self.is_waiting = True


class Turns:
    """Decides which block is next, and which of its warps."""

    warp = Warp

    def __init__(self, launch: Any, seed: int | None) -> None:
        self.launch = launch
        self.blocks = range(launch.blocks)
        self.gives_way = 0.0
        self.falls_apart = False
        self.rng: Any = None if seed is None else np.random.default_rng(seed)
        if self.rng:  # otherwise they come in order
            self.gives_way = float(self.rng.choice(GIVES_WAY))
            self.falls_apart = not launch.program.needs_warps and self.rng.random() < 0.5

    def run(self) -> None:
        with np.errstate(all="ignore"):
            for block in self.rng.permutation(self.blocks) if self.rng else self.blocks:
                warp = np.arange(-(-self.launch.threads // WARP) * WARP) // WARP
                if self.falls_apart:  # into two parts, each with a number that no other warp's part has
                    warp = 2 * warp + self.rng.integers(2, size=warp.size)
                together = [warp == each for each in np.unique(warp[: self.launch.threads])]
                shared: dict[Any, Any] = {}
                self._take([self.warp(self, int(block), own, shared) for own in together])

    def _take(self, warps: list[Warp]) -> None:
        """These warps take turns until they're done."""
        left = warps
        while left:
            ready = [warp for warp in left if not warp.is_waiting]
            if not ready:  # all of them have come to the barrier
                ready = left
                for warp in left:
                    warp.is_waiting = False
            warp = ready[int(self.rng.integers(len(ready))) if self.rng else 0]
            warp.go_on()
            left = [warp for warp in left if not warp.is_done]


class Repeatable:
    """A launch that can be repeated, since it remembers what its arrays held."""

    def __init__(
        self, kernel: Any, device: Any, grid: Any, block: Any, args: Sequence[Any], shared_mem: int = 0
    ) -> None:
        self.new = functools.partial(Launch, kernel, device, grid, block, args, shared_mem)
        self.arrays = {name: x for name, x in zip(kernel.source.parameters, args) if isinstance(x, Stored)}
        self.before = self.values()

    def values(self) -> dict[str, np.ndarray]:
        return {name: x.host_values.copy() for name, x in self.arrays.items()}

    def put_back(self) -> None:
        for name, x in self.arrays.items():
            if x.host_values.flags.writeable:
                x.host_values[...] = self.before[name]

    def outcome(self, seed: int | None) -> Any:
        """What this order of the warps leaves in the arrays, or the text of its error. It puts the arrays back."""
        self.put_back()
        try:
            Turns(self.new(), seed).run()
            return self.values()
        except KernelError as error:
            return f"{type(error).__name__} in line {error.line} ({error.what.partition('.')[0]})"
        finally:
            self.put_back()


def _difference(a: Any, b: Any) -> tuple[str, str] | None:
    """Two outcomes in words, where they differ first."""
    if isinstance(a, str) or isinstance(b, str):
        x, y = (outcome if isinstance(outcome, str) else "no error" for outcome in (a, b))
        if x != y:
            return (x, y)
        return None
    for name, x in a.items():
        for index in np.argwhere((x != b[name]) & ~((x != x) & (b[name] != b[name])))[:1]:
            at = tuple(index)
            return f"{name}[{', '.join(map(str, index))}] is {x[at]}", str(b[name][at])
    return None


def run_shuffled(in_step: Any, again: Repeatable, seed: int) -> Any:
    """Run a launch in step, then in another order. Returns the first figures. A `DataRace` tells both outcomes."""
    try:
        figures = in_step.run()
    except DataRace as race:
        seen = f"the same values with the warps in order and in another order (seed {seed}); others may differ"
        if differ := _difference(again.outcome(None), again.outcome(seed)):
            seen = f"{differ[0]} with the warps in order, and {differ[1]} in another order (seed {seed})"
        race.advice += f"\nSeen: {seen}."
        raise
    again.put_back()
    Turns(again.new(), seed).run()
    return figures
