"""The CUDA.jl names that the guide refers to, for NVIDIA GPUs: ``fluxlite.cuda.devices()``.

During a simulation, all of it but `functional` is about simulated GPUs. Kernels by hand: ``help(fluxlite.cuda.jit)``.
"""

import importlib
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

from ..data.loader import CuIterator
from ..devices.base import Device
from ..devices.named import NVIDIA, cu, get_device, usable
from ..devices.receipts import receipt
from ..devices.scalars import allowscalar
from ..words import check_callable, explained

__all__ = [
    "CuIterator", "allowscalar", "cu", "device", "devices", "functional", "set_device", "sync", "synchronize",
    "time", "time_range", "using",
]  # fmt: skip

functional, devices, device = NVIDIA


@explained()
def set_device(index: int) -> Device:
    """Make this the current device in this thread, so `gpu` moves to it (CUDA.jl: ``device!(i)``)."""
    using(index).use()
    return using(index)


@explained()
def using(index: int) -> Device:
    """Make it the current device inside ``with using(1):``, and then the earlier one (CUDA.jl: ``device!(f, i)``)."""
    return get_device(device().backend, index)


def synchronize() -> None:
    """Wait until the current device has finished all its work (CUDA.jl: ``synchronize()``)."""
    device().synchronize()


def sync(function: Callable[[], Any]) -> Any:
    """Call `function` and return its result once the device is done (CUDA.jl: ``@sync``)."""
    check_callable("sync(function): the function", function)
    result = function()
    synchronize()
    return result


def time(function: Callable[[], Any]) -> Any:
    """Run `function`, print its time and what it asked of the GPU; returns its result (CUDA.jl: ``CUDA.@time``).

    It waits for the device before and after. The host's 15 µs for each launch count too, and hide short kernels.
    """
    check_callable("time(function): the function", function)
    synchronize()
    with receipt() as seen:
        result = sync(function)
    print(seen)
    return result


def time_range(message: str) -> Any:
    """A name for a part of a program, for NVIDIA's profiler (CUDA.jl: ``NVTX.@range``; `cupyx.profiler.time_range`).

    It goes in a ``with`` or above a function; ``nsys profile python program.py`` shows it. Without a GPU it's idle.
    """
    if usable("CUDA") or usable("AMDGPU"):
        from cupy.cuda import nvtx
        from cupyx import profiler

        if nvtx.available:
            return profiler.time_range(message)
    return contextmanager(lambda: iter([None]))()


def __getattr__(name: str) -> Any:
    if name == "jit":
        return importlib.import_module(".jit", __name__)
    if name == "fuse":
        return importlib.import_module("..devices.fused", __name__).fuse
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
