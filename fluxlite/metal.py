"""The Metal.jl names that the guide refers to, for Apple GPUs. They're about hardware, as in `amdgpu.py`."""

from __future__ import annotations

from typing import Any

from .devices import selection
from .devices.base import DeviceList, Functional
from .devices.choosing import backends
from .devices.moving import device_of


def functional(part: str | None = None) -> Functional:
    """Whether an Apple GPU can be used (Metal.jl: ``Metal.functional()``). It has no parts to ask about.

    >>> with fl.pretend(Metal="functional"):
    ...     functional()
    True
    """
    return selection.functional("Metal", part)


def devices() -> DeviceList:
    """The Apple GPU in a list, if it can be used (Metal.jl: ``Metal.devices()``)."""
    return DeviceList(backends()["Metal"].devices(), functional().reason)


def device(x: Any = None) -> Any:
    """The device, or the device of `x` (Metal.jl: ``device()``). Raises `RuntimeError` if there's none.

    >>> with fl.pretend(Metal="functional"):
    ...     device()
    Metal:0 (pretended)
    """
    return device_of(x) if x is not None else selection.get_device("Metal")
