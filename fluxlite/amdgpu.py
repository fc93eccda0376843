"""The names of AMDGPU.jl, for AMD GPUs. They're about hardware, even during a simulation."""

from typing import Any

from .arrays import device_of
from .devices import named
from .devices.base import Device, Functional, current
from .devices.named import DeviceList


def functional(part: str | None = None) -> Functional:
    """Whether an AMD GPU, or a `part` such as ``"rocBLAS"``, can be used (AMDGPU.jl: ``functional(:MIOpen)``)."""
    return named.functional("AMDGPU", part)


def devices() -> DeviceList:
    """All AMD GPUs, in order (AMDGPU.jl: ``AMDGPU.devices()``)."""
    return named.devices_of("AMDGPU")


def device(x: Any = None) -> Device:
    """The current device, or the device of `x` (AMDGPU.jl: ``device()``). Raises `RuntimeError` if there's none."""
    return current(devices()) or named.get_device("AMDGPU") if x is None else device_of(x)
