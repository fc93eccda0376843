"""What notebooks 02 and 03, models and your own model, use: from the kit, from `draw`, and their own."""

from .. import answer, check, expect_error, guess, start, todo
from .pictures import trees

__all__ = ["answer", "check", "expect_error", "guess", "start", "todo", "trees"]
