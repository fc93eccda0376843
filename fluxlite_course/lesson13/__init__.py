"""What notebook 12, saving and sharing, uses: from the kit, from `draw`, and what only this lesson has."""

from ..data import digits
from ..kit.exercises import check, todo
from ..kit.expecting import expect_error
from ..kit.guesses import answer, guess
from ..kit.starting import start
from .files import elsewhere, inside

__all__ = [
    "answer", "check", "digits", "elsewhere", "expect_error", "guess", "inside", "start", "todo",
]  # fmt: skip
