"""A GPU without a GPU: real values computed by NumPy, under a real GPU's rules.

Read `array.py` (the array and what may be written with it, with `operators.py`), `dispatch.py` (the one way that
every call takes) and `indexing.py`, `rules.py` and `surface.py` (what is refused, as CuPy refuses it), `kernels.py`
(what a call launches), `device.py`, `memory.py`, `random.py` and `presets.py` (the device itself).
"""

from .array import SimulatedArray as SimulatedArray
from .device import SimulatedDevice as SimulatedDevice
from .memory import OutOfMemoryError as OutOfMemoryError
