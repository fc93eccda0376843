"""Where arrays live: the CPU, an NVIDIA GPU through CuPy, a simulated GPU; and how they get from one to another.

Read `base.py` (what a device is), `moving.py` (what ``gpu(model)`` does), `selection.py` (which GPU that is).
"""

from .base import DEFAULT as DEFAULT
from .base import Device as Device
from .base import Memory as Memory
from .cpu import CPU as CPU
from .selection import cpu as cpu
from .selection import cu as cu
from .selection import devices as devices
from .selection import functional as functional
from .selection import gpu as gpu
from .selection import gpu_device as gpu_device
from .selection import gpu_name as gpu_name
from .selection import require_gpu as require_gpu
from .selection import simulate_gpu as simulate_gpu
