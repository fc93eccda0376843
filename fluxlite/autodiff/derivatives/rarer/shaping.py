"""Other shapes, other orders, joined, cut, padded, picked, in ways that a network seldom needs; also curves.

A function here stands for NumPy's of the same name. Some move the elements' numbers, and take the elements by those.
"""

import functools

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from ....arrays import astype, of_type, on_device_of, primitive, scatter_add
from ...rules import composed, rule
from ...tracked import TrackedArray, plain
from ..elementwise import shape_of
from ..shaping import in_a_row, index_at_axis
from ..sums import axes_of


def checked(function, x, *args):
    """Let NumPy check the arguments of a function that only gives views, on an array that takes no memory."""
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
    if isinstance(shift, (tuple, list)):
        back = tuple(-s for s in shift)
    else:
        back = -shift
    return np.roll(g, back, axis)


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


def typed(x):
    """A Python number as a NumPy one, which has a type: for these products, NumPy makes arrays of its operands."""
    return x if hasattr(plain(x), "dtype") else np.ravel(x)[0]


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
    return [ary[index_at_axis(axis, ary.ndim, slice(start, end))] for start, end in zip(starts, ends, strict=True)]


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
        raise TypeError(f"np.pad has rules for constant, edge, reflect, symmetric and wrap, not for {mode!r}")
    for axis, width in enumerate(widths):
        source = np.pad(np.arange(array.shape[axis], dtype=np.int64), width, mode=mode)  # type: ignore[call-overload]
        array = np.take(array, source, axis=axis)
    return array


@composed(np.sort)
def sort(a, axis=-1):
    a, axis = in_a_row(a, axis)
    # Stable, so that on every processor the same one of several equal elements gets the gradient.
    return np.take_along_axis(a, np.argsort(plain(a), axis=axis, kind="stable"), axis)


@composed(np.diff)
def diff(a, n=1, axis=-1):
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    for _ in range(n):
        a = a[index_at_axis(axis, a.ndim, slice(1, None))] - a[index_at_axis(axis, a.ndim, slice(None, -1))]
    return a


# -- another order, or more of them
def rot90(m, k=1, axes=(0, 1)):
    checked(np.rot90, m, k, axes)
    for _ in range(k % 4):
        m = np.flip(np.swapaxes(m, *axes), axes[0])
    return m


def kron(a, b):
    """Every element of `a` times all of `b`: one axis of each side by side, then joined."""
    ndim = max(np.ndim(a), np.ndim(b))
    rows, columns = ((1,) * (ndim - np.ndim(x)) + np.shape(x) for x in (a, b))
    blocks = np.reshape(a, tuple(n for length in rows for n in (length, 1)))
    blocks = blocks * np.reshape(b, tuple(n for length in columns for n in (1, length)))
    return np.reshape(blocks, tuple(m * n for m, n in zip(rows, columns)))


def partition(a, kth, axis=-1):
    a, axis = in_a_row(a, axis)
    return np.take_along_axis(a, np.argpartition(plain(a), kth, axis=axis), axis)


def full_like(a, fill_value, dtype=None, *, shape=None):
    if not isinstance(fill_value, TrackedArray):
        return np.full_like(plain(a), fill_value, dtype, shape=shape)
    return np.broadcast_to(of_type(fill_value, dtype or a.dtype), np.shape(a) if shape is None else shape)


def unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None):
    """Of equal elements, the first gets the gradient."""
    _, index, *others = np.unique(plain(ar), True, return_inverse, return_counts, axis)  # type: ignore[call-overload]
    found = (np.take(ar, index, axis), *([index] if return_index else []), *others)
    return found if len(found) > 1 else found[0]


# -- put together
def numbers(x, first=0):
    """The number of each element of `x`, at its place."""
    return np.reshape(np.arange(first, first + np.size(x), dtype=np.int64), np.shape(x))


def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    places = np.meshgrid(*(np.arange(np.size(x), dtype=np.int64) for x in xi), sparse=sparse, indexing=indexing)
    return tuple(np.take(np.ravel(x), place) for x, place in zip(xi, places))


