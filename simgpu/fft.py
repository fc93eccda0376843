"""CuPy's `cupy.fft`: Fourier transforms, for arrays on a GPU."""

import warnings
from typing import Any

from .functions import within
from .surface import lister

__getattr__ = within(__name__)
__dir__ = lister(__name__)


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
