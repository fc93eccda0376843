"""fluxlite: learn what a GPU does to a neural network."""

__version__ = "0.1.0"
