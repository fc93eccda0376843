"""Arrays taken to pieces and put together in rarer ways than those of `shaping.py`."""

import functools
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from ....arrays import of_type, scatter_add
from ...rules import composed
from ...tracked import TrackedArray, plain
from .shaping import checked


@composed(np.rollaxis)
def rollaxis(a, axis, start=0):
    checked(np.rollaxis, a, axis, start)
    axis, start = axis % a.ndim, start + a.ndim if start < 0 else start
    return np.moveaxis(a, axis, start - 1 if axis < start else start)


@composed(np.rot90)
def rot90(m, k=1, axes=(0, 1)):
    checked(np.rot90, m, k, axes)
    if k % 4 == 0:
        return m
    if k % 4 == 2:
        return np.flip(m, axes)
    return np.flip(np.swapaxes(m, *axes), axes[0]) if k % 4 == 1 else np.swapaxes(np.flip(m, axes[0]), *axes)


@composed(np.tile)
def tile(A, reps):  # noqa: N803  (NumPy's name)
    reps = (reps,) if np.ndim(reps) == 0 else tuple(reps)
    ndim = max(A.ndim, len(reps))
    shape, reps = (1,) * (ndim - A.ndim) + A.shape, (1,) * (ndim - len(reps)) + reps
    once = np.reshape(A, tuple(n for length in shape for n in (1, length)))
    often = np.broadcast_to(once, tuple(n for pair in zip(reps, shape, strict=True) for n in pair))
    return np.reshape(often, tuple(r * n for r, n in zip(reps, shape, strict=True)))


@composed(np.partition)
def partition(a, kth, axis=-1):
    a, axis = (a, axis) if axis is not None else (np.ravel(a), -1)
    return np.take_along_axis(a, np.argpartition(plain(a), kth, axis=axis), axis)


@composed(np.kron)
def kron(a, b):
    """Every element of `a` times all of `b`: one axis of each side by side, then joined."""
    ndim = max(np.ndim(a), np.ndim(b))
    rows = (1,) * (ndim - np.ndim(a)) + np.shape(a)
    columns = (1,) * (ndim - np.ndim(b)) + np.shape(b)
    blocks = np.reshape(a, tuple(n for length in rows for n in (length, 1)))
    blocks = blocks * np.reshape(b, tuple(n for length in columns for n in (1, length)))
    return np.reshape(blocks, tuple(m * n for m, n in zip(rows, columns, strict=True)))


@composed(np.full_like)
def full_like(a, fill_value, dtype=None, *, shape=None):
    if not isinstance(fill_value, TrackedArray):
        return np.full_like(plain(a), fill_value, dtype, shape=shape)
    return np.broadcast_to(of_type(fill_value, dtype or a.dtype), np.shape(a) if shape is None else shape)


@composed(np.unique)
def unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None):
    """Of equal elements the first gets the gradient."""
    numpys: Any = np.unique
    _, index, *others = numpys(plain(ar), True, return_inverse, return_counts, axis)
    values = np.take(ar, index, axis)
    found = (values, *([index] if return_index else []), *others)
    return found if len(found) > 1 else values


# -- put together
@composed(np.meshgrid)
def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    if indexing not in ("xy", "ij"):
        raise ValueError(f"np.meshgrid takes indexing 'xy' or 'ij', got {indexing!r}")
    grids = [np.reshape(x, (1,) * i + (-1,) + (1,) * (len(xi) - i - 1)) for i, x in enumerate(xi)]
    if indexing == "xy" and len(xi) > 1:
        grids = [np.swapaxes(x, 0, 1) for x in grids]
    return tuple(grids) if sparse else np.broadcast_arrays(*grids)


@composed(np.block)
def block(arrays):
    """Lists within lists: the innermost are joined along the last axis, those around them along the one before."""
    depth = nesting(arrays)
    ndim = max(depth, *(np.ndim(x) for x in leaves(arrays)))

    def joined(x, left):
        if left == 0:
            return np.reshape(x, (1,) * (ndim - np.ndim(x)) + np.shape(x))
        return np.concatenate([joined(part, left - 1) for part in x], axis=ndim - left)

    return joined(arrays, depth)


def nesting(x):
    if not isinstance(x, list):
        return 0
    depths = {nesting(part) for part in x}
    if len(depths) != 1:
        raise ValueError("np.block takes lists that are nested equally deep, and not empty")
    return 1 + depths.pop()


def leaves(x):
    return [leaf for part in x for leaf in leaves(part)] if isinstance(x, list) else [x]


@composed(np.insert)
def insert(arr, obj, values, axis=None):
    """The old and the new one behind the other, then in the order in which NumPy puts their positions."""
    arr, axis = (np.ravel(arr), 0) if axis is None else (arr, normalize_axis_index(axis, np.ndim(arr)))
    length = np.shape(arr)[axis]
    if np.ndim(obj) == 0 and not isinstance(obj, slice):
        values = np.reshape(values, (1,) * (np.ndim(arr) - np.ndim(values)) + np.shape(values))
        values = np.moveaxis(values, 0, axis)
        count = values.shape[axis]
    else:
        count = len(np.insert(np.zeros(length), obj, 0)) - length
    order = np.insert(np.arange(length), obj, np.arange(length, length + count))
    values = np.broadcast_to(values, (*np.shape(arr)[:axis], count, *np.shape(arr)[axis + 1 :]))
    return np.take(np.concatenate([arr, of_type(values, arr.dtype)], axis), order, axis)


# -- picked
@composed(np.delete)
def delete(arr, obj, axis=None):
    arr, axis = (np.ravel(arr), 0) if axis is None else (arr, axis)
    return np.take(arr, np.delete(np.arange(arr.shape[axis]), obj), axis)


@composed(np.compress)
def compress(condition, a, axis=None):
    if np.ndim(condition) != 1:
        raise ValueError("np.compress takes a condition with one axis")
    chosen = np.flatnonzero(condition if hasattr(condition, "dtype") else np.asarray(condition))
    return np.take(a, chosen, axis)


@composed(np.extract)
def extract(condition, arr):
    return np.compress(np.ravel(condition), np.ravel(arr))


@composed(np.select)
def select(condlist, choicelist, default=0):
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError("np.select takes as many conditions as choices, and at least one")
    if any(str(getattr(condition, "dtype", None)) != "bool" for condition in condlist):
        raise TypeError("np.select takes conditions that are arrays of booleans")
    result = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
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
    condlist = (
        [condlist] if getattr(condlist, "ndim", 0) == np.ndim(x) and hasattr(condlist, "dtype") else list(condlist)
    )
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
@composed(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(x, window_shape, axis=None):
    """Not a view here: each window has elements of its own, so that each has a gradient of its own."""
    checked(np.lib.stride_tricks.sliding_window_view, x, window_shape, axis)
    lengths = window_shape if isinstance(window_shape, (tuple, list)) else (window_shape,)
    axes = range(np.ndim(x)) if axis is None else normalize_axis_tuple(axis, np.ndim(x), allow_duplicate=True)
    for i, length in zip(axes, lengths, strict=True):
        windows = np.arange(np.shape(x)[i] - length + 1)[:, None] + np.arange(length)
        x = np.moveaxis(np.take(x, windows, i), i + 1, -1)
    return x


def unstack(x, /, *, axis=0):
    return tuple(np.moveaxis(x, axis, 0)[i] for i in range(np.shape(x)[axis]))


if hasattr(np, "unstack"):  # since NumPy 2.1
    composed(np.unstack)(unstack)
