"""The derivatives that a network seldom needs. They're loaded when one is asked for: see `find` in `rules.py`."""

from . import linear_algebra, pieces, statistics

__all__ = ["linear_algebra", "pieces", "statistics"]
