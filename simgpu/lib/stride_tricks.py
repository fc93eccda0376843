"""CuPy's `cupy.lib.stride_tricks`: views by strides."""

from typing import Any

import numpy as np

from ..creation import asarray
from ..dispatch import call
from ..memory import Stored
from ..meta import view_by_strides
from ..surface import getter, lister


def as_strided(x: Any, shape: Any = None, strides: Any = None) -> Any:
    """A view of the memory of `x` with this shape and these steps in bytes. Nothing checks that it stays inside."""
    return x.in_same_memory(view_by_strides(x.host_values, shape, strides))


def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    """All windows of this shape, as a view."""
    if subok or writeable:
        raise NotImplementedError("sliding_window_view on a GPU takes neither subok nor writeable")
    if not isinstance(x, Stored):
        x = asarray(x)
    return call(np.lib.stride_tricks.sliding_window_view, (x, window_shape, axis), {}, x.device)


__getattr__ = getter(__name__)
__dir__ = lister(__name__)
