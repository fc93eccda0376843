"""What several lessons draw with: curves and images, each with a sentence that says what's in it."""

from .mistakes import confusion
from .pictures import BLUE, GREEN, GREY, ORANGE, look, plots, projector, show
from .shapes import digit_row

__all__ = ["BLUE", "GREEN", "GREY", "ORANGE", "confusion", "digit_row", "look", "plots", "projector", "show"]
