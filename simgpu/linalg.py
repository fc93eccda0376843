"""CuPy's `cupy.linalg`: products, decompositions, norms and equations, for arrays on a GPU."""

from .functions import within
from .surface import lister

__getattr__ = within(__name__)
__dir__ = lister(__name__)
