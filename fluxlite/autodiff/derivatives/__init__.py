"""The derivatives of NumPy's functions, and of our own primitives: the entries of the table in `rules.py`.

Each file reads like a page of a calculus book. `g` is the gradient that arrives, `out` the function's result; what
is returned is the gradient of one operand.
"""

from ..rules import rule  # here it is entered after the library's own
from . import elementwise, primitives, products, reductions, shaping

__all__ = ["elementwise", "primitives", "products", "reductions", "shaping", "rule"]
