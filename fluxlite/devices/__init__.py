"""Where arrays live (the CPU, an NVIDIA, AMD or Apple GPU, a simulated GPU) and how they get there.

Read `base.py` (what a device is), `moving.py` (what ``gpu(model)`` does), `selection.py` (which GPU) and `named.py`.
"""

from ..arrays import device_of as device_of
from .base import CPU as CPU
from .base import Device as Device
from .selection import cpu as cpu
from .selection import devices as devices
from .selection import gpu as gpu
from .selection import gpu_device as gpu_device
