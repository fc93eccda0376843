"""The derivatives of NumPy's functions, and of our own primitives: the entries of the table in `rules.py`.

Each file reads like a page of a calculus book. A line makes an operand's gradient from `g`, that of the result `out`.
"""

from ..rules import rule  # imported from here, it adds to the library's own
from . import elementwise, shaping, sums

__all__ = ["elementwise", "shaping", "sums", "rule"]