def block(arrays):
    row = []

    def numbered(x):
        if isinstance(x, list):
            return [numbered(part) for part in x]
        row.append(np.ravel(x))
        return numbers(x, sum(map(np.size, row[:-1])))

    places = np.block(numbered(arrays))
    return np.take(np.concatenate(row), places)


def insert(arr, obj, values, axis=None):
    places = np.insert(numbers(arr), obj, numbers(values, np.size(arr)), axis)
    return np.take(np.concatenate([np.ravel(arr), of_type(np.ravel(values), arr.dtype)]), places)


# -- picked
def delete(arr, obj, axis=None):
    arr, axis = in_a_row(arr, axis)
    return np.take(arr, np.delete(np.arange(arr.shape[axis], dtype=np.int64), obj), axis)


def compress(condition, a, axis=None):
    if np.ndim(condition) != 1:
        raise ValueError("np.compress takes a condition with one axis")
    return np.take(a, np.flatnonzero(condition if hasattr(condition, "dtype") else np.asarray(condition)), axis)


def select(condlist, choicelist, default=0):
    if any(str(getattr(condition, "dtype", None)) != "bool" for condition in condlist):
        raise TypeError("np.select takes conditions that are arrays of booleans")
    result = default
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        result = np.where(condition, choice, result)
    # Among arrays, a Python number has no type of its own; but from two such numbers np.where makes float64.
    return of_type(result, np.result_type(*(getattr(x, "dtype", x) for x in map(plain, [*choicelist, default]))))


def choose(a, choices):
    count = len(choices)
    if bool(np.any((plain(a) < 0) | (plain(a) >= count))):
        raise ValueError(f"np.choose of {count} arrays takes numbers from 0 to {count - 1}")
    return select([plain(a) == i for i in range(count)], [choices[i] for i in range(count)], choices[0])


def piecewise(x, condlist, funclist, *args):
    """Each function sees only the numbers that are its own; where conditions overlap, the last one holds."""
    is_one = getattr(condlist, "ndim", 0) == np.ndim(x) and hasattr(condlist, "dtype")
    condlist = [condlist] if is_one else list(condlist)
    if len(funclist) == len(condlist) + 1:
        condlist = [*condlist, ~functools.reduce(np.logical_or, condlist)]
    result = np.zeros_like(plain(x))
    taken = np.zeros_like(plain(x), dtype=bool)
    for condition, function in reversed(list(zip(condlist, funclist, strict=True))):
        own = condition & ~taken
        taken = taken | condition
        value = function
        if callable(function):
            value = function(x[own], *args)
        if np.ndim(value) > 0:  # as many as there are of its own
            value = scatter_add(np.zeros_like(plain(x)), own, of_type(value, x.dtype))
        result = np.where(own, value, result)
    return result


# -- running
def sums_behind(g, factors):
    """For each row ``g + factors * sum behind``, from the last one up: twice as many rows with each step."""
    step = 1
    factors = factors[1:]  # how much of the sum behind each row counts
    while step < len(g):
        g = np.concatenate([g[:-step] + factors * g[step:], g[-step:]])
        factors = factors[:-step] * factors[step:]
        step = 2 * step
    return g


def products_so_far(g, out, rows):
    """What's before, times the sum of the gradients behind, each with the factors in between: right at zeros, too."""
    wide = astype(rows, np.float64)  # in which a product of part of them is seldom too large
    before = np.concatenate([np.ones_like(plain(wide[:1])), np.cumprod(wide, axis=0)[:-1]])
    return astype(before * sums_behind(astype(g, np.float64), wide), rows.dtype)


# Along the first axis, by NumPy itself: in another order, a product on the way might be too large, or too small.
running_product = primitive(lambda rows: np.cumprod(rows, axis=0))
rule(running_product, products_so_far)


def cumprod(a, axis=None, dtype=None):
    if np.ndim(a) == 0 and axis in (0, -1):  # a number has no axis, but NumPy takes it for a row
        axis = None
    a, axis = in_a_row(a, axis)
    return np.moveaxis(running_product(np.moveaxis(of_type(a, dtype), axis, 0)), 0, axis)


