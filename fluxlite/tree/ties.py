"""What a walk asks of an array: whether it's one, whether two places hold one, on which card it is.

Two places that hold one array are "tied". ``W`` and ``W.T`` are two Python objects over one piece of memory. A walk
must see that they are one parameter: it's moved once, its gradients are added up, it's stored once.
"""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from operator import itemgetter
from typing import Any, TypeGuard

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ..annotations import Array, LibraryArray, Tree
from ..array_kinds import array_kind, array_kind_of, several_cards


def is_array(x: Tree) -> TypeGuard[LibraryArray]:
    """Whether `x` is an array of some device; a list isn't, nor is a number of NumPy's."""
    return type(x) is np.ndarray or array_kind(x) is not None


def is_trainable_array(x: Tree) -> TypeGuard[LibraryArray]:
    """Whether a gradient with respect to `x` exists: an array of floating-point numbers."""
    return is_array(x) and x.dtype.kind == "f"


def is_tracked(x: Tree) -> bool:
    """Whether `x` is an array that's tracked for a gradient, to which `arrays.primitive` hands calls."""
    return hasattr(type(x), "__primitive__")


def is_array_type(cls: type) -> bool:
    return hasattr(cls, "__primitive__") or array_kind_of(cls) is not None


def parameter_key(x: Array) -> tuple:
    """Equal for two arrays exactly if they are one parameter, possibly transposed.

    That is: they start at the same address, with the same dtype and the same (stride, length) pairs up
    to order. Axes of length 1 don't count. An array without elements is only tied to itself.

    >>> W = np.zeros((2, 3))
    >>> parameter_key(W) == parameter_key(W.T), parameter_key(W) == parameter_key(W[:, :2])
    (True, False)
    """
    kind = array_kind(x)
    if kind is not None and x.size:
        return ("array", kind.address(x), x.dtype, tuple(sorted(_axes(x))))
    own = getattr(type(x), "__parameter_key__", None)
    if own is None:
        return ("object", id(x))
    return own(x)


def owner_of(x: np.ndarray) -> int | None:
    """Whose memory `x` views, which tied arrays have in common; quicker than an address. None: not NumPy's own."""
    base = x.base
    if base is None:
        return id(x)
    if type(base) is np.ndarray and base.base is None:
        return id(base)
    return None


def lies_alike(x: Array, y: Array) -> bool:
    """Whether two tied arrays are also indexed alike: `W` and another view of all of it, but not `W` and ``W.T``."""
    return x.shape == y.shape and _axes(x) == _axes(y)


def _axes(x: Array) -> list[tuple[int, int]]:
    return [(stride, length) for stride, length in zip(x.strides, x.shape, strict=True) if length > 1]


def view_as(result: Array, *, like: Array, of: Array) -> Array:
    """The view of `result` that `like` is of `of`, two tied arrays.

    It's made by `np.reshape` and `np.transpose`. If `result` is tracked for a gradient, they're recorded, and their
    pullbacks turn the view's gradient back.

    >>> W = np.zeros((2, 3))
    >>> made = np.ones((2, 3))  # from W
    >>> view_as(made, like=W.T, of=W).shape
    (3, 2)
    """
    if lies_alike(like, of):
        return result
    source: list = _axes(of)
    order = []
    for pair in _axes(like):
        axis = source.index(pair)
        source[axis] = None  # two axes may look alike
        order.append(axis)
    long_axes = np.reshape(result, tuple(length for length in of.shape if length > 1))
    return np.reshape(np.transpose(long_axes, order), like.shape)


def overlaps(places: Iterable[tuple[Any, np.ndarray]]) -> Iterator[tuple[Any, Any]]:
    """Of (place, array) pairs, the pairs of places whose arrays share memory.

    >>> W = np.zeros((4, 4))
    >>> list(overlaps([("all", W), ("top", W[:2]), ("even", W[:, ::2]), ("odd", W[:, 1::2])]))
    [('all', 'top'), ('all', 'even'), ('top', 'even'), ('all', 'odd'), ('top', 'odd')]
    """
    bounds = [(*byte_bounds(x), place, x) for place, x in places if x.size]
    reach: list[tuple] = []  # those that end after the place that the sweep over memory has come to
    for low, high, place, x in sorted(bounds, key=itemgetter(0)):
        reach = [entry for entry in reach if entry[1] > low]
        yield from ((other_place, place) for _, _, other_place, other in reach if _share(x, other))
        reach.append((low, high, place, x))


def _share(x: np.ndarray, y: np.ndarray) -> bool:
    try:
        return np.shares_memory(x, y, max_work=10_000)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:  # the exact answer would take too long: memory ranges that overlap
        return True


# -- cards ---------------------------------------------------------------------------------------------------------

HERE = nullcontext()


def on_card_of(x: Any) -> AbstractContextManager[Any]:
    """``with on_card_of(x):`` computes on the card that holds `x`, a plain or tracked array (CUDA.jl: ``device!``)."""
    if not several_cards:
        return HERE
    while is_tracked(x):
        x = x.value
    if type(x) in several_cards:
        kind: Any = array_kind(x)
        return kind.card(x)
    return HERE


def copy_of(x: Array) -> Array:
    """A copy of the array `x`, on its card. CuPy's ``x.copy()`` goes to the current card."""
    with on_card_of(x):
        return x.copy()
