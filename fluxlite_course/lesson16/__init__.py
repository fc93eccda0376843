"""What notebook 16, coming from Flux, uses: from the kit, from `draw`, and what only this lesson has."""

from .. import check, expect_error, guess, start, todo
from ..draw import plots, show
from .pictures import decision

__all__ = ["check", "decision", "expect_error", "guess", "plots", "show", "start", "todo"]
