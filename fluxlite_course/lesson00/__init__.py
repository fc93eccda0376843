"""What notebook 00, start here, uses: from the kit, from `draw`, and what only this lesson has."""

from .. import check, crossing, guess, start, todo
from ..draw import BLUE, ORANGE, host_and_device, plots, show
from .pictures import race, race_at

__all__ = [
    "BLUE", "ORANGE", "check", "crossing", "guess", "host_and_device", "plots", "race", "race_at", "show", "start",
    "todo",
]  # fmt: skip
