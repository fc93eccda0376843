"""What notebook 02, models that move, uses: from the kit, and what only this lesson has."""

from .. import answer, check, expect_error, guess, start, todo
from .pictures import functor_switch, leaf_by_leaf

__all__ = ["answer", "check", "expect_error", "functor_switch", "guess", "leaf_by_leaf", "start", "todo"]
