"""CuPy's `cuda`: devices, streams, events and memory pools, over the simulated GPU's own clocks and memory."""

import contextlib
from types import SimpleNamespace
from typing import Any

from ..device import Card
from ..differing import is_available  # noqa: F401
from ..words import Missing
from . import memory, runtime, stream  # noqa: F401
from .memory import *  # noqa: F403
from .stream import Event, Stream, get_current_stream, get_elapsed_time  # noqa: F401


class _Cards(type):
    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Card)


class Device(metaclass=_Cards):
    """The simulated card with this number, or the current one. Raises `CUDARuntimeError` if there's no such card.

    >>> Device(0).id, Device().compute_capability, Device().mem_info[1]
    (0, '75', 17179869184)
    """

    def __new__(cls, device: Any = None) -> Any:
        return runtime.card(device)


get_device_id = runtime.getDevice
device = SimpleNamespace(
    Device=Device, get_device_id=get_device_id, get_compute_capability=lambda: runtime.card().compute_capability
)
# Marks for NVIDIA's profiler, which isn't there to listen.
nvtx = SimpleNamespace(available=True, **dict.fromkeys(("RangePush", "RangePop", "Mark"), lambda *words: None))
profile = contextlib.nullcontext


def __getattr__(name: str) -> Any:
    raise Missing(f"cuda.{name} isn't simulated: there's no memory with addresses, no C and no CUDA library here")
