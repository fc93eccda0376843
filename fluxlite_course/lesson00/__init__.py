"""What notebook 00, start here, uses: from the kit, from `draw`, and what only this lesson has."""

from .. import check, guess, start, todo
from ..draw import BLUE, ORANGE, host_and_device, plots, show
from .pictures import race

__all__ = [
    "BLUE", "ORANGE", "check", "guess", "host_and_device", "plots", "race", "show", "start",
    "todo",
]  # fmt: skip
