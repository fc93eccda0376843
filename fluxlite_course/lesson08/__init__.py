"""What notebook 08, inside a GPU, uses: from the kit, and what only this lesson has."""

from .. import answer, check, expect_error, guess, start, todo
from .halves import by_halves
from .loss_map import map_of_losses
from .many_networks import in_python, networks, on_one_core, train_all, wider
from .microscopes import microscope
from .pictures import chip

__all__ = ["answer", "by_halves", "check", "chip", "expect_error", "guess", "in_python", "map_of_losses", "microscope",
           "networks", "on_one_core", "start", "todo", "train_all", "wider"]  # fmt: skip
