"""Where arrays live (the CPU, an NVIDIA, AMD or Apple GPU, a simulated GPU) and how they get there.

Read `base.py` (what a device is), `moving.py` (what ``gpu(model)`` does) and `selection.py` (which GPU, and why).
"""
# ruff: noqa: I001

from .base import CPU, Device, Memory
from .moving import DEFAULT, device_of
from .scalars import allowscalar
from .selection import (
    cpu, cu, devices, functional, get_device, gpu, gpu_backend, gpu_device, gpu_name, require_gpu, simulate_gpu,
    supported_devices,
)  # fmt: skip

__all__ = [
    "CPU", "DEFAULT", "Device", "Memory", "allowscalar", "cpu", "cu", "device_of", "devices", "functional",
    "get_device", "gpu", "gpu_backend", "gpu_device", "gpu_name", "require_gpu", "simulate_gpu", "supported_devices",
]  # fmt: skip
