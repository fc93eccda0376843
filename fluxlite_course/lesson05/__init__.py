"""What notebook 05, waiting for the GPU, uses: from the kit, from `draw`, and what only this lesson has."""

from .. import answer, check, crossing, expect_error, guess, start, todo
from ..scenes.timeline import timeline

__all__ = ["answer", "check", "crossing", "expect_error", "guess", "start", "timeline", "todo"]
