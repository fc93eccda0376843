"""What programs use of `cupyx`, where CuPy has what NumPy doesn't."""

import contextlib
import functools
import importlib
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..events import DeviceSynchronized, allowed  # noqa: F401
from ..indexing import scatter
from ..leftovers import RuntimeInfo
from ..words import Missing

# Host arrays in pinned memory: here, it's memory like any other.
empty_pinned, empty_like_pinned, zeros_pinned, zeros_like_pinned = np.empty, np.empty_like, np.zeros, np.zeros_like
# ``np.add.at(a, slices, value)`` and the like, at any index.
scatter_add, scatter_max, scatter_min = (functools.partial(scatter, at) for at in (np.add, np.maximum, np.minimum))


def rsqrt(x: Any) -> Any:
    """``1 / sqrt(x)``, in one kernel."""
    device = x.device.begin()
    made = device.new(device.compute(np.reciprocal, device.compute(np.sqrt, x.host_values)))
    device.launch("rsqrt", 2 * made.nbytes, 10 * made.size, made.dtype.char)
    return made


@contextlib.contextmanager
def allow_synchronize(allow: bool) -> Iterator[None]:
    """With False, what waits for the device raises `DeviceSynchronized`, in this block and this thread."""
    warnings.warn("cupyx.allow_synchronize will be removed from CuPy: it doesn't see every wait", stacklevel=3)
    earlier, allowed.waits = allowed.waits, allow
    try:
        yield
    finally:
        allowed.waits = earlier


def geterr() -> dict[str, Any]:
    return dict.fromkeys(("divide", "over", "under", "invalid")) | {"linalg": "ignore" if allowed.singular else "raise"}


def seterr(*, divide: Any = None, over: Any = None, under: Any = None, invalid: Any = None, linalg: Any = None) -> Any:
    """With ``linalg="raise"``, singular matrices raise `LinAlgError`, which costs a wait. Returns what was set before.

    Raises `NotImplementedError` for everything else, as CuPy does.
    """
    earlier = geterr()
    if any(mode is not None for mode in (divide, over, under, invalid)) or linalg not in (None, "ignore", "raise"):
        raise NotImplementedError("cupyx.seterr sets only linalg, to 'ignore' or 'raise'")
    allowed.singular = (linalg or earlier["linalg"]) == "ignore"
    return earlier


@contextlib.contextmanager
def errstate(**modes: Any) -> Iterator[None]:
    """`seterr` for this block."""
    earlier = seterr(**modes)
    try:
        yield
    finally:
        seterr(**earlier)


def get_runtime_info(*, full: bool = False) -> RuntimeInfo:
    """What a program runs on. ``str`` of it is a table: the card's name says that it's simulated."""
    return RuntimeInfo()


def __getattr__(name: str) -> Any:
    if name in ("jit", "profiler", "time"):
        return importlib.import_module({"jit": "simgpu.jit"}.get(name, f"{__name__}.{name}"))
    if name == "scipy":
        try:
            return importlib.import_module(f"{__name__}.scipy")
        except ModuleNotFoundError as error:  # SciPy isn't there, and the error says so
            raise Missing(str(error)) from None
    raise Missing(f"cupyx.{name} isn't simulated")
