"""What notebook 00, start here, uses: from the kit, the network of lesson 04, and what only this lesson has."""

from .. import check, guess, start, todo
from ..draw import BLUE, ORANGE, plots, show
from ..sine_wave import predict, problem, training_step
from .pictures import race

__all__ = ["BLUE", "ORANGE", "check", "guess", "plots", "predict", "problem", "race", "show", "start", "todo",
           "training_step"]  # fmt: skip
