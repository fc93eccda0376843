"""The derivatives that a network seldom needs. They're loaded when one is asked for: see `find` in `rules.py`."""

from . import keywords, linear_algebra, pieces, sequences, statistics

__all__ = ["keywords", "linear_algebra", "pieces", "sequences", "statistics"]
