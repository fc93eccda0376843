"""A GPU without a GPU: real values computed by NumPy, under a real GPU's rules.

Read `array.py` (the array and what may be written with it), `dispatch.py` (the one way that every call takes),
`rules.py` and `surface.py` (what is refused, as CuPy refuses it), `kernels.py` (what a call launches),
`device.py` and `memory.py` (the device itself).
"""

from .array import SimulatedArray as SimulatedArray
from .device import SimulatedDevice as SimulatedDevice
from .memory import OutOfMemoryError as OutOfMemoryError
