"""What a card has for threads: how many fit, how fast its clock is, and how long each kind of instruction takes.

Each latency comes three times: the least that's plausible, the likely one, and the most. Only some figures are
published; the rest are guesses, and say so. A simulated time comes with the range that the guesses leave open.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..presets import CLOCKS

KB = 1024
Range = tuple[float, float, float]


class Card(NamedTuple):
    """One card. Latencies are in cycles, until the same warp can use the result."""

    name: str
    clock: float  # Hz, boost
    threads: int  # a multiprocessor holds at most so many,
    blocks: int  # so many blocks,
    shared: int  # and so many bytes of shared memory
    issue: float  # instructions of a warp that a multiprocessor starts in a cycle: its lanes for float32, by 32
    shared_memory: Range
    level_1: float  # a load that its own multiprocessor has cached
    level_2: float  # one that the card has cached
    far: Range  # from the card's memory
    is_guess: bool = False  # nothing about this card is published here

    def cycles(self, is_one_block: bool) -> np.ndarray:
        """A row for each kind of instruction in `lanes.KINDS`: least, likely, most."""
        # What this launch has touched before is cached: by the same multiprocessor if there's only one block.
        near = (self.level_1, self.level_1 if is_one_block else self.level_2, self.level_2)
        return np.array([OPERATION, FUNCTION, self.shared_memory, near, self.far, ATOMIC, BARRIER, SHUFFLE])


# An operation takes 4 cycles on Volta and all later ones: Jia et al., 2018 (arXiv 1804.06826), and the two below.
# Guesses: two operations that don't need each other overlap, so 2; addresses take a second one, so 6.
OPERATION: Range = (2, 4, 6)
# Guesses, all of them: tanh, exp, division, square root; atomics that nobody else waits for; a barrier; a shuffle.
FUNCTION: Range = (20, 40, 80)
ATOMIC: Range = (100, 300, 600)
BARRIER: Range = (10, 30, 50)
SHUFFLE: Range = (10, 23, 30)
# Guesses: how many cycles an atomic takes while others wait for the same element; instructions that the compiler makes
# of one in the text; bytes in a cycle that a multiprocessor gets from the card's cache (1,270 GB/s on a T4, Jia 2019).
QUEUE: Range = (0.25, 1, 4)
COMPILED: Range = (0.5, 1, 2)
LEVEL_2_BYTES = 20

# Threads, blocks and shared memory of a multiprocessor: CUDA C++ Programming Guide, technical specifications per
# compute capability (7.5; 8.0; 8.9; 9.0). Clocks, in `cards.toml`: the makers' boost clocks, from the pages named
# there.
# Latencies, the likely one of each: Turing from Jia et al., 2019 (arXiv 1903.07486): shared 19, level 1 32, level 2
# 188, memory 296. Ampere, Ada and Hopper from Luo et al., 2024 (arXiv 2402.13499), rounded. The least and the most of
# each are guesses: loads overlap, or miss the table of addresses.
_ARCHITECTURES: dict[str, tuple[int, int, int, int, Range, int, int, Range]] = {
    "Turing": (1024, 16, 64 * KB, 2, (10, 19, 25), 32, 188, (150, 296, 600)),
    "Ampere": (2048, 32, 164 * KB, 2, (14, 29, 36), 38, 260, (230, 470, 900)),
    "Ada": (1536, 24, 100 * KB, 4, (15, 30, 38), 43, 270, (270, 540, 1000)),
    "Hopper": (2048, 32, 228 * KB, 4, (14, 29, 36), 41, 260, (240, 480, 900)),
}


def card_of(preset: Any) -> Card:
    """What a preset's card has for threads. For one that isn't listed, it's guessed to be like a T4."""
    clock, architecture = CLOCKS.get(preset.name, CLOCKS["NVIDIA T4"])
    return Card(preset.name, clock, *_ARCHITECTURES[architecture], preset.name not in CLOCKS)
