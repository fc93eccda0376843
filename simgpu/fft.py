"""CuPy's `cupy.fft`: Fourier transforms, for arrays on a GPU."""

import warnings
from collections.abc import Callable
from typing import Any

from .functions import get, within

__getattr__ = within(__name__)


def _over_axes(name: str, usual: Any) -> Callable:
    """A transform along several axes. Along none, CuPy returns the array itself (fft/_fft.py:236)."""

    def function(a: Any, s: Any = None, axes: Any = usual, norm: Any = None) -> Any:
        if axes is not None and not len(axes):
            return a
        return get(f"fft.{name}")(a, s, axes, norm)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`cupy.fft.{name}`: NumPy's `fft.{name}`, for arrays on a GPU."
    return function


fft2, ifft2 = _over_axes("fft2", (-2, -1)), _over_axes("ifft2", (-2, -1))
fftn, ifftn = _over_axes("fftn", None), _over_axes("ifftn", None)


class _Config:
    """`cupy.fft.config`: how cuFFT plans its work. Here, it changes nothing."""

    use_multi_gpus = False
    _planned = True

    def _planning(self, planned: Any = None) -> Any:
        warnings.warn("CuPy is about to give up enable_nd_planning", DeprecationWarning, 2)
        self._planned = self._planned if planned is None else planned
        return self._planned

    enable_nd_planning = property(_planning, _planning)  # whether transforms along several axes are one


config = _Config()
