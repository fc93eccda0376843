"""CuPy's `cupyx.scipy.special`: functions of mathematics and statistics, most of them element by element."""

import scipy.special

from ...functions import get
from ...surface import lister
from .bridge import finder

round, sinc = get("round"), get("sinc")  # CuPy's own
# SciPy gave these up.
_OTHERS = {"btdtr": scipy.special.betainc, "btdtri": scipy.special.betaincinv}

__getattr__ = finder(__name__, "scipy.special", _OTHERS)
__dir__ = lister(__name__)
