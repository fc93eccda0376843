"""CuPy's `cupy.linalg`: products, decompositions, norms and equations, for arrays on a GPU."""

from .functions import within

__getattr__ = within(__name__)
