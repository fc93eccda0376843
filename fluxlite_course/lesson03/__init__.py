"""What notebook 03, how a model learns, uses: from the kit, from `draw`, and what only this lesson has."""

from .. import answer, check, expect_error, guess, start, todo
from ..draw import falling
from .bending import surfaces
from .pictures import balls, passes

__all__ = ["answer", "balls", "check", "expect_error", "falling", "guess", "passes", "start", "surfaces", "todo"]
