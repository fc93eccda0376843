"""The derivatives of NumPy's functions, and of our own primitives: the entries of the table in `rules.py`.

Each file reads like a page of a calculus book. `g` is the gradient that arrives, `out` the function's result; what
is returned is the gradient of one operand.
"""

# isort: off
from . import elementwise, primitives, products, reductions, shaping  # the core
from . import keywords, linear_algebra, pieces, sequences, spectra, statistics, windows  # what is needed less often
# isort: on

__all__ = [
    "elementwise", "keywords", "linear_algebra", "pieces", "primitives", "products", "reductions", "sequences",
    "shaping", "spectra", "statistics", "windows",
]  # fmt: skip
