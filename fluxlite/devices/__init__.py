"""Where arrays live (the CPU, an NVIDIA, AMD or Apple GPU, a simulated GPU) and how they get there.

Read `base.py` (what a device is), `moving.py` (what ``gpu(model)`` does), `selection.py` (which GPU that is) and
`choosing.py` (why that one).
"""

from .backends import functional as functional
from .backends import supported_devices as supported_devices
from .base import DEFAULT as DEFAULT
from .base import Device as Device
from .base import Memory as Memory
from .choosing import gpu_backend as gpu_backend
from .host import CPU as CPU
from .places import device_of as device_of
from .scalars import allowscalar as allowscalar
from .selection import cpu as cpu
from .selection import cu as cu
from .selection import devices as devices
from .selection import get_device as get_device
from .selection import gpu as gpu
from .selection import gpu_device as gpu_device
from .selection import gpu_name as gpu_name
from .selection import require_gpu as require_gpu
from .simulation import simulate_gpu as simulate_gpu
