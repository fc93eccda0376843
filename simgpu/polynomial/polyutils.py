"""CuPy's `cupy.polynomial.polyutils`: series of coefficients, without zeros at their ends."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..surface import getter, lister


def trimseq(seq: Any) -> Any:
    """A series without the zeros at its end. Of nothing but zeros, the first is left. The host waits for the card."""
    if seq.ndim == 0:
        raise TypeError("Input must be 1-d array")
    if seq.ndim > 1:
        raise ValueError("Input must be 1-d array")
    if seq.size == 0:
        return seq
    trimmed = np.trim_zeros(seq, "b")
    if trimmed.size == 0:
        return seq[:1]
    return trimmed


def as_series(alist: Iterable, trim: bool = True) -> list:
    """Each of these as a series of one type, without the zeros at its end unless you say ``trim=False``."""
    series = [_one_series(a) for a in alist]
    if trim:
        series = [trimseq(a) for a in series]
    dtype = np.common_type(*series)
    return [a.astype(dtype, copy=False) for a in series]


def trimcoef(c: Any, tol: float = 0) -> Any:
    """A series without what's at most `tol` at its end, up to the sign. The host waits for the card."""
    if tol < 0:
        raise ValueError("tol must be non-negative")
    c = _one_series(c)
    c = c.astype(np.common_type(c), copy=False)
    large = np.flatnonzero(np.abs(c) > tol)
    if large.size == 0:
        return np.zeros_like(c[:1])
    return c[: int(large[-1]) + 1]


def _one_series(a: Any) -> Any:
    if a.size == 0:
        raise ValueError("Coefficient array is empty")
    if a.ndim > 1:
        raise ValueError("Coefficient array is not 1-d")
    if a.dtype.kind == "b":
        raise ValueError("Coefficient arrays have no common type: these are booleans")
    return a.ravel()


__getattr__ = getter(__name__)
__dir__ = lister(__name__)
