"""What notebook 13, saving and sharing, uses: from the kit, from `draw`, and what only this lesson has."""

from .. import answer, check, digits, expect_error, guess, start, todo
from .files import elsewhere, inside

__all__ = ["answer", "check", "digits", "elsewhere", "expect_error", "guess", "inside", "start", "todo"]
