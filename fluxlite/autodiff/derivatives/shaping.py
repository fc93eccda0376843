"""Functions that put elements elsewhere: other shapes, other order, joined, cut, repeated, picked."""

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ...arrays import getitem, on_device_of, primitive, scatter_add
from ..rules import composed, rule, rule_for_each
from ..tracked import plain
from .elementwise import checked, fit, shape_of


def along(axis, ndim, index):
    """``x[:, :, index]`` with `index` at `axis`."""
    return (slice(None),) * normalize_axis_index(axis, ndim) + (index,)


# -- another shape
def reshaped_back(g, a, order):
    if order not in ("C", "F"):  # "A" and "K" follow the memory of `a`, not of `g`
        raise TypeError(f'reshape and ravel have a derivative rule for order="C" and "F", not for {order!r}')
    return np.reshape(g, shape_of(a), order=order)


rule(np.reshape, lambda g, out, a, shape, order="C": reshaped_back(g, a, order))
rule(np.ravel, lambda g, out, a, order="C": reshaped_back(g, a, order))
rule(np.expand_dims, lambda g, out, a, axis: np.reshape(g, shape_of(a)))
rule(np.squeeze, lambda g, out, a, axis=None: np.reshape(g, shape_of(a)))
rule(np.broadcast_to, lambda g, out, array, shape: fit(g, array))


def each_array(at_least):
    def several(*arrays):
        results = tuple(at_least(x) for x in arrays)
        return results[0] if len(results) == 1 else results

    return several


composed(np.atleast_1d)(each_array(lambda x: np.reshape(x, (1,)) if np.ndim(x) == 0 else x))
composed(np.atleast_2d)(each_array(lambda x: np.reshape(x, (1,) * (2 - np.ndim(x)) + np.shape(x))))


@composed(np.atleast_3d)
@each_array
def atleast_3d(x):
    shapes = {0: (1, 1, 1), 1: (1, *np.shape(x), 1), 2: (*np.shape(x), 1)}
    return np.reshape(x, shapes.get(np.ndim(x), np.shape(x)))


@composed(np.broadcast_arrays)
def broadcast_arrays(*arrays):
    shape = np.broadcast_shapes(*(np.shape(x) for x in arrays))
    return tuple(np.broadcast_to(x, shape) for x in arrays)


# -- another order
def inverse(axes):
    """The permutation that undoes `axes`."""
    if axes is None:
        return None
    axes = [i % len(axes) for i in axes]
    return tuple(axes.index(i) for i in range(len(axes)))


rule(np.transpose, lambda g, out, a, axes=None: np.transpose(g, inverse(axes)))
rule(np.matrix_transpose, lambda g, out, x: np.swapaxes(g, -1, -2))
rule(np.swapaxes, lambda g, out, a, axis1, axis2: np.swapaxes(g, axis1, axis2))
rule(np.moveaxis, lambda g, out, a, source, destination: np.moveaxis(g, destination, source))
rule(np.flip, lambda g, out, m, axis=None: np.flip(g, axis))


composed(np.fliplr)(lambda m: np.flip(m, 1))
composed(np.flipud)(lambda m: np.flip(m, 0))


def rolled_back(g, out, a, shift, axis=None):
    back = tuple(-s for s in shift) if isinstance(shift, (tuple, list)) else -shift
    return np.roll(g, back, axis)


rule(np.roll, rolled_back)


# -- joined
def part_of_concatenate(position, g, out, arrays, axis=0):
    x = arrays[position]
    if axis is None:
        start = sum(int(np.size(y)) for y in arrays[:position])
        return np.reshape(g[start : start + np.size(x)], shape_of(x))
    start = sum(np.shape(y)[axis] for y in arrays[:position])
    return g[along(axis, x.ndim, slice(start, start + x.shape[axis]))]


def part_of_stack(position, g, out, arrays, axis=0):
    return g[along(axis, g.ndim, position)]


rule_for_each(np.concatenate, part_of_concatenate, sequence=True)
rule_for_each(np.stack, part_of_stack, sequence=True)

composed(np.vstack)(lambda tup: np.concatenate([np.atleast_2d(x) for x in tup], axis=0))
composed(np.dstack)(lambda tup: np.concatenate([np.atleast_3d(x) for x in tup], axis=2))


@composed(np.hstack)
def hstack(tup):
    arrays = [np.atleast_1d(x) for x in tup]
    return np.concatenate(arrays, axis=0 if arrays[0].ndim == 1 else 1)


@composed(np.column_stack)
def column_stack(tup):
    return np.concatenate([x if np.ndim(x) > 1 else np.reshape(x, (-1, 1)) for x in tup], axis=1)


