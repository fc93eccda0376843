"""What notebook 07, making the GPU win, uses: from the kit, from `draw`, and what only this lesson has."""

from .. import answer, check, crossing, expect_error, guess, start, todo
from .my_report import report
from .pictures import both_sides, crossing_lines

__all__ = [
    "answer", "both_sides", "check", "crossing", "crossing_lines", "expect_error", "guess", "report",
    "start", "todo",
]  # fmt: skip
