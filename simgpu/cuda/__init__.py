"""CuPy's `cuda`: devices, streams, events and memory pools, over the simulated GPU's own clocks and memory."""

import contextlib

from ..signatures import is_available  # noqa: F401
from ..surface import getter, lister
from . import compiler, device, graph, memory, nvtx, pinned_memory, profiler, runtime, stream  # noqa: F401
from .compiler import CompileException  # noqa: F401
from .device import Device, get_device_id  # noqa: F401
from .graph import Graph  # noqa: F401
from .memory import (  # noqa: F401
    MemoryPool,
    OutOfMemoryError,
    PinnedMemoryPool,
    alloc_pinned_memory,
    get_allocator,
    set_allocator,
    set_pinned_memory_allocator,
    using_allocator,
)
from .stream import Event, ExternalStream, Stream, get_current_stream, get_elapsed_time  # noqa: F401

profile = contextlib.nullcontext
get_local_runtime_version = runtime.runtimeGetVersion


def get_cuda_path() -> None:
    """Where CUDA is installed: nowhere."""
    return None


__getattr__ = getter(__name__)
__dir__ = lister(__name__)
