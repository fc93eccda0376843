"""The names of AMDGPU.jl, for AMD GPUs. They're about hardware, even during a simulation."""

from .devices.named import names_of

__all__ = ["device", "devices", "functional"]

functional, devices, device = names_of("AMD", "AMDGPU")
