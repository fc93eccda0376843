"""A GPU without a GPU: NumPy computes real values, under a real GPU's rules.

>>> import numpy as np
>>> import simgpu
>>> x = simgpu.asarray(np.arange(3.0))
>>> with simgpu.receipt() as r:
...     y = x * 2 + 1
>>> y, r.launches
(array([1., 3., 5.])  # Simulated:0, 2)

Read `array.py` (what you can write with an array), `dispatch.py` (the path that every call takes), `indexing.py`,
`rules.py` (what we refuse, as CuPy does), `launches.py` (what a call launches, and how much work that is), `clocks.py`
(what runs when, and what waits), `device.py`, `place.py`, `memory.py` and `presets.py` (the device itself), and
`shapes.py` (computing with shapes alone). `profile/` counts what a program asks of the GPU, and `jit/` runs kernels
written by hand.
"""

import importlib
from typing import Any

_NAMES = {
    "array": "SimulatedArray", "device": "Card Device asarray asnumpy current devices",
    "memory": "OutOfMemoryError", "presets": "PRESETS Preset calibrate preset",
    "profile.estimates": "estimate", "profile.recording": "Receipt receipt", "profile.seconds": "Seconds",
}  # fmt: skip
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name in ("cuda", "cupyx", "jit", "profile", "random"):
        return importlib.import_module(f".{name}", __name__)
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_MODULE_OF[name]}", __name__), name)
