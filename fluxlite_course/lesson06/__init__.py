"""What notebook 06, CPU against GPU, uses: from the kit, from `draw`, and what only this lesson has."""

from .. import answer, bench, check, crossing, crossover, expect_error, guess, sine_wave, start, todo
from ..draw import plots, show
from .explorer import crossover_explorer
from .pictures import phases_figure, program_phases, time_bars

__all__ = [
    "answer", "bench", "check", "crossing", "crossover", "crossover_explorer", "expect_error", "guess", "phases_figure",
    "plots", "program_phases", "show", "sine_wave", "start", "time_bars", "todo",
]  # fmt: skip
