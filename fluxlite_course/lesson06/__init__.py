"""What notebook 06, CPU against GPU, uses: from the kit, and what only this lesson has."""

from .. import answer, check, crossover, guess, sine_wave, start, todo
from .pictures import crossover_explorer, program_phases, time_bars
from .suspects import trial

__all__ = ["answer", "check", "crossover", "crossover_explorer", "guess", "program_phases", "sine_wave", "start",
           "time_bars", "todo", "trial"]  # fmt: skip
