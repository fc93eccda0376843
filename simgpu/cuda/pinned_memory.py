"""CuPy's `cupy.cuda.pinned_memory`: here, it's memory like any other."""

from ..surface import getter, lister
from . import runtime  # noqa: F401
from .memory import PinnedMemoryPool, alloc_pinned_memory, set_pinned_memory_allocator  # noqa: F401

__getattr__ = getter(__name__)
__dir__ = lister(__name__)
