"""CuPy's `cupy.linalg`: products, decompositions, norms and equations, for arrays on a GPU."""

from typing import Any

from numpy.linalg import LinAlgError

from .functions import get as _get

__all__ = ["LinAlgError"]


def __getattr__(name: str) -> Any:
    value = globals()[name] = _get("linalg." + name)
    return value
