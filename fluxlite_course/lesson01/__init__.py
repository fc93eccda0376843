"""What notebook 01, arrays on a GPU, uses: from the kit, from `draw`, and what only this lesson has."""

from ..draw import boxes
from ..kit.exercises import check, todo
from ..kit.expecting import expect_error
from ..kit.guesses import answer, guess
from ..kit.starting import start
from .pictures import copy_time, copy_times

__all__ = [
    "answer", "boxes", "check", "copy_time", "copy_times", "expect_error", "guess", "start", "todo",
]  # fmt: skip
