"""A GPU without a GPU: NumPy computes real values, under a real GPU's rules.

Read `array.py` and `operators.py` (the array and what you can write with it), `dispatch.py` (the path that every call
takes) and `indexing.py`, `rules.py` and `surface.py` (what we refuse, as CuPy does), `kernels.py` (what a call
launches), `fused.py` (several calls as one launch) and `costs.py` (how much work that is), `clocks.py` (what runs when,
and what waits), `device.py`, `memory.py`, `random.py` and `presets.py` (the device itself). `fluxlite.estimate` and
`fluxlite.calibrate` also use `shapes.py` and `calibration.py`.
"""

from .array import SimulatedArray as SimulatedArray
from .device import SimulatedDevice as SimulatedDevice
from .memory import OutOfMemoryError as OutOfMemoryError
from .presets import preset as preset
