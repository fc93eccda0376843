"""What a launch did, for a receipt: threads, sectors, conflicts, branches, and the time that follows from them.

Each latency has three values: the least that's plausible, the likely one, and the most. Only some are published; the
rest are guesses, and we say so. A simulated time comes with the range that the guesses leave open.
"""

import functools
import math
from collections import Counter, defaultdict
from typing import Any, NamedTuple

import numpy as np

from ..presets import PRESETS, multiprocessor
from ..profile.seconds import duration
from ..words import many
from .lanes import KINDS, WARP
from .memory import SECTOR

FLOOR = "the least that any kernel takes"
Range = tuple[float, float, float]


class Card(NamedTuple):
    """What a card has for threads. Latencies are in cycles, until the same warp can use the result."""

    name: str
    clock: float  # Hz, boost
    threads: int  # the most that a multiprocessor holds
    blocks: int  # likewise
    shared: int  # bytes of shared memory in a multiprocessor
    issue: float  # instructions of warps that a multiprocessor starts in a cycle: its float32 lanes / 32
    shared_memory: Range
    level_1: float  # a load from its multiprocessor's own cache
    level_2: float  # from the card's cache
    far: Range  # from the card's memory
    is_guess: bool = False  # we have no published figures for this card

    def cycles(self, is_one_block: bool) -> np.ndarray:
        """A row for each kind of instruction in `lanes.KINDS`: least, likely, most."""
        # What this launch has touched before is cached: in the same multiprocessor if there's only one block.
        near = (self.level_1, self.level_1 if is_one_block else self.level_2, self.level_2)
        return np.array([OPERATION, FUNCTION, self.shared_memory, near, self.far, ATOMIC, BARRIER, SHUFFLE])


# An operation takes 4 cycles on Volta and all later ones: Jia et al., 2018 (arXiv 1804.06826), and the two below.
# Guesses: independent operations overlap, so 2; addresses take a second one, so 6.
OPERATION: Range = (2, 4, 6)
# All guesses: tanh, exp, division, square root; an atomic that no other one waits for; a barrier; a shuffle.
FUNCTION: Range = (20, 40, 80)
ATOMIC: Range = (100, 300, 600)
BARRIER: Range = (10, 30, 50)
SHUFFLE: Range = (10, 23, 30)
# Guesses: the cycles of an atomic while others wait for the same element; the instructions that a compiler makes of one
# in the text; the bytes that a multiprocessor gets from the card's cache in a cycle (1,270 GB/s on a T4, Jia 2019).
QUEUE: Range = (0.25, 1, 4)
COMPILED: Range = (0.5, 1, 2)
LEVEL_2_BYTES = 20


@functools.cache
def card_of(preset: Any) -> Card:
    """What a preset's card has for threads, from `cards.toml`. If it isn't listed, we guess that it's like a T4."""
    clock, architecture = multiprocessor(preset.name)
    figures: dict[str, Any] = {}
    for name, value in architecture.items():
        if name != "capability":
            figures[name] = tuple(value) if isinstance(value, list) else value
    return Card(preset.name, clock, **figures, is_guess=preset.name not in PRESETS)


class LineFigures(NamedTuple):
    """What one line of a kernel, or of a function that it calls, has cost."""

    function: str
    line: int
    text: str
    requests: int = 0  # by warps
    sectors: int = 0
    used: int = 0  # bytes of the sectors
    conflicts: int = 0

    @property
    def share(self: Any) -> float:
        """How much of the sectors' bytes was used, 0 to 1."""
        if self.sectors:
            return self.used / (self.sectors * SECTOR)
        return 1.0


