"""CuPy's `cupyx.scipy.signal`: SciPy computes it. The table says which functions there are."""

from ....surface import lister
from ..bridge import finder
from .filters import COMPUTES
from .wavelets import COMPUTES as WAVELETS
from .wavelets import cwt  # noqa: F401

__getattr__ = finder(__name__, "scipy.signal", COMPUTES | WAVELETS)
__dir__ = lister(__name__)
