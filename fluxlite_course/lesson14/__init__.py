"""What notebook 14, under the hood, uses: from the kit, from `draw`, and what only this lesson has."""

from .. import answer, check, expect_error, guess, start, todo
from .pictures import tape

__all__ = ["answer", "check", "expect_error", "guess", "start", "tape", "todo"]
