"""What notebook 08, inside a GPU, uses: from the kit, and what only this lesson has."""

from .. import answer, check, expect_error, guess, start, todo
from .many_networks import map_of_losses, networks, on_one_core, wider
from .microscopes import microscope
from .pictures import chip

__all__ = ["answer", "check", "chip", "expect_error", "guess", "map_of_losses", "microscope", "networks",
           "on_one_core", "start", "todo", "wider"]  # fmt: skip
