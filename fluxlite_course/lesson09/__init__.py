"""What notebook 09, a network that reads your digit, uses: from the kit, from `draw`, and what only this lesson has."""

from .. import answer, check, digits, expect_error, guess, start, todo
from ..draw import confusion, digit_row
from .digit_pad import Reading, draw, trained_network
from .pictures import filters_at_work, worst_mistakes

__all__ = [
    "Reading", "answer", "check", "confusion", "digit_row", "digits", "draw", "expect_error", "filters_at_work",
    "guess", "start", "todo", "trained_network", "worst_mistakes",
]  # fmt: skip
