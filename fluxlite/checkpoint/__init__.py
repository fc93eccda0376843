"""Saving models and training runs in files, with `save` and `load`."""

from .files import FileFormatError
from .saving import load, loadmodel, save
from .states import state

__all__ = ["FileFormatError", "load", "loadmodel", "save", "state"]
