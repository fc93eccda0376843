"""Arrays for tests: CuPy's numbers, on the device, or on the host with ``xp=numpy``."""

import math
from typing import Any

import numpy as np

from .. import surface

__all__ = ["shaped_arange", "shaped_linspace", "shaped_random", "shaped_reverse_arange"]


def _module(xp: Any) -> Any:
    if xp is None:
        return surface.here()
    return xp


def _as_type(values: np.ndarray, dtype: Any) -> np.ndarray:
    """As this type: evens are true, and a complex number's parts are the same."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        values = values % 2 == 0
    elif dtype.kind == "c":
        values = values + values * 1j
    return values.astype(dtype)


def shaped_arange(shape: tuple, xp: Any = None, dtype: Any = np.float32, order: str = "C") -> Any:
    """1, 2, 3 and so on, in this shape.

    >>> shaped_arange((2, 2), np, dtype="i4")
    array([[1, 2],
           [3, 4]], dtype=int32)
    """
    values = _as_type(np.arange(1, math.prod(shape) + 1), dtype)
    return _module(xp).array(values.reshape(shape), order=order)


def shaped_reverse_arange(shape: tuple, xp: Any = None, dtype: Any = np.float32) -> Any:
    """The same, from the last number down to 1."""
    values = _as_type(np.arange(math.prod(shape), 0, -1), dtype)
    return _module(xp).array(values.reshape(shape))


def shaped_linspace(start: float, stop: float, shape: tuple, xp: Any = None, dtype: Any = np.float32) -> Any:
    """Numbers from `start` to `stop`, evenly spaced, as far as the type has them."""
    kind = np.dtype(dtype).kind
    if kind in "bu":
        start = max(start, 0)
    if kind == "b":
        stop = min(stop, 1)
    values = np.linspace(start, stop, math.prod(shape)).astype(dtype)
    return _module(xp).array(values.reshape(shape))


def shaped_random(
    shape: tuple, xp: Any = None, dtype: Any = np.float32, scale: float = 10, seed: int = 0, order: str = "C"
) -> Any:  # fmt: skip
    """Random numbers from 0 to `scale`: always the same ones, on the device and on the host."""
    numbers = np.random.RandomState(seed)
    kind = np.dtype(dtype).kind
    if kind == "b":
        values: np.ndarray = numbers.randint(2, size=shape)
    elif kind == "c":
        values = (numbers.rand(*shape) + 1j * numbers.rand(*shape)) * scale
    else:
        values = numbers.rand(*shape) * scale
    return _module(xp).asarray(values, dtype=dtype, order=order)
