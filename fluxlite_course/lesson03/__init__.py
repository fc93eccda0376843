"""What notebook 04, gradients and training, uses: from the kit, from `draw`, and what only this lesson has."""

from .. import answer, check, expect_error, guess, start, todo
from ..draw.falling import falling
from .pictures import ball, balls
from .training_monitor import loss_curve, monitor

__all__ = [
    "answer", "ball", "balls", "check", "expect_error", "falling", "guess", "loss_curve", "monitor", "start", "todo",
]  # fmt: skip
