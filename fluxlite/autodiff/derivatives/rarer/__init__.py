"""The derivatives that a network seldom needs. They're loaded when one is asked for: see `load_rarer` in `rules.py`."""

from . import elementwise, linear_algebra, shaping, statistics

__all__ = ["elementwise", "linear_algebra", "shaping", "statistics"]
