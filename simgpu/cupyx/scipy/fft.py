"""CuPy's `cupyx.scipy.fft`: Fourier, cosine and sine transforms. ``scipy.fft.set_backend`` takes this module."""

import functools
import sys
from collections.abc import Callable
from typing import Any

import scipy.fft

from ...functions import get
from ...memory import Stored
from ...surface import lister
from .bridge import finder, table
from .plans import get_fft_plan  # noqa: F401

fftfreq, rfftfreq, fftshift, ifftshift = map(get, ("fft.fftfreq", "fft.rfftfreq", "fft.fftshift", "fft.ifftshift"))
__ua_domain__ = "numpy.scipy.fft"


def _by_scipy(computes: Callable) -> Callable:
    """SciPy's function, computed by SciPy itself: while this module is its backend, it would ask us again."""

    @functools.wraps(computes)
    def function(*args: Any, **kwargs: Any) -> Any:
        if (plan := kwargs.pop("plan", None)) is not None:
            if "hfft" in computes.__name__:
                raise NotImplementedError(f"{computes.__name__}: a plan is not yet supported")
            plan.check(args[0] if args else kwargs["x"])
        with scipy.fft.set_backend("scipy", only=True):
            return computes(*args, **kwargs)

    return function


_functions = {
    name: _by_scipy(getattr(scipy.fft, name)) for name in table("fft")["functions"] if hasattr(scipy.fft, name)
}


def __ua_convert__(dispatchables: Any, coerce: bool) -> Any:
    """SciPy asks whether its arguments are ours."""
    values = [x.value for x in dispatchables]
    if all([isinstance(x, Stored) for x in values]):
        return values
    return NotImplemented


def __ua_function__(method: Callable, args: tuple, kwargs: dict) -> Any:
    """SciPy calls one of its functions with arrays that are ours."""
    if method.__name__ not in table("fft")["functions"]:
        return NotImplemented
    kwargs.pop("workers", None)
    return getattr(sys.modules[__name__], method.__name__)(*args, **kwargs)


_find = finder(__name__, "scipy.fft", _functions)


def __getattr__(name: str) -> Any:
    return _find(name)


__dir__ = lister(__name__)
