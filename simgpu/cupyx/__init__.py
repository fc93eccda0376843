"""What programs use of `cupyx`, CuPy's names for what NumPy hasn't got.

>>> import numpy as np
>>> import simgpu
>>> x, i = simgpu.asarray(np.zeros(3)), simgpu.asarray(np.array([1, 0, 1]))
>>> scatter_add(x, i, 1)
>>> x
array([1., 2., 0.])  # Simulated:0
"""

import contextlib
import importlib
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..device import current
from ..indexing import scatter
from ..place import DeviceSynchronized, waits
from ..rules import check_linalg
from ..words import Missing

__all__ = [
    "DeviceSynchronized", "allow_synchronize", "empty_like_pinned", "empty_pinned", "errstate", "geterr", "rsqrt",
    "scatter_add", "scatter_max", "scatter_min", "seterr", "zeros_like_pinned", "zeros_pinned",
]  # fmt: skip

# Arrays of the host in pinned memory: here, that's memory like any other.
empty_pinned, empty_like_pinned, zeros_pinned, zeros_like_pinned = np.empty, np.empty_like, np.zeros, np.zeros_like


def scatter_add(a: Any, slices: Any, value: Any) -> None:
    """``a[slices] += value``, where repeated places add up."""
    scatter(np.add, a, slices, value)


def scatter_max(a: Any, slices: Any, value: Any) -> None:
    """The larger one of ``a[slices]`` and `value`, at each place."""
    scatter(np.maximum, a, slices, value)


def scatter_min(a: Any, slices: Any, value: Any) -> None:
    """The smaller one of ``a[slices]`` and `value`, at each place."""
    scatter(np.minimum, a, slices, value)


def rsqrt(x: Any) -> Any:
    """``1 / sqrt(x)``, in one kernel."""
    device = x.device.begin()
    made = device.new(device.compute(lambda values: np.reciprocal(np.sqrt(values)), x._values))
    device.launch("rsqrt", 2 * made.nbytes, 10 * made.size, made.dtype.char)
    return made


@contextlib.contextmanager
def allow_synchronize(allow: bool) -> Iterator[None]:
    """With False, whatever waits for the device raises `DeviceSynchronized` in this block, in this thread."""
    warnings.warn("cupyx.allow_synchronize will be removed from CuPy: it doesn't see every wait", stacklevel=3)
    earlier, waits.allowed = waits.allowed, allow
    try:
        yield
    finally:
        waits.allowed = earlier


def geterr() -> dict[str, Any]:
    """What is checked. On a card, that's linear algebra at most."""
    return {**dict.fromkeys(("divide", "over", "under", "invalid")), "linalg": check_linalg.mode}


def seterr(*, divide: Any = None, over: Any = None, under: Any = None, invalid: Any = None, linalg: Any = None) -> Any:
    """With ``linalg="raise"``, singular matrices raise `LinAlgError`, which costs a wait. Returns what was set before.

    Raises `NotImplementedError` for everything else, as CuPy does.
    """
    earlier = geterr()
    if any(mode is not None for mode in (divide, over, under, invalid)) or linalg not in (None, "ignore", "raise"):
        raise NotImplementedError("cupyx.seterr sets linalg alone, to 'ignore' or 'raise'")
    check_linalg.mode = linalg or check_linalg.mode
    return earlier


@contextlib.contextmanager
def errstate(**modes: Any) -> Iterator[None]:
    """`seterr` for this block."""
    earlier = seterr(**modes)
    try:
        yield
    finally:
        seterr(**earlier)


def get_runtime_info(*, full: bool = False) -> str:
    """What computes here, in a line."""
    return f"simgpu: {current()}, a {current().name}; no CUDA"


def __getattr__(name: str) -> Any:
    if name == "jit":
        return importlib.import_module("simgpu.jit")
    if name == "profiler":
        return importlib.import_module(".profiler", __name__)
    if name in ("GeneralizedUFunc", "cusolver", "cusparse", "cutensor", "distributed", "lapack", "linalg", "optimizing",
                "scipy", "signal", "time", "tools"):  # fmt: skip
        raise Missing(f"cupyx.{name} isn't simulated")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
