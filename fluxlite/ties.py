"""Which places hold one array: two that do are one parameter, they are "tied".

``W`` and ``W.T`` are two Python objects over one piece of memory. A walk over a model must see that they are one
parameter: it is moved once, its gradients are added up, it is stored once.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np


@functools.singledispatch
def address(x: Any) -> int | None:
    """Where the array `x` starts in its device's memory; None for what is no array. A method per array type."""
    return None


@address.register(np.ndarray)
def _(x: np.ndarray) -> int:
    return x.__array_interface__["data"][0]


def is_array(x: Any) -> bool:
    """Whether `x` is an array of some device.

    >>> is_array(np.zeros(3)), is_array([0.0, 0.0]), is_array(np.float32(0))
    (True, False, False)
    """
    return type(x) is np.ndarray or address.dispatch(type(x)) is not address.dispatch(object)


def parameter_key(x: Any) -> tuple:
    """Equal for two arrays exactly if they are one parameter, possibly transposed.

    That is: they start at the same address, with the same dtype and the same (stride, length) pairs up
    to order. Axes of length 1 do not count. An array without elements is only tied to itself.

    >>> W = np.zeros((2, 3))
    >>> parameter_key(W) == parameter_key(W.T), parameter_key(W) == parameter_key(W[:, :2])
    (True, False)
    """
    if not is_array(x) or x.size == 0:
        return ("object", id(x))
    return ("array", address(x), x.dtype, tuple(sorted(_axes(x))))


def lies_alike(x: Any, y: Any) -> bool:
    """Whether two tied arrays are also indexed alike: `W` and another view of all of it, but not `W` and ``W.T``."""
    return x.shape == y.shape and _axes(x) == _axes(y)


def _axes(x: Any) -> list[tuple[int, int]]:
    return [(stride, length) for stride, length in zip(x.strides, x.shape, strict=True) if length > 1]


def as_lies(tied: Any, first: Any, result: Any) -> Any:
    """`result` was made from `first`; what is to stand where `tied`, the same memory, lies? Same view of it."""
    if lies_alike(tied, first):
        return result
    source: list = _axes(first)
    order = []
    for pair in _axes(tied):
        order.append(source.index(pair))
        source[order[-1]] = None  # two axes may look alike
    long_axes = np.reshape(result, tuple(length for length in first.shape if length > 1))
    return np.reshape(np.transpose(long_axes, order), tied.shape)
