"""Where arrays live (the CPU, an NVIDIA, AMD or Apple GPU, a simulated GPU) and how they get there.

Read `base.py` (what a device is), `moving.py` (what ``gpu(model)`` does), `selection.py` (which GPU) and `named.py`.
What an array library of one's own needs is in `plugin.py`.
"""

from ..arrays import device_of
from .base import CPU, Device
from .selection import cpu, devices, gpu, gpu_device

__all__ = ["CPU", "Device", "cpu", "device_of", "devices", "gpu", "gpu_device"]
