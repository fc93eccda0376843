"""Functions that put elements elsewhere: other shapes, other order, joined, repeated, picked, moved."""

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ...arrays import add_at, array_of, astype, device_of, getitem, move, scatter_add
from ..rules import composed, rule, rule_for_each
from ..tracked import plain
from .elementwise import shape_of, total, unbroadcast


def index_at_axis(axis, ndim, index):
    """``x[:, :, index]`` with `index` at `axis`."""
    return (slice(None),) * normalize_axis_index(axis, ndim) + (index,)


def in_a_row(a, axis):
    """(array, axis) for what takes all elements in a row if no `axis` is given."""
    if axis is None:
        return np.ravel(a), 0
    return a, axis


# -- another shape
def reshaped_back(g, a, order):
    if order not in ("C", "F"):  # "A" and "K" follow the memory of `a`, not of `g`
        raise TypeError(f'reshape and ravel have a derivative rule for order="C" and "F", not for {order!r}')
    return np.reshape(g, shape_of(a), order=order)


rule(np.reshape, lambda g, out, a, shape, order="C": reshaped_back(g, a, order))
rule(np.ravel, lambda g, out, a, order="C": reshaped_back(g, a, order))
rule(np.expand_dims, lambda g, out, a, axis: np.reshape(g, shape_of(a)))
rule(np.squeeze, lambda g, out, a, axis=None: np.reshape(g, shape_of(a)))
rule(np.broadcast_to, lambda g, out, array, shape: unbroadcast(g, array))


# -- another order
def inverse(axes):
    """The permutation that undoes `axes`."""
    axes = [i % len(axes) for i in axes]
    return tuple(axes.index(i) for i in range(len(axes)))


rule(np.transpose, lambda g, out, a, axes=None: np.transpose(g, None if axes is None else inverse(axes)))
rule(np.matrix_transpose, lambda g, out, x: np.swapaxes(g, -1, -2))
rule(np.swapaxes, lambda g, out, a, axis1, axis2: np.swapaxes(g, axis1, axis2))
rule(np.moveaxis, lambda g, out, a, source, destination: np.moveaxis(g, destination, source))
rule(np.flip, lambda g, out, m, axis=None: np.flip(g, axis))


# -- joined
def part_of_concatenate(position, g, out, arrays, axis=0):
    x = arrays[position]
    if axis is None:
        start = sum(int(np.size(y)) for y in arrays[:position])
        return np.reshape(g[start : start + np.size(x)], shape_of(x))
    start = sum(np.shape(y)[axis] for y in arrays[:position])
    return g[index_at_axis(axis, x.ndim, slice(start, start + x.shape[axis]))]


rule_for_each(np.concatenate, part_of_concatenate, sequence=True)
rule_for_each(
    np.stack, lambda position, g, out, arrays, axis=0: g[index_at_axis(axis, g.ndim, position)], sequence=True
)


# -- repeated
def repeated(g, out, a, repeats, axis=None):
    shape = (np.size(a),)
    if axis is None:
        axis = 0
    else:
        shape = a.shape
        axis = axis % a.ndim
    if isinstance(repeats, int):
        each = np.reshape(g, (*shape[: axis + 1], repeats, *shape[axis + 1 :]))
        return np.reshape(total(each, axis=axis + 1), shape_of(a))
    source = np.repeat(np.arange(shape[axis], dtype=np.int64), repeats)
    like = np.zeros_like(plain(a), shape=shape)
    return np.reshape(scatter_add(like, index_at_axis(axis, len(shape), source), g), shape_of(a))


rule(np.repeat, repeated)


# -- picked, and of another type or elsewhere: our own operations
rule(
    getitem,
    lambda g, out, x, index: scatter_add(plain(x), index, g),
    add_into=lambda total, g, out, x, index: add_at(total, index, g),
)
rule(scatter_add, None, None, lambda g, out, like, index, values: unbroadcast(getitem(g, index), values))
rule(astype, lambda g, out, x, dtype: astype(g, x.dtype))
rule(move, lambda g, out, x, device, dtype=None: move(g, device_of(array_of(plain(x))), x.dtype))


@composed(np.take)
def take(a, indices, axis=None):
    if isinstance(indices, tuple):  # which would be one index for each axis
        indices = list(indices)
    if axis is None:
        return getitem(np.ravel(a), indices)
    return getitem(a, index_at_axis(axis, a.ndim, indices))


def taken_along(g, out, arr, indices, axis=-1):
    if axis is None:
        return np.reshape(scatter_add(np.ravel(plain(arr)), indices, g), arr.shape)
    everywhere = [np.arange(n, dtype=np.int64, like=plain(arr)) for n in arr.shape]
    index = [np.reshape(i, (1,) * k + (-1,) + (1,) * (arr.ndim - k - 1)) for k, i in enumerate(everywhere)]
    index[axis] = indices
    return scatter_add(plain(arr), tuple(index), g)


rule(np.take_along_axis, taken_along)
rule(np.tril, lambda g, out, m, k=0: np.tril(g, k))
rule(np.triu, lambda g, out, m, k=0: np.triu(g, k))
