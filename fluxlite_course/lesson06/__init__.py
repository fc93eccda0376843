"""What notebook 07, CPU against GPU, uses: from the kit, from `draw`, and what only this lesson has."""

from .. import crossing, sine_wave
from ..crossing import crossover
from ..draw import plots, show
from ..kit.exercises import check, todo
from ..kit.expecting import expect_error
from ..kit.guesses import answer, guess
from ..kit.starting import start
from ..timing import bench
from .explorer import crossover_explorer
from .pictures import phases_figure, program_phases, time_bars

__all__ = [
    "answer", "bench", "check", "crossing", "crossover", "crossover_explorer", "expect_error", "guess",
    "phases_figure", "plots", "program_phases", "show", "sine_wave", "start", "time_bars", "todo",
]  # fmt: skip
