"""CuPy's `cupy.polynomial.polynomial`: powers of x, the constant's coefficient first.

>>> import simgpu as cp
>>> polyval(cp.array([0.0, 1.0, 2.0]), cp.array([1.0, 0.0, 3.0]))  # 1 + 3 x**2
array([ 1.,  4., 13.])  # Simulated:0
"""

import operator
from typing import Any

import numpy as np

from ..creation import array, asarray
from ..memory import Stored
from ..surface import getter, lister
from . import polyutils


def polyvander(x: Any, deg: int) -> Any:
    """The powers of `x` from 0 to `deg`, along a new last axis."""
    try:
        deg = operator.index(deg)
    except TypeError as error:
        raise TypeError(f"deg must be an integer, received {deg}") from error
    if deg < 0:
        raise ValueError("degree must be non-negative")
    if x.ndim == 0:
        x = x.ravel()
    dtype = np.dtype(float) if x.dtype.kind in "biu" else x.dtype
    exponents = np.arange(deg + 1, dtype=dtype, like=x).reshape(-1, *(1,) * x.ndim)
    return np.moveaxis(x**exponents, 0, -1)


def polycompanion(c: Any) -> Any:
    """The matrix whose eigenvalues are the roots of the polynomial with the coefficients `c`."""
    (c,) = polyutils.as_series([c])
    degree = c.size - 1
    if degree == 0:
        raise ValueError("Series must have maximum degree of at least 1.")
    matrix = np.zeros_like(c, shape=(degree, degree))
    below = np.arange(1, degree, like=c)
    matrix[below, below - 1] = 1
    matrix[:, -1] -= c[:-1] / c[-1]
    return matrix


def polyval(x: Any, c: Any, tensor: bool = True) -> Any:
    """The value at `x` of the polynomials with the coefficients `c`: with `tensor`, of each at all points."""
    c = _as_floats(array(c, ndmin=1, copy=None))
    if isinstance(x, (tuple, list)):
        x = asarray(x)
    if isinstance(x, Stored) and tensor:
        c = c.reshape(c.shape + (1,) * x.ndim)  # type: ignore[attr-defined]
    value = c[-1] + x * 0
    for coefficient in reversed([c[i] for i in range(len(c) - 1)]):  # Horner
        value = coefficient + value * x
    return value


def polyvalfromroots(x: Any, r: Any, tensor: bool = True) -> Any:
    """The value at `x` of the polynomials with the roots `r`: with `tensor`, of each at all points."""
    r = _as_floats(array(r, ndmin=1, copy=None))
    if isinstance(x, (tuple, list)):
        x = asarray(x)
    if isinstance(x, Stored):
        if tensor:
            r = r.reshape(r.shape + (1,) * x.ndim)  # type: ignore[attr-defined]
        elif x.ndim >= r.ndim:  # type: ignore[attr-defined]
            raise ValueError("x.ndim must be < r.ndim when tensor == False")
    return np.prod(x - r, axis=0)


def _as_floats(x: Any) -> Any:
    if x.dtype.kind in "biu":
        return x.astype(float)
    return x


__getattr__ = getter(__name__)
__dir__ = lister(__name__)
