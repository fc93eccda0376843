"""A GPU without a GPU: real values computed by NumPy, under a real GPU's rules.

Read `array.py` (the array and what may be written with it, with `operators.py`), `dispatch.py` (the one way that
every call takes) and `indexing.py`, `rules.py` and `surface.py` (what is refused, as CuPy refuses it), `kernels.py`
(what a call launches) and `costs.py` (how much work that is), `clocks.py` (when who works, and waits for whom),
`device.py`, `memory.py`, `random.py` and `presets.py` (the device itself). For `fluxlite.estimate` and
`fluxlite.calibrate` there are `shapes.py` and `calibration.py`.
"""

from .array import SimulatedArray as SimulatedArray
from .device import SimulatedDevice as SimulatedDevice
from .memory import OutOfMemoryError as OutOfMemoryError
