"""What notebook 00, start here, uses: from the kit, two networks of other lessons, and what only this lesson has."""

from .. import check, guess, start, todo
from ..draw import BLUE, ORANGE, plots, show
from ..lesson09.digit_pad import draw, trained_network
from ..sine_wave import predict, problem, training_step
from .pictures import digits_race, race

__all__ = ["BLUE", "ORANGE", "check", "digits_race", "draw", "guess", "plots", "predict", "problem", "race", "show",
           "start", "todo", "trained_network", "training_step"]  # fmt: skip
