"""CuPy's `cupyx.scipy.spatial.distance`: SciPy computes it. The table says which functions there are."""

from ....surface import lister
from ..bridge import finder

__getattr__ = finder(__name__, "scipy.spatial.distance")
__dir__ = lister(__name__)
