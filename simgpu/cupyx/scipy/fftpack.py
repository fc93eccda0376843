"""CuPy's `cupyx.scipy.fftpack`: Fourier transforms under SciPy's older names."""

from ...surface import lister
from .bridge import finder
from .plans import get_fft_plan  # noqa: F401

__getattr__ = finder(__name__, "scipy.fftpack")
__dir__ = lister(__name__)
