"""What notebook 09, a network that reads your digit, uses: from the kit, from `draw`, and what only this lesson has."""

from .. import answer, check, digits, expect_error, guess, start, todo
from ..draw import confusion
from .digit_pad import draw, trained_network
from .pictures import slide, worst_mistakes

__all__ = ["answer", "check", "confusion", "digits", "draw", "expect_error", "guess", "slide", "start", "todo",
           "trained_network", "worst_mistakes"]  # fmt: skip
