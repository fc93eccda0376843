"""Data in batches: what counts as data, loaders that shuffle it, and loaders that move it to a GPU."""

from .loader import CuIterator, DataLoader, MovedLoader
from .observations import batch, getobs, kfolds, mapobs, numobs, shuffleobs, splitobs, unbatch

__all__ = [
    "CuIterator", "DataLoader", "MovedLoader", "batch", "getobs", "kfolds", "mapobs", "numobs", "shuffleobs",
    "splitobs", "unbatch",
]  # fmt: skip