def cumulative(running, start):
    def result(x, /, *, axis=None, dtype=None, include_initial=False):
        if axis is None and np.ndim(x) != 1:
            raise ValueError("with several axes, axis= says which")
        found = running(of_type(x, dtype), axis=axis or 0)
        if not include_initial:
            return found
        shape = list(np.shape(x))
        shape[axis or 0] = 1
        return np.concatenate([np.full_like(plain(found), start, shape=tuple(shape)), found], axis or 0)

    return result


# -- between, along
def linspace(start, stop, num=50, endpoint=True, *, axis=0):
    like = start if hasattr(start, "dtype") else stop
    if isinstance(start, (list, tuple)) or isinstance(stop, (list, tuple)):
        start, stop = all_arrays(start, stop)
    dtype = np.result_type(*(getattr(x, "dtype", x) for x in (start, stop)))  # one may be of whole numbers
    steps = on_device_of(plain(like), np.linspace(0, 1, num, endpoint, dtype=dtype))
    difference = stop - start
    result = start + np.reshape(steps, (num,) + (1,) * np.ndim(difference)) * difference
    if endpoint and num > 1:  # the last is `stop` itself, without a rounding on the way
        last = np.broadcast_to(of_type(stop, result.dtype), result[-1:].shape)
        result = np.concatenate([result[:-1], last])
    return np.moveaxis(result, 0, axis)


def ediff1d(ary, to_end=None, to_begin=None):
    parts = [to_begin, np.diff(np.ravel(ary)), to_end]
    return np.concatenate([np.ravel(part) for part in parts if part is not None])


def trapezoid(y, x=None, dx=1.0, axis=-1):
    if np.ndim(x) == 1:
        y = np.moveaxis(y, axis, -1)
        axis = -1
    widths = dx
    if x is not None:
        widths = np.diff(x, axis=axis)
    left, right = (y[index_at_axis(axis, np.ndim(y), part)] for part in (slice(-1), slice(1, None)))
    return np.sum(widths * (left + right) / 2, axis=axis)


def gradient(f, *varargs, axis=None, edge_order=1):
    """Half the difference of the neighbours; at the edges that of the first two, or a parabola through three."""
    axes = axes_of(f, axis) if axis is None else normalize_axis_tuple(axis, np.ndim(f))
    if edge_order not in (1, 2) or any(f.shape[i] < edge_order + 1 for i in axes):
        raise ValueError("np.gradient takes edge_order 1 or 2, and an axis that is longer than that")
    if any(np.ndim(spacing) > 0 for spacing in varargs):
        raise TypeError("np.gradient has a derivative rule for spacings that are numbers, not for coordinates")
    spacings = varargs * len(axes) if len(varargs) == 1 else varargs or (1.0,) * len(axes)
    dtype = f.dtype if f.dtype.kind == "f" else np.float64
    found = tuple(of_type(slopes(f, i, edge_order) / spacing, dtype) for i, spacing in zip(axes, spacings, strict=True))
    return found[0] if len(found) == 1 else found


def slopes(f, axis, edge_order):
    f = np.moveaxis(f, axis, 0)
    if edge_order == 2:
        first = (4 * f[1:2] - 3 * f[:1] - f[2:3]) / 2
        last = (3 * f[-1:] - 4 * f[-2:-1] + f[-3:-2]) / 2
    else:
        first = f[1:2] - f[:1]
        last = f[-1:] - f[-2:-1]
    return np.moveaxis(np.concatenate([first, (f[2:] - f[:-2]) / 2, last]), 0, axis)