class Figures:
    """What a launch did. `seconds` is the likely time, `range` the least and the most that the guesses allow.

    It prints as rows, and each has a name here, too:

    - threads: how many ran, in `blocks` and `warps`.
    - sectors: the card's memory comes in pieces of 32 bytes. `share` is how much of them the threads wanted.
    - written: arrays where the kernel wrote some elements and not others, `written["out"]`. You may want that.
    - busiest thread: how often it read and wrote, in the card's memory and in shared memory.
    - bank conflicts: how often lanes of a warp had to take turns at a bank of shared memory.
    - divergent: at how many of its branches a warp had to go both ways.
    - atomics: how many there were, and how many had to queue for the same element.
    - occupancy: the share of the threads that a multiprocessor could hold. It may be less, since we don't know how many
      registers the compiler needs.
    - time: `limit` says what decides it: latency (waiting for one number after the other), bandwidth, instructions,
      atomics in one place, or that no kernel takes less.
    """

    def __init__(self, name: str, grid: tuple[int, ...], block: tuple[int, ...], card: Card) -> None:
        self.name, self.grid, self.block, self.card = name, grid, block, card
        self.blocks, each = math.prod(grid), math.prod(block)
        self.threads, self.warps = self.blocks * each, self.blocks * -(-each // WARP)
        self.branches = self.divergent = self.atomics = self.queue = self.shared_bytes = 0
        self.barriers = 0  # that a block has passed; no row says it
        self.spent = np.zeros(len(KINDS))  # instructions of warps, of each kind
        self.busiest = {"reads": 0, "writes": 0, "shared reads": 0, "shared writes": 0}
        self.costs: dict[tuple[str, int, str], Counter] = defaultdict(Counter)  # by function, line and text
        self.lines: list[LineFigures] = []
        self.written: dict[str, tuple[int, int]] = {}
        self.unique_sectors = self.sectors = self.used = self.conflicts = 0
        self.occupancy = self.resident = 0.0
        self.times: dict[str, tuple[float, ...]] = {}

    share = LineFigures.share

    @property
    def seconds(self) -> float:
        return max(time[1] for time in self.times.values())

    @property
    def range(self) -> tuple[float, float]:
        """The least and the most time that the guesses allow."""
        least, _, most = (max(times) for times in zip(*self.times.values()))
        return least, most

    @property
    def limit(self) -> str:
        return max(self.times, key=lambda name: self.times[name][1])

    def finish(self, preset: Any, cycles: list[np.ndarray]) -> None:
        """Sum up the lines, and find how long each thing takes that could be the slowest. `cycles` are the blocks'."""
        self.lines = [LineFigures(*place, **found) for place, found in sorted(self.costs.items())]  # type: ignore
        for name in ("sectors", "used", "conflicts"):
            setattr(self, name, sum(getattr(line, name) for line in self.lines))
        card, width = self.card, self.warps // self.blocks * WARP
        resident = min(card.blocks, card.threads // width)
        if self.shared_bytes:
            resident = min(resident, card.shared // self.shared_bytes)
        self.resident = resident = max(1, resident)
        self.occupancy = resident * width / card.threads
        busy = min(preset.multiprocessors, self.blocks)
        blocks = np.concatenate(cycles)
        latency = np.maximum(blocks.max(0), blocks.sum(0) / (preset.multiprocessors * resident))
        # Each bank conflict is one more instruction of its warp.
        started = (int(self.spent.sum()) + self.conflicts) * np.array(COMPILED) / (busy * card.issue)
        once, all_of_it = (n * SECTOR / preset.bandwidth for n in (self.unique_sectors, self.sectors))
        cached = self.sectors * SECTOR / (LEVEL_2_BYTES * busy * card.clock)
        self.times = {
            "latency": tuple(latency / card.clock),
            # At best each sector comes once, at worst each time that a warp asks for it. A few multiprocessors can't
            # take as much as the memory can give.
            "bandwidth": (once, max(once, cached), max(all_of_it, cached)),
            "instructions": tuple(started / card.clock),
            "atomics in one place": tuple(self.queue * np.array(QUEUE) / card.clock),
            FLOOR: (preset.floor,) * 3,
        }

    def rows(self) -> list[tuple[str, str]]:
        """What a receipt says about the launch: names and texts."""
        threads = f"{self.threads:,} in {many(self.blocks, 'block')}, {many(self.warps, 'warp')}"
        rows = [("threads", threads), ("sectors", f"{self.sectors:,} of 32 bytes, {self.share:.0%} of them used")]
        if self.written:
            found = [f"{name} {some:,} of {size:,} elements" for name, (some, size) in self.written.items()]
            rows.append(("written", ", ".join(found)))
        seen = [f"{count:,} {name[:-1] if count == 1 else name}" for name, count in self.busiest.items() if count]
        rows.append(("busiest thread", ", ".join(seen) or "touches no memory"))
        if self.conflicts or self.shared_bytes:
            rows.append(("bank conflicts", f"{self.conflicts:,}; {self.shared_bytes:,} bytes of shared memory a block"))
        rows.append(("divergent", f"{self.divergent:,} of {self.branches:,} branches of a warp"))
        if self.atomics:
            rows.append(("atomics", f"{self.atomics:,}, up to {self.queue:,} on one element"))
        there = many(int(self.resident), "block")
        rows.append(("occupancy", f"{self.occupancy:.0%} of a multiprocessor's threads: {there}"))
        return [*rows, ("time", self.time)]

    @property
    def summary(self) -> str:
        """The most important figures, in one line."""
        counts = (
            (self.conflicts, "bank conflict"), (self.divergent, "divergent branch", "divergent branches"),
            (self.queue, "atomic on one element", "atomics on one element"),
        )  # fmt: skip
        parts = [many(self.threads, "thread"), f"{many(self.sectors, 'sector')}, {self.share:.0%} used"]
        parts += [many(count, *words) for count, *words in counts if count]
        parts += [f"writes {some:,} of {size:,} elements of {name}" for name, (some, size) in self.written.items()]
        return f"{', '.join(parts)}; {duration(self.seconds)} on the card, {self._why}"

    @property
    def _why(self) -> str:
        if self.limit == FLOOR:
            return FLOOR
        return f"by {self.limit}"

    @property
    def time(self) -> str:
        """The likely time and its range, in words."""
        low, high = map(duration, self.range)
        guess = ", its figures guessed" if self.card.is_guess else ""
        more = "" if low == high else f"; the guesses allow {low} to {high}"
        return f"{duration(self.seconds)} simulated ({self.card.name}{guess}), {self._why}{more}"

    def __repr__(self) -> str:
        head = f"kernel {self.name}[{_dim(self.grid)}, {_dim(self.block)}]"
        return "\n".join([head, *(f"  {name:<15} {text}" for name, text in self.rows())])


def _dim(dim: tuple[int, ...]) -> str:
    return str(dim if dim[2] > 1 else dim[:2] if dim[1] > 1 else dim[0])
