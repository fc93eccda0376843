"""CuPy's `cuda`: devices, streams, events and memory pools, over the simulated GPU's own clocks and memory."""

import contextlib
from types import SimpleNamespace
from typing import Any

from ..differing import is_available  # noqa: F401
from ..rules import names
from ..words import Missing
from . import device, memory, runtime, stream  # noqa: F401
from .device import Device, get_device_id  # noqa: F401
from .memory import *  # noqa: F403
from .stream import Event, Stream, get_current_stream, get_elapsed_time  # noqa: F401

# What CuPy has here besides: what needs addresses, C, or CUDA's libraries.
_MISSING = names("""
    BaseMemory CFunctionAllocator ExternalStream Function Graph ManagedMemory Memory MemoryAsync MemoryAsyncPool
    MemoryHook MemoryPointer Module PinnedMemory PinnedMemoryPointer PythonFunctionAllocator UnownedMemory alloc
    compiler cub cublas cufft curand cusolver cusparse driver function get_cublas_handle jitify malloc_async
    malloc_managed memory_hook memory_hooks nccl nvrtc pinned_memory texture thrust using_allocator
""")
# Marks for NVIDIA's profiler, which doesn't listen here.
nvtx = SimpleNamespace(available=True, **dict.fromkeys(("RangePush", "RangePop", "Mark"), lambda *words: None))
profile = contextlib.nullcontext


def __getattr__(name: str) -> Any:
    if name in _MISSING:
        raise Missing(f"cuda.{name} isn't simulated: there's no memory with addresses, no C and no CUDA library here")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
