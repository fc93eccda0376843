"""What notebook 14, under the hood, uses: from the kit, and what only this lesson has."""

from .. import answer, check, expect_error, guess, start, todo
from ..sine_wave import problem
from .pictures import tape, wave

__all__ = ["answer", "check", "expect_error", "guess", "problem", "start", "tape", "todo", "wave"]
