"""`cupyx.scipy`: SciPy's functions under CuPy's names, for arrays on a GPU. SciPy computes them, where it's installed.

`bridge.py` makes CuPy's functions of SciPy's. The tables, in `tables/`, say which there are, what they take, and what
they launch: *from source*, as read in CuPy's, or *guessed*. Sparse matrices are written by hand, in `sparse/`.
"""

import importlib
import sys
from types import ModuleType
from typing import Any

from ... import surface
from ...memory import Stored
from ...surface import attribute_error, getter, lister, note_missing
from ...words import word_set

try:
    import scipy
except ModuleNotFoundError as error:
    if error.name != "scipy":
        raise
    note_missing("cupyx.scipy")
    raise ModuleNotFoundError(
        "cupyx.scipy isn't simulated without SciPy, which computes its values: pip install scipy "
        "(fluxlite's extra [scipy])",
        name="cupyx.scipy",
    ) from None

from . import sparse  # noqa: E402


def get_array_module(*args: Any) -> ModuleType:
    """`cupyx.scipy` if one of the arguments is on a GPU, otherwise `scipy`.

    >>> import simgpu as cp
    >>> get_array_module(cp.ones(2)).__name__
    'simgpu.cupyx.scipy'
    """
    if any([isinstance(x, (Stored, sparse.spmatrix, sparse.sparray)) for x in args]):
        return sys.modules[__name__ if surface.requests is None else "cupyx.scipy"]
    return scipy


PARTS = word_set("fft fftpack interpolate linalg ndimage signal spatial special stats")


def _find(name: str) -> Any:
    if name not in PARTS:
        raise attribute_error(__name__, name)
    return importlib.import_module(f"{__name__}.{name}")


__getattr__ = getter(__name__, _find)
__dir__ = lister(__name__)
