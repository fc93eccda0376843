"""The names of Metal.jl, for Apple GPUs. They're about hardware, even during a simulation."""

from typing import Any

from .arrays import device_of
from .devices import named
from .devices.base import Device, Functional
from .devices.named import DeviceList


def functional(part: str | None = None) -> Functional:
    """Whether an Apple GPU can be used (Metal.jl: ``Metal.functional()``). It has no parts to ask about."""
    return named.functional("Metal", part)


def devices() -> DeviceList:
    """The Apple GPU in a list, if it can be used (Metal.jl: ``Metal.devices()``)."""
    return named.devices_of("Metal")


def device(x: Any = None) -> Device:
    """The device, or the device of `x` (Metal.jl: ``device()``). Raises `RuntimeError` if there's none."""
    return named.get_device("Metal") if x is None else device_of(x)
