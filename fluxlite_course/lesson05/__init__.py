"""What notebook 06, waiting for the GPU, uses: from the kit, from `draw`, and what only this lesson has."""

from .. import crossing
from ..draw import timeline
from ..kit.exercises import check, todo
from ..kit.expecting import expect_error
from ..kit.guesses import answer, guess
from ..kit.starting import start
from .pictures import order_at, orders

__all__ = [
    "answer", "check", "crossing", "expect_error", "guess", "order_at", "orders", "start", "timeline", "todo",
]  # fmt: skip
