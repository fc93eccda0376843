"""What notebook 11, feeding data, uses: from the kit, from `draw`, and what only this lesson has."""

from .. import answer, bench, check, digits, expect_error, guess, start, todo
from ..draw import digit_row

__all__ = ["answer", "bench", "check", "digit_row", "digits", "expect_error", "guess", "start", "todo"]
