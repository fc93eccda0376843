"""The derivatives that a network seldom needs. They're loaded when one is asked for: see `load_rarer` in `rules.py`."""

from . import elementwise, keywords, linear_algebra, pieces, products, sequences, shaping, statistics

__all__ = ["elementwise", "keywords", "linear_algebra", "pieces", "products", "sequences", "shaping", "statistics"]
