"""What notebook 05, waiting for the GPU, uses: from the kit, from `scenes`, and what only this lesson has."""

from .. import check, expect_error, guess, start, todo
from ..scenes.receipts import lanes
from .stopwatch import matrix, since

__all__ = ["check", "expect_error", "guess", "lanes", "matrix", "since", "start", "todo"]
