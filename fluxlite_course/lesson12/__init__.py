"""What notebook 12, several and hidden GPUs, uses: from the kit, from `draw`, and what only this lesson has."""

from .. import answer, check, expect_error, guess, start, todo
from .pictures import busy, cards

__all__ = ["answer", "busy", "cards", "check", "expect_error", "guess", "start", "todo"]
