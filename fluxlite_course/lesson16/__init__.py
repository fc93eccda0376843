"""What notebook 10, which backend, uses: from the kit, from `draw`, and what only this lesson has."""

from ..kit.exercises import check, todo
from ..kit.expecting import expect_error
from ..kit.guesses import answer, guess
from ..kit.starting import start
from .pictures import decision

__all__ = [
    "answer", "check", "decision", "expect_error", "guess", "start", "todo",
]  # fmt: skip
