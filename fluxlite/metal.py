"""The names of Metal.jl, for Apple GPUs. They're about hardware, even during a simulation."""

from .devices.named import Vendor

__all__ = ["device", "devices", "functional"]

_apple = Vendor("Apple", "Metal")
functional, devices, device = _apple.functional, _apple.devices, _apple.device
