"""What several lessons draw with: curves and images, each with a sentence that says what's in it."""

from .mistakes import confusion
from .pictures import BLUE, GREEN, GREY, ORANGE, Picture, falling, look, plots, projector, show

__all__ = ["BLUE", "GREEN", "GREY", "ORANGE", "Picture", "confusion", "falling", "look", "plots", "projector", "show"]
