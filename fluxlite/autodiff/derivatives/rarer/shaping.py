"""Other shapes, other orders, joined, cut and padded, in ways that a network seldom needs."""

import numpy as np

from ....arrays import on_device_of, primitive
from ...rules import composed, rule
from ...tracked import plain
from ..elementwise import shape_of
from ..shaping import along


def checked(function, x, *args):
    """Let NumPy look at the arguments of a function that only gives views: of an array that takes no memory."""
    function(np.broadcast_to(np.zeros(()), shape_of(x)), *args)


def each_array(shape):
    def several(*arrays):
        results = tuple(np.reshape(x, shape(*np.shape(x))) for x in arrays)
        return results[0] if len(results) == 1 else results

    return several


composed(np.atleast_1d)(each_array(lambda *shape: shape or (1,)))
composed(np.atleast_2d)(each_array(lambda *shape: (1,) * (2 - len(shape)) + shape))
composed(np.atleast_3d)(each_array(lambda *shape: ((1,) * (len(shape) < 2) + shape + (1, 1))[: max(3, len(shape))]))


@composed(np.broadcast_arrays)
def broadcast_arrays(*arrays):
    shape = np.broadcast_shapes(*(np.shape(x) for x in arrays))
    return tuple(np.broadcast_to(x, shape) for x in arrays)


def rolled_back(g, out, a, shift, axis=None):
    return np.roll(g, tuple(-s for s in shift) if isinstance(shift, (tuple, list)) else -shift, axis)


rule(np.roll, rolled_back)
composed(np.fliplr)(lambda m: np.flip(m, 1))
composed(np.flipud)(lambda m: np.flip(m, 0))
composed(np.vstack)(lambda tup: np.concatenate([np.atleast_2d(x) for x in tup], axis=0))
composed(np.dstack)(lambda tup: np.concatenate([np.atleast_3d(x) for x in tup], axis=2))


@composed(np.hstack)
def hstack(tup):
    arrays = [np.atleast_1d(x) for x in tup]
    return np.concatenate(arrays, axis=0 if arrays[0].ndim == 1 else 1)


composed(np.column_stack)(
    lambda tup: np.concatenate([x if np.ndim(x) > 1 else np.reshape(x, (-1, 1)) for x in tup], axis=1)
)


def all_arrays(*operands):
    """Lists and Python numbers as arrays, on the device of an operand that is one."""
    like = next((x for x in map(plain, operands) if hasattr(x, "dtype")), None)
    return [x if hasattr(x, "__array_function__") else on_device_of(like, np.asarray(x)) for x in operands]


@composed(np.append)
def append(arr, values, axis=None):
    # Here NumPy makes an array of a Python number; in np.concatenate it has no type of its own.
    return np.concatenate(all_arrays(arr, values), axis=axis)


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


@primitive
def pad_with(x, widths, value):
    return np.pad(x, widths, constant_values=value)


rule(pad_with, lambda g, out, x, widths, value: g[tuple(slice(at, at + n) for (at, _), n in zip(widths, x.shape))])


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


@composed(np.sort)
def sort(a, axis=-1):
    a, axis = (a, axis) if axis is not None else (np.ravel(a), -1)
    return np.take_along_axis(a, np.argsort(plain(a), axis=axis), axis)


@composed(np.diff)
def diff(a, n=1, axis=-1):
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    for _ in range(n):
        a = a[along(axis, a.ndim, slice(1, None))] - a[along(axis, a.ndim, slice(None, -1))]
    return a
