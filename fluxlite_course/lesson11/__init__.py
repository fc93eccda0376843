"""What notebook 09, feeding data, uses: from the kit, from `draw`, and what only this lesson has."""

from ..data import digits
from ..kit.exercises import check, todo
from ..kit.expecting import expect_error
from ..kit.guesses import answer, guess
from ..kit.starting import start
from ..lesson09.pictures import digit_row
from ..timing import bench
from .pictures import lanes

__all__ = [
    "answer", "bench", "check", "digit_row", "digits", "expect_error", "guess", "lanes", "start", "todo",
]  # fmt: skip
