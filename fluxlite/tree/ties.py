"""Which places hold one array: two that do are one parameter, they are "tied".

``W`` and ``W.T`` are two Python objects over one piece of memory. A walk over a model must see that they are one
parameter: it is moved once, its gradients are added up, it is stored once.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
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
    if is_array(x) and x.size:
        return ("array", address(x), x.dtype, tuple(sorted(_axes(x))))
    own = getattr(type(x), "__parameter_key__", None)
    return ("object", id(x)) if own is None else own(x)


def is_tracked(x: Any) -> bool:
    """Whether `x` is an array that is tracked for a gradient. Walks take it for an array."""
    return hasattr(type(x), "__primitive__")


def lies_alike(x: Any, y: Any) -> bool:
    """Whether two tied arrays are also indexed alike: `W` and another view of all of it, but not `W` and ``W.T``."""
    return x.shape == y.shape and _axes(x) == _axes(y)


def _axes(x: Any) -> list[tuple[int, int]]:
    return [(stride, length) for stride, length in zip(x.strides, x.shape, strict=True) if length > 1]


def same_view(tied: Any, first: Any, result: Any) -> Any:
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


def overlaps(places: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    """Of (place, array) pairs, the pairs of places whose arrays share memory. The arrays are on one device.

    >>> W = np.zeros((4, 4))
    >>> list(overlaps([("all", W), ("top", W[:2]), ("even", W[:, ::2]), ("odd", W[:, 1::2])]))
    [('all', 'top'), ('all', 'even'), ('top', 'even'), ('all', 'odd'), ('top', 'odd')]
    """
    bounds = [(*_bounds(x), place, x) for place, x in places if x.size]
    reach: list[tuple] = []  # those that end after the place that the sweep over memory has come to
    for low, high, place, x in sorted(bounds, key=lambda entry: entry[0]):
        reach = [entry for entry in reach if entry[1] > low]
        yield from ((other_place, place) for _, _, other_place, other in reach if _share(x, other))
        reach.append((low, high, place, x))


def _bounds(x: Any) -> tuple[int, int]:
    """The addresses of the first byte of `x` and of the first byte after it."""
    ways = [stride * (length - 1) for stride, length in zip(x.strides, x.shape, strict=True)]
    start = address(x) or 0
    return start + sum(min(way, 0) for way in ways), start + sum(max(way, 0) for way in ways) + x.itemsize


def _share(x: Any, y: Any) -> bool:
    try:
        return np.shares_memory(_Outline(x), _Outline(y), max_work=10_000)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:  # the exact answer would take too long: memory ranges that overlap
        return True


class _Outline:
    """Tells NumPy where an array of any device lies. That is all it asks for: no value is read."""

    def __init__(self, x: Any) -> None:
        self.__array_interface__ = {
            "version": 3,
            "data": (address(x), True),
            "shape": x.shape,
            "strides": x.strides,
            "typestr": f"|V{x.itemsize}",
        }
