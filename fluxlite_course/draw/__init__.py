"""What several lessons draw with: curves and images, each with a sentence that says what's in it."""

from .mistakes import confusion
from .pictures import BLUE, GREEN, GREY, ORANGE, look, plots, projector, show
from .shapes import digit_row
from .two_boxes import host_and_device

__all__ = [
    "BLUE", "GREEN", "GREY", "ORANGE", "confusion", "digit_row", "host_and_device", "look", "plots",
    "projector", "show",
]  # fmt: skip
