"""CuPy's `cupy.fft`: Fourier transforms, for arrays on a GPU."""

import threading
import warnings
from collections.abc import Callable
from typing import Any

from .device import current
from .functions import get, within
from .surface import lister
from .words import Missing

__getattr__ = within(__name__)
__dir__ = lister(__name__)


class PlanCache:
    """Plans of transforms that cuFFT keeps, on one card and in one thread. We make none: only the limits are kept."""

    def __init__(self, size: int = 16, memsize: int = -1) -> None:
        self._size, self._memsize = size, memsize

    def get_size(self) -> int:
        return self._size

    def set_size(self, size: int) -> None:
        """How many plans may be kept. -1: any number."""
        self._size = _limit(size)

    def get_memsize(self) -> int:
        return self._memsize

    def set_memsize(self, memsize: int) -> None:
        """How many bytes the plans may take. -1: any number."""
        self._memsize = _limit(memsize)

    def get_curr_size(self) -> int:
        return 0

    def get_curr_memsize(self) -> int:
        return 0

    def clear(self) -> None:
        """Forget all plans: there are none."""

    def get(self, key: Any, default: Any = None) -> Any:
        return default

    def show_info(self) -> None:
        print(self)

    def __repr__(self) -> str:
        size, memsize = ("(unlimited)" if n == -1 else n for n in (self._size, self._memsize))
        enabled = self._size != 0 and self._memsize != 0
        return (
            f"cuFFT plan cache, simulated\ncache enabled? {enabled}\ncurrent / max size   : 0 / {size} (counts)\n"
            f"current / max memsize: 0 / {memsize} (bytes)\nno plans are made here, so none are kept"
        )


def _limit(n: int) -> int:
    if n < -1:
        raise ValueError(f"a limit of the plan cache is a number from 0, or -1 for none, got {n}")
    return n


_caches: dict[tuple[int, int], PlanCache] = {}


def _cache() -> PlanCache:
    """That of the current card and thread."""
    return _caches.setdefault((current().index, threading.get_ident()), PlanCache())


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

    def _nd_planning(self, planned: Any = None) -> Any:
        warnings.warn("CuPy is about to give up enable_nd_planning", DeprecationWarning, 2)
        self._planned = self._planned if planned is None else planned
        return self._planned

    enable_nd_planning = property(_nd_planning, _nd_planning)  # whether transforms along several axes are one
    get_plan_cache = staticmethod(_cache)
    clear_plan_cache = staticmethod(lambda: _cache().clear())
    get_plan_cache_size = staticmethod(lambda: _cache().get_size())
    set_plan_cache_size = staticmethod(lambda size: _cache().set_size(size))
    get_plan_cache_max_memsize = staticmethod(lambda: _cache().get_memsize())
    set_plan_cache_max_memsize = staticmethod(lambda size: _cache().set_memsize(size))
    show_plan_cache_info = staticmethod(lambda: _cache().show_info())
    get_current_callback_manager = staticmethod(lambda: None)  # callbacks aren't simulated
    devices = None

    def __getattr__(self, name: str) -> Any:
        raise Missing(f"cupy.fft.config.{name} isn't simulated")


config = _Config()
