"""CuPy's `cupy.fft`: Fourier transforms, for arrays on a GPU."""

from typing import Any

from .functions import get as _get


def __getattr__(name: str) -> Any:
    value = globals()[name] = _get("fft." + name)
    return value
