"""What notebook 08, inside a GPU, uses: from the kit, from `draw`, and what only this lesson has."""

from .. import answer, check, crossing, expect_error, guess, sine_wave, start, todo
from .microscopes import microscope
from .pictures import chip, compared, halving

__all__ = [
    "answer", "check", "chip", "compared", "crossing", "expect_error", "guess", "halving", "microscope", "sine_wave",
    "start", "todo",
]  # fmt: skip