def interp(x, xp, fp, left=None, right=None):
    x, xp, fp = (of_type(y if hasattr(y, "dtype") else np.asarray(y), np.float64) for y in (x, xp, fp))
    if xp.shape != fp.shape or xp.ndim != 1 or xp.size == 0:
        raise ValueError(f"np.interp takes as many xp as fp, got shapes {xp.shape} and {fp.shape}")
    place = np.clip(np.searchsorted(plain(xp), plain(x), side="right") - 1, 0, max(xp.size - 2, 0))
    after = np.minimum(place + 1, xp.size - 1)
    width = xp[after] - xp[place]
    slope = (fp[after] - fp[place]) / np.where(width == 0, 1, width)
    result = fp[place] + slope * (x - xp[place])
    # Beside an infinite point that may be undecided. As NumPy does: from the other side, then the points themselves.
    if not bool(np.all(np.isfinite(plain(result)))):
        result = np.where(np.isnan(plain(result)), fp[after] + slope * (x - xp[after]), result)
        is_flat = np.isnan(plain(result)) & (plain(fp[after]) == plain(fp[place]))
        result = np.where(is_flat | (plain(x) == plain(xp[place])), fp[place], result)
    result = np.where(x < xp[0], fp[0] if left is None else left, result)
    return np.where(x > xp[-1], fp[-1] if right is None else right, result)


def polyval(p, x):
    result = np.zeros_like(plain(x)) if hasattr(x, "dtype") else 0 * np.asarray(x)
    return functools.reduce(lambda result, i: result * x + typed(p[i]), range(len(p)), result)


def vander(x, N=None, increasing=False):  # noqa: N803  (NumPy's name)
    if np.ndim(x) != 1 or (N or 0) < 0:
        raise ValueError(f"np.vander takes a vector, and N from 0, got shape {np.shape(x)} and N={N}")
    powers = range(np.size(x) if N is None else N)
    x = of_type(x, np.promote_types(x.dtype, int))
    columns = [x**i for i in (powers if increasing else reversed(powers))]
    return np.stack(columns, axis=1) if columns else x[:, None][:, :0]


def of_convolve(other, own):
    """The gradient of one of the two, by the `other`: "full" backwards is "valid". Other modes are its middle."""

    def pullback(g, out, a, v, mode="full"):
        whole, shorter = np.size(a) + np.size(v) - 1, min(np.size(a), np.size(v))
        before = {"full": 0, "same": (shorter - 1) // 2, "valid": shorter - 1}[mode]
        g = np.pad(g, (before, whole - before - g.shape[0]))
        return np.reshape(np.convolve(g, np.flip(np.ravel((a, v)[other])), "valid"), shape_of((a, v)[own]))

    return pullback


# -- the table: first those with NumPy's names, then those of one line
for same in (
    rot90, kron, partition, full_like, unique, meshgrid, block, insert, delete, compress, select, choose, piecewise,
    cumprod, linspace, ediff1d, trapezoid, gradient, interp, polyval, vander,
):  # fmt: skip
    composed(getattr(np, same.__name__))(same)

rule(np.convolve, of_convolve(1, 0), of_convolve(0, 1))


@composed(np.tile)
def tile(A, reps):
    np.tile(np.False_, reps)  # raises for what can't be a number of repetitions
    return kron(np.ones_like(plain(A), shape=tuple(np.ravel(reps))), A)


composed(np.extract)(lambda condition, arr: np.compress(np.ravel(condition), np.ravel(arr)))
# An array as long along each axis as the axis's number: its shape shows where each one went.
composed(np.rollaxis)(lambda a, axis, start=0: np.transpose(a, np.rollaxis(np.empty(range(a.ndim)), axis, start).shape))
# Not a view here: each window has elements of its own, so that each has a gradient of its own.
windows = np.lib.stride_tricks.sliding_window_view
composed(windows)(lambda x, window_shape, axis=None: np.take(np.ravel(x), windows(numbers(x), window_shape, axis)))
if hasattr(np, "unstack"):  # since NumPy 2.1
    composed(np.unstack)(lambda x, /, *, axis=0: tuple(np.moveaxis(x, axis, 0)[i] for i in range(np.shape(x)[axis])))
    composed(np.cumulative_sum)(cumulative(np.cumsum, 0))
    composed(np.cumulative_prod)(cumulative(np.cumprod, 1))
