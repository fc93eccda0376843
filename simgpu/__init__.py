"""A GPU without a GPU: NumPy computes real values, under a real GPU's rules.

>>> import numpy as np
>>> import simgpu
>>> x = simgpu.asarray(np.arange(3.0))
>>> with simgpu.receipt() as r:
...     y = x * 2 + 1
>>> y, r.launches
(array([1., 3., 5.])  # Simulated:0, 2)

Read `arrays.py` (what you can write with an array), `dispatch.py` (the path that every call takes), `indexing.py`,
`refusals.py` (what we refuse, as CuPy does), `values.py` (whose values aren't NumPy's), `launches.py` (what a call
launches, and how much work that is), `clocks.py` (what runs when, and what waits), `device.py`, `places.py`,
`memory.py` and `presets.py` (the device itself), and `shapes.py` (computing with shapes alone). `profile/` counts what
a program asks of the GPU, `kernels/` runs CuPy's kernels in pieces of C, and `jit/` runs kernels written by hand, in
Python and (`raw.py`) in C.
"""

import importlib
import pkgutil
from typing import Any

from . import surface as _surface

_NAMES = {
    "arrays": "SimulatedArray", "device": "Card Device current devices",
    "kernels": "ElementwiseKernel ReductionKernel", "raw": "RawKernel RawModule",
    "cuda.memory": "get_default_memory_pool get_default_pinned_memory_pool",
    "memory": "OutOfMemoryError", "presets": "PRESETS Preset calibrate preset",
    "profile.estimates": "estimate", "profile.recording": "Receipt receipt", "profile.seconds": "Seconds",
}  # fmt: skip
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names.split()}

__version__ = "14.2.0"  # of the CuPy whose rules these are
_ROOMS = frozenset(found.name for found in pkgutil.iter_modules(__path__))


def __getattr__(name: str) -> Any:
    """A name is looked up when it's first used, so that what a program doesn't use isn't loaded."""
    if name in _ROOMS:
        return importlib.import_module(f".{name}", __name__)
    module = _MODULE_OF.get(name)
    if name == "__all__":
        return _surface.list_names(__name__)
    if module is None and name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from_where = importlib.import_module(f".{module or 'functions'}", __name__)
    value = globals()[name] = getattr(from_where, name) if module else from_where.get(name)
    return value


__dir__ = _surface.lister(__name__)
