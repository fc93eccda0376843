"""The names of Metal.jl, for Apple GPUs. They're about hardware, even during a simulation."""

from .devices.named import names_of

__all__ = ["device", "devices", "functional"]

functional, devices, device = names_of("Apple", "Metal")
