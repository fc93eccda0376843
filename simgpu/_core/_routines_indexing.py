"""CuPy's `cupy._core._routines_indexing`: where elements aren't 0."""

from typing import Any

import numpy as np

from ..surface import getter, lister

__getattr__ = getter(__name__)
__dir__ = lister(__name__)


def _ndarray_argwhere(self: Any) -> Any:
    """The places of the elements that aren't 0, a row for each."""
    return np.argwhere(self)
