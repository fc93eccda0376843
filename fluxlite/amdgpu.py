"""The names of AMDGPU.jl, for AMD GPUs. They're about hardware, even during a simulation."""

from .devices.named import Vendor

__all__ = ["device", "devices", "functional"]

_amd = Vendor("AMD", "AMDGPU")
functional, devices, device = _amd.functional, _amd.devices, _amd.device
