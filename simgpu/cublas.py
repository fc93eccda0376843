"""CuPy's `cupy.cublas`: sums and products of vectors and matrices, each one launch of cuBLAS."""

from typing import Any

import numpy as np

from . import functions
from .device import current
from .memory import Stored
from .refusals import refusal
from .surface import getter, note_missing
from .words import Missing, word_set

_LACKING = word_set("""
    batched_gesv dgmm geam gemm gemv ger gerc geru get_batched_gesv_limit iamax iamin sbmv set_batched_gesv_limit syrk
""")


def nrm2(x: Any, out: Any = None) -> Any:
    """The length of a vector, as an array without axes.

    >>> import simgpu as cp
    >>> from simgpu import cublas
    >>> cublas.nrm2(cp.asarray([3.0, 4.0]))
    array(5.)  # Simulated:0
    """
    return _into(out, functions.get("linalg.norm")(_vector(nrm2, x)))


def asum(x: Any, out: Any = None) -> Any:
    """The sum of the absolute values; of complex numbers, of those of their parts."""
    x = _vector(asum, x)
    if x.dtype.kind == "c":
        return _into(out, abs(x.real).sum() + abs(x.imag).sum())
    return _into(out, abs(x).sum())


def dot(x: Any, y: Any, out: Any = None) -> Any:
    """The product of two vectors of real numbers. Raises `TypeError` for complex ones: see `dotu` and `dotc`."""
    if _vector(dot, x).dtype.kind == "c":
        raise TypeError("Use dotu() or dotc() for complex dtype")
    return _into(out, np.dot(x, _vector(dot, y)))


def dotu(x: Any, y: Any, out: Any = None) -> Any:
    """The product of two vectors, as they are."""
    return _into(out, np.dot(_vector(dotu, x), _vector(dotu, y)))


def dotc(x: Any, y: Any, out: Any = None) -> Any:
    """The product of two vectors, the first one conjugated."""
    return _into(out, np.vdot(_vector(dotc, x), _vector(dotc, y)))


def axpy(a: Any, x: Any, y: Any) -> None:
    """``y += a * x``."""
    _vector(axpy, y)[...] += a * _vector(axpy, x)


def scal(a: Any, x: Any) -> None:
    """``x *= a``."""
    _vector(scal, x)[...] *= a


def _vector(function: Any, x: Any) -> Any:
    if not isinstance(x, Stored):
        raise refusal(function, x, current())
    axes = x.host_values.ndim
    if axes != 1:
        raise ValueError(f"x must be a 1D array (actual: {axes})")
    return x


def _into(out: Any, value: Any) -> Any:
    if out is None:
        return value
    out[...] = value
    return out


def _find(name: str) -> Any:
    """Raises `AttributeError`: `Missing`, if CuPy has this name."""
    if name not in _LACKING:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}, and nor has CuPy")
    note_missing(f"cupy.cublas.{name}")
    raise Missing(f"cupy.cublas.{name} isn't simulated: CuPy has it, and simgpu lacks it")


__getattr__ = getter(__name__, _find)


def __dir__() -> list[str]:
    return ["asum", "axpy", "dot", "dotc", "dotu", "nrm2", "scal"]
