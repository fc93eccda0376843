"""CuPy's `cupy._core._kernel`: kernels in pieces of C."""

from ..functions import ufunc  # noqa: F401
from ..kernels import ElementwiseKernel, ReductionKernel  # noqa: F401
from ..surface import getter, lister

__getattr__ = getter(__name__)
__dir__ = lister(__name__)
