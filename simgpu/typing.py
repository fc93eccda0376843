"""CuPy's `cupy.typing`: what type hints say of arrays and their types."""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NBitBase  # noqa: F401

from .arrays import SimulatedArray
from .surface import getter, lister

_Number = TypeVar("_Number", bound=np.generic, covariant=True)
NDArray = SimulatedArray[Any, np.dtype[_Number]]  # type: ignore[type-arg,misc]

__getattr__ = getter(__name__)
__dir__ = lister(__name__)
