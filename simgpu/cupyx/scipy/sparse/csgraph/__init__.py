"""CuPy's `cupyx.scipy.sparse.csgraph`: graphs, as sparse matrices."""

from .....surface import lister
from ...bridge import finder

__getattr__ = finder(__name__, "scipy.sparse.csgraph")
__dir__ = lister(__name__)
