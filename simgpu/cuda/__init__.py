"""CuPy's `cuda`: devices, streams, events and memory pools, over the simulated GPU's own clocks and memory.

>>> import numpy as np
>>> import simgpu as cp
>>> x = cp.asarray(np.ones((1024, 1024), np.float32))
>>> y = x @ x  # the first one loads the kernel
>>> start, end = cp.cuda.Event(), cp.cuda.Event()
>>> start.record()
>>> y = x @ x
>>> end.record()
>>> end.synchronize()
>>> print(f"{cp.cuda.get_elapsed_time(start, end):.2f} ms on a simulated T4")
0.36 ms on a simulated T4
"""

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from ..memory import OutOfMemoryError
from ..rules import names
from ..words import Missing
from . import device, memory, runtime, stream
from .device import Device, get_device_id
from .memory import *  # noqa: F403
from .memory import get_allocator, set_allocator
from .stream import Event, Stream, get_current_stream, get_elapsed_time

__all__ = [
    "Device", "Event", "MemoryPool", "OutOfMemoryError", "PinnedMemoryPool", "Stream", "alloc_pinned_memory", "device",
    "get_allocator", "get_current_stream", "get_device_id", "get_elapsed_time", "is_available", "memory", "nvtx",
    "profile", "profiler", "runtime", "set_allocator", "set_pinned_memory_allocator", "stream", "using_allocator",
]  # fmt: skip

# What CuPy has here besides: what needs addresses, C, or CUDA's libraries.
_MISSING = names("""
    BaseMemory CFunctionAllocator ExternalStream Function Graph ManagedMemory Memory MemoryAsync MemoryAsyncPool
    MemoryHook MemoryPointer Module PinnedMemory PinnedMemoryPointer PythonFunctionAllocator UnownedMemory alloc
    compiler cub cublas cufft curand cusolver cusparse driver function get_cublas_handle jitify malloc_async
    malloc_managed memory_hook memory_hooks nccl nvrtc pinned_memory texture thrust
""")


def is_available() -> bool:
    """Whether there's a GPU: a simulated one always is."""
    return True


def _nothing(*args: Any) -> None:
    """Marks for NVIDIA's profiler, which doesn't listen here."""


nvtx = SimpleNamespace(available=True, RangePush=_nothing, RangePushC=_nothing, RangePop=_nothing, Mark=_nothing)
profiler = SimpleNamespace(start=_nothing, stop=_nothing)
profile = contextlib.nullcontext


@contextlib.contextmanager
def using_allocator(allocator: Any = None) -> Iterator[None]:
    """Another allocator in this block: see `set_allocator`."""
    earlier = get_allocator()
    set_allocator(allocator)
    try:
        yield
    finally:
        set_allocator(earlier)


def __getattr__(name: str) -> Any:
    if name in _MISSING:
        raise Missing(f"cuda.{name} isn't simulated: there's no memory with addresses, no C and no CUDA library here")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
