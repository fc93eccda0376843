"""CuPy's `cupy._core`: what other projects take from it, though its name says that it's CuPy's own."""

from typing import Any

from .. import functions, surface
from ..raw import RawKernel, RawModule  # noqa: F401
from ..words import word_set
from . import _kernel, _routines_indexing, _scalar, core, internal  # noqa: F401
from ._kernel import ElementwiseKernel, ReductionKernel, ufunc  # noqa: F401
from .core import elementwise_copy, ndarray  # noqa: F401

# Those that are in `cupy`, too.
_PUBLIC = word_set("""
    absolute add angle array array_split ascontiguousarray asfortranarray bitwise_and bitwise_count bitwise_or
    bitwise_xor broadcast broadcast_to conjugate divide divmod dot equal floor_divide fromDlpack greater greater_equal
    invert left_shift less less_equal matmul moveaxis multiply nanmax nanmin negative not_equal positive power remainder
    right_shift rollaxis size sqrt subtract true_divide
""")


def _find(name: str) -> Any:
    if name in _PUBLIC:
        return functions.get(name)
    raise surface.attribute_error(__name__, name)


__getattr__ = surface.getter(__name__, _find)
__dir__ = surface.lister(__name__)
