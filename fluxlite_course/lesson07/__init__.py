"""What notebook 07, making the GPU win, uses: from the kit, the network of lesson 04, and what only this lesson has."""

from .. import check, expect_error, guess, start, todo
from ..scenes.receipts import lanes
from ..sine_wave import problem, step, training_step
from .my_report import report
from .pictures import crossing_lines, wave_lanes

__all__ = [
    "check",
    "crossing_lines",
    "expect_error",
    "guess",
    "lanes",
    "problem",
    "report",
    "start",
    "step",
    "todo",
    "training_step",
    "wave_lanes",
]
