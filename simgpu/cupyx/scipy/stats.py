"""CuPy's `cupyx.scipy.stats`: SciPy computes it. The table says which functions there are."""

from ...surface import lister
from .bridge import finder

__getattr__ = finder(__name__, "scipy.stats")
__dir__ = lister(__name__)
