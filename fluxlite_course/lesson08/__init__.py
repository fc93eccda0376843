"""What notebook 14, inside a GPU, uses: from the kit, from `draw`, and what only this lesson has."""

from .. import answer, check, crossing, expect_error, guess, sine_wave, start, todo
from .pictures import chip, compared, halving, without_barrier
from .warps import warp, warp_picture

__all__ = [
    "answer", "check", "chip", "compared", "crossing", "expect_error", "guess", "halving", "sine_wave", "start", "todo",
    "warp", "warp_picture", "without_barrier",
]  # fmt: skip
