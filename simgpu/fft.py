"""CuPy's `cupy.fft`: Fourier transforms, for arrays on a GPU."""

import warnings
from typing import Any

from .functions import get as _get


class _Config:
    """`cupy.fft.config`: what says how cuFFT plans its work. Here that changes nothing."""

    use_multi_gpus = False
    _planned = True

    @property
    def enable_nd_planning(self) -> bool:
        """Whether transforms along several axes are planned as one. CuPy is about to give this up."""
        warnings.warn("enable_nd_planning will go", DeprecationWarning, 2)
        return self._planned

    @enable_nd_planning.setter
    def enable_nd_planning(self, value: bool) -> None:
        warnings.warn("enable_nd_planning will go", DeprecationWarning, 2)
        self._planned = value


config = _Config()


def __getattr__(name: str) -> Any:
    value = globals()[name] = _get("fft." + name)
    return value
