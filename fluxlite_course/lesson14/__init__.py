"""What notebook 13, under the hood, uses: from the kit, from `draw`, and what only this lesson has."""

from ..kit.exercises import check, todo
from ..kit.expecting import expect_error
from ..kit.guesses import answer, guess
from ..kit.starting import start
from .tape import growing_tape

__all__ = [
    "answer", "check", "expect_error", "growing_tape", "guess", "start", "todo",
]  # fmt: skip
