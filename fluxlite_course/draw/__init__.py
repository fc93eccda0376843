"""What several lessons draw with: pictures with words, boxes and arrows, films, a timeline to browse."""

from .mistakes import confusion
from .pictures import BLUE, GREEN, GREY, ORANGE, look, plots, projector, show
from .shapes import digit_row
from .two_boxes import boxes, host_and_device

__all__ = [
    "BLUE", "GREEN", "GREY", "ORANGE", "boxes", "confusion", "digit_row", "host_and_device", "look", "plots",
    "projector", "show",
]  # fmt: skip
