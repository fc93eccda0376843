"""Models and training runs in files: `save` and `load`, and what they are made of."""

from .files import FileFormatError
from .saving import load, loadmodel, save
from .states import state

__all__ = ["FileFormatError", "load", "loadmodel", "save", "state"]