def all_arrays(*operands):
    """Lists and Python numbers as arrays, on the device of an operand that is one."""
    like = next((x for x in map(plain, operands) if hasattr(x, "dtype")), None)
    return [x if hasattr(x, "dtype") else on_device_of(like, np.asarray(x)) for x in operands]


@composed(np.append)
def append(arr, values, axis=None):
    # Here NumPy makes an array of a Python number; in np.concatenate it has no type of its own.
    return np.concatenate(all_arrays(arr, values), axis=axis)


# -- cut
@composed(np.array_split)
def array_split(ary, indices_or_sections, axis=0):
    checked(np.array_split, ary, indices_or_sections, axis)
    length = ary.shape[axis]
    if np.ndim(indices_or_sections) == 0:
        size, longer = divmod(length, int(indices_or_sections))
        ends = np.cumsum([size + 1] * longer + [size] * (int(indices_or_sections) - longer)).tolist()
    else:
        ends = [*indices_or_sections, length]
    starts = [0, *ends[:-1]]
    return [ary[along(axis, ary.ndim, slice(start, end))] for start, end in zip(starts, ends, strict=True)]


@composed(np.split)
def split(ary, indices_or_sections, axis=0):
    if np.ndim(indices_or_sections) == 0 and ary.shape[axis] % indices_or_sections:
        raise ValueError("array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


composed(np.hsplit)(lambda ary, indices_or_sections: split(ary, indices_or_sections, 0 if ary.ndim == 1 else 1))
composed(np.dsplit)(lambda ary, indices_or_sections: split(ary, indices_or_sections, 2))


@composed(np.vsplit)
def vsplit(ary, indices_or_sections):
    checked(np.vsplit, ary, indices_or_sections)
    return split(ary, indices_or_sections, 0)


# -- repeated
def repeated(g, out, a, repeats, axis=None):
    shape, axis = (a.shape, axis % a.ndim) if axis is not None else ((np.size(a),), 0)
    if isinstance(repeats, int):
        each = np.reshape(g, (*shape[: axis + 1], repeats, *shape[axis + 1 :]))
        return np.reshape(np.sum(each, axis=axis + 1), shape_of(a))
    source = np.repeat(np.arange(shape[axis]), repeats)
    like = np.zeros_like(plain(a), shape=shape)
    return np.reshape(scatter_add(like, along(axis, len(shape), source), g), shape_of(a))


rule(np.repeat, repeated)


@primitive
def pad_with(x, widths, value):
    return np.pad(x, widths, constant_values=value)


def unpadded(g, out, x, widths, value):
    return g[tuple(slice(before, before + n) for (before, _), n in zip(widths, x.shape, strict=True))]


rule(pad_with, unpadded)


@composed(np.pad)
def pad(array, pad_width, mode="constant", constant_values=0):
    if np.ndim(array) == 0:  # there's no axis to make longer
        checked(np.pad, array, pad_width, mode)
        return array
    widths = tuple(map(tuple, np.broadcast_to(pad_width, (array.ndim, 2)).tolist()))
    if mode == "constant":
        return pad_with(array, widths, constant_values)
    if mode not in ("edge", "reflect", "symmetric", "wrap"):
        raise TypeError(
            f"np.pad has derivative rules for constant, edge, reflect, symmetric and wrap, not for {mode!r}"
        )
    for axis, width in enumerate(widths):
        source = np.pad(np.arange(array.shape[axis]), width, mode=mode)  # type: ignore[call-overload]
        array = np.take(array, source, axis=axis)
    return array


# -- picked
@composed(np.take)
def take(a, indices, axis=None):
    indices = list(indices) if isinstance(indices, tuple) else indices  # a tuple would be one index for each axis
    return getitem(np.ravel(a), indices) if axis is None else getitem(a, along(axis, a.ndim, indices))


def taken_along(g, out, arr, indices, axis=-1):
    if axis is None:
        return np.reshape(scatter_add(np.ravel(plain(arr)), indices, g), arr.shape)
    everywhere = [np.arange(n, like=plain(arr)) for n in arr.shape]
    index = [np.reshape(i, (1,) * k + (-1,) + (1,) * (arr.ndim - k - 1)) for k, i in enumerate(everywhere)]
    index[axis] = indices
    return scatter_add(plain(arr), tuple(index), g)


rule(np.take_along_axis, taken_along)


@composed(np.sort)
def sort(a, axis=-1):
    a, axis = (a, axis) if axis is not None else (np.ravel(a), -1)
    return np.take_along_axis(a, np.argsort(plain(a), axis=axis), axis)


rule(np.tril, lambda g, out, m, k=0: np.tril(g, k))
rule(np.triu, lambda g, out, m, k=0: np.triu(g, k))


@composed(np.diff)
def diff(a, n=1, axis=-1):
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    for _ in range(n):
        a = a[along(axis, a.ndim, slice(1, None))] - a[along(axis, a.ndim, slice(None, -1))]
    return a
