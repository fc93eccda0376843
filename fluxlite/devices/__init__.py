"""Where arrays live (the CPU, an NVIDIA, AMD or Apple GPU, a simulated GPU) and how they get there.

Read `base.py` (what a device is), `moving.py` (what ``gpu(model)`` does), `selection.py` (which GPU that is) and
`choosing.py` (why that one).
"""

from .base import CPU as CPU
from .base import Device as Device
from .base import Memory as Memory
from .moving import DEFAULT as DEFAULT
from .moving import device_of as device_of
from .scalars import allowscalar as allowscalar
from .selection import cpu as cpu
from .selection import cu as cu
from .selection import devices as devices
from .selection import functional as functional
from .selection import get_device as get_device
from .selection import gpu as gpu
from .selection import gpu_backend as gpu_backend
from .selection import gpu_device as gpu_device
from .selection import gpu_name as gpu_name
from .selection import require_gpu as require_gpu
from .selection import simulate_gpu as simulate_gpu
from .selection import supported_devices as supported_devices
