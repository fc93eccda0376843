"""What notebook 01, arrays on a GPU, uses: from the kit, and what only this lesson has."""

from .. import answer, check, expect_error, guess, start, todo
from .pictures import copy_times

__all__ = ["answer", "check", "copy_times", "expect_error", "guess", "start", "todo"]
