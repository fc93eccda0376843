"""What notebook 03, gradients and training, uses: from the kit, from `draw`, and what only this lesson has."""

from .. import answer, check, expect_error, guess, start, todo
from ..draw.falling import falling
from .pictures import balls

__all__ = ["answer", "balls", "check", "expect_error", "falling", "guess", "start", "todo"]
