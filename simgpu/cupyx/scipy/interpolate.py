"""CuPy's `cupyx.scipy.interpolate`: SciPy computes it. The table says which functions there are."""

from ...surface import lister
from .bridge import finder

__getattr__ = finder(__name__, "scipy.interpolate")
__dir__ = lister(__name__)
