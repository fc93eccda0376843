"""What notebook 16, coming from Flux, uses: from the kit, from `draw`, and what only this lesson has."""

from .. import check, expect_error, guess, start, todo
from ..draw import plots, show
from .pictures import decision
from .processes import elsewhere, fresh

__all__ = ["check", "decision", "elsewhere", "expect_error", "fresh", "guess", "plots", "show", "start", "todo"]
