"""Arrays taken to pieces and put together in rarer ways than those of `shaping.py`.

Where NumPy only moves elements, it does so here with their numbers: those are the index of what's taken.
"""

import functools

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ....arrays import of_type, scatter_add
from ...rules import composed
from ...tracked import TrackedArray, plain
from .shaping import checked


def numbers(x, first=0):
    """The number of each element of `x`, at its place."""
    return np.reshape(np.arange(first, first + np.size(x)), np.shape(x))


# By the shape, here the numbers of the axes, one sees where each axis went.
composed(np.rollaxis)(lambda a, axis, start=0: np.transpose(a, np.rollaxis(np.empty(range(a.ndim)), axis, start).shape))


@composed(np.rot90)
def rot90(m, k=1, axes=(0, 1)):
    checked(np.rot90, m, k, axes)
    for _ in range(k % 4):
        m = np.flip(np.swapaxes(m, *axes), axes[0])
    return m


@composed(np.tile)
def tile(A, reps):  # noqa: N803  (NumPy's name)
    return kron(np.ones_like(plain(A), shape=reps), A)


@composed(np.kron)
def kron(a, b):
    """Every element of `a` times all of `b`: one axis of each side by side, then joined."""
    ndim = max(np.ndim(a), np.ndim(b))
    rows, columns = ((1,) * (ndim - np.ndim(x)) + np.shape(x) for x in (a, b))
    blocks = np.reshape(a, tuple(n for length in rows for n in (length, 1)))
    blocks = blocks * np.reshape(b, tuple(n for length in columns for n in (1, length)))
    return np.reshape(blocks, tuple(m * n for m, n in zip(rows, columns)))


@composed(np.partition)
def partition(a, kth, axis=-1):
    a, axis = (a, axis) if axis is not None else (np.ravel(a), -1)
    return np.take_along_axis(a, np.argpartition(plain(a), kth, axis=axis), axis)


@composed(np.full_like)
def full_like(a, fill_value, dtype=None, *, shape=None):
    if not isinstance(fill_value, TrackedArray):
        return np.full_like(plain(a), fill_value, dtype, shape=shape)
    return np.broadcast_to(of_type(fill_value, dtype or a.dtype), np.shape(a) if shape is None else shape)


@composed(np.unique)
def unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None):
    """Of equal elements the first gets the gradient."""
    _, index, *others = np.unique(plain(ar), True, return_inverse, return_counts, axis)  # type: ignore[call-overload]
    found = (np.take(ar, index, axis), *([index] if return_index else []), *others)
    return found if len(found) > 1 else found[0]


# -- put together
@composed(np.meshgrid)
def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    places = np.meshgrid(*map(numbers, map(np.ravel, map(plain, xi))), sparse=sparse, indexing=indexing)
    return tuple(np.take(np.ravel(x), place) for x, place in zip(xi, places))


@composed(np.block)
def block(arrays):
    row = []

    def numbered(x):
        if isinstance(x, list):
            return [numbered(part) for part in x]
        row.append(np.ravel(x))
        return numbers(x, sum(map(np.size, row[:-1])))

    places = np.block(numbered(arrays))
    return np.take(np.concatenate(row), places)


@composed(np.insert)
def insert(arr, obj, values, axis=None):
    places = np.insert(numbers(arr), obj, numbers(values, np.size(arr)), axis)
    return np.take(np.concatenate([np.ravel(arr), of_type(np.ravel(values), arr.dtype)]), places)


# -- picked
@composed(np.delete)
def delete(arr, obj, axis=None):
    arr, axis = (np.ravel(arr), 0) if axis is None else (arr, axis)
    return np.take(arr, np.delete(np.arange(arr.shape[axis]), obj), axis)


@composed(np.compress)
def compress(condition, a, axis=None):
    if np.ndim(condition) != 1:
        raise ValueError("np.compress takes a condition with one axis")
    return np.take(a, np.flatnonzero(condition if hasattr(condition, "dtype") else np.asarray(condition)), axis)


composed(np.extract)(lambda condition, arr: np.compress(np.ravel(condition), np.ravel(arr)))


@composed(np.select)
def select(condlist, choicelist, default=0):
    if any(str(getattr(condition, "dtype", None)) != "bool" for condition in condlist):
        raise TypeError("np.select takes conditions that are arrays of booleans")
    result = default
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        result = np.where(condition, choice, result)
    return of_type(result, common_type([*choicelist, default]))


def common_type(choices):
    """Among arrays, a Python number has no type of its own; but of two such numbers np.where makes float64."""
    return np.result_type(*(getattr(x, "dtype", x) for x in map(plain, choices)))


@composed(np.choose)
def choose(a, choices):
    choices = [choices[i] for i in range(len(choices))]
    if bool(np.any((plain(a) < 0) | (plain(a) >= len(choices)))):
        raise ValueError(f"np.choose of {len(choices)} arrays takes numbers from 0 to {len(choices) - 1}")
    result = choices[0]
    for i, choice in enumerate(choices):
        result = np.where(a == i, choice, result)
    return of_type(result, common_type(choices))


@composed(np.piecewise)
def piecewise(x, condlist, funclist, *args):
    """Each function sees only the numbers that are its own; where conditions overlap, the last one holds."""
    is_one = getattr(condlist, "ndim", 0) == np.ndim(x) and hasattr(condlist, "dtype")
    condlist = [condlist] if is_one else list(condlist)
    if len(funclist) == len(condlist) + 1:
        condlist = [*condlist, ~functools.reduce(np.logical_or, condlist)]
    result, taken = np.zeros_like(plain(x)), np.zeros_like(plain(x), dtype=bool)
    for condition, function in reversed(list(zip(condlist, funclist, strict=True))):
        own, taken = condition & ~taken, taken | condition
        value = function(x[own], *args) if callable(function) else function
        if np.ndim(value) > 0:  # as many as there are of its own
            value = scatter_add(np.zeros_like(plain(x)), own, of_type(value, x.dtype))
        result = np.where(own, value, result)
    return result


# -- windows, layers
@composed(sliding_window_view)
def windows(x, window_shape, axis=None):
    """Not a view here: each window has elements of its own, so that each has a gradient of its own."""
    return np.take(np.ravel(x), sliding_window_view(numbers(x), window_shape, axis))


if hasattr(np, "unstack"):  # since NumPy 2.1
    composed(np.unstack)(lambda x, /, *, axis=0: tuple(np.moveaxis(x, axis, 0)[i] for i in range(np.shape(x)[axis])))
