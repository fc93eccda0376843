"""What several lessons draw with: pictures with words, boxes and arrows, films, a timeline to browse."""

from .mistakes import confusion
from .model_trees import trees
from .pictures import BLUE, GREEN, GREY, ORANGE, look, plots, projector, show
from .shapes import digit_row
from .two_boxes import host_and_device

__all__ = [
    "BLUE", "GREEN", "GREY", "ORANGE", "confusion", "digit_row", "host_and_device", "look", "plots",
    "projector", "show", "trees",
]  # fmt: skip
