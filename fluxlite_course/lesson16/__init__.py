"""What notebook 16, which backend, uses: from the kit, from `draw`, and what only this lesson has."""

from .. import answer, check, expect_error, guess, start, todo
from .pictures import decision

__all__ = ["answer", "check", "decision", "expect_error", "guess", "start", "todo"]
