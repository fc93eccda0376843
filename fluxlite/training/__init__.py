"""`train`: the loop over epochs and batches, how it stops, and how it goes on."""

from .callbacks import early_stopping, patience, plateau, throttle
from .loop import History, NotFinite, train

__all__ = ["History", "NotFinite", "early_stopping", "patience", "plateau", "throttle", "train"]
