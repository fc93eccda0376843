"""What notebook 14, inside a GPU, uses: from the kit, from `draw`, and what only this lesson has."""

from .. import crossing, sine_wave
from ..kit.exercises import check, todo
from ..kit.expecting import expect_error
from ..kit.guesses import answer, guess
from ..kit.starting import start
from .pictures import chip, compared, halving, without_barrier
from .warps import warp, warp_picture

__all__ = [
    "answer", "check", "chip", "compared", "crossing", "expect_error", "guess", "halving", "sine_wave", "start",
    "todo", "warp", "warp_picture", "without_barrier",
]  # fmt: skip
