"""What notebooks 02 and 03, models and your own model, use: from the kit, from `draw`, and their own."""

from ..draw import show, trees
from ..kit.exercises import check, todo
from ..kit.expecting import expect_error
from ..kit.guesses import answer, guess
from ..kit.starting import start

__all__ = [
    "answer", "check", "expect_error", "guess", "show", "start", "todo", "trees",
]  # fmt: skip
