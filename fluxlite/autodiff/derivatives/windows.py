"""Windows that slide over pictures and sequences: convolution and pooling, with their derivatives.

A picture is ``(N, H, W, features)``, a sequence ``(N, T, features)``. The window of a result is cut out without a copy,
by strides; then one matrix product computes all results at once. In memory the observations are last, ``(features, H,
W, N)``: neighbours are then computed alike, in long runs. `np.swapaxes` shows that memory in the order above.
"""

import functools
import math
import operator
from typing import Any, NamedTuple

import numpy as np

from ...array_kinds import array_kind, is_plain
from ...arrays import astype, in_float32, is_half, primitive
from ..rules import rule
from ..tracked import plain
from .shaping import index_at_axis


class Windows(NamedTuple):
    """Where the windows lie: for each axis between the first and the last, one entry."""

    kernel: tuple[int, ...]  # the window's size
    stride: tuple[int, ...]  # from one window to the next
    pad: tuple[tuple[int, int], ...]  # how much is added, before and after
    dilation: tuple[int, ...]  # from one element in a window to the next
    groups: int = 1  # the features are cut into this many parts, each with results of its own

    def extent(self):
        """From the first to the last element of a window."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.kernel, self.dilation))

    def places(self, space):
        """How many windows there are in an input of these lengths; 0 or less if it's too small."""
        zipped = zip(wider(space, self.pad), self.extent(), self.stride)
        return tuple((length - extent) // stride + 1 for length, extent, stride in zipped)


def wider(space, pad):
    return tuple(length + before + after for length, (before, after) in zip(space, pad))


def inside(space, pad):
    """Where in an array with this padding the input lies."""
    return (slice(None), *(slice(before, before + length) for length, (before, _) in zip(space, pad)))


# -- convolution: three products, and each one's derivatives are the other two
def on_the_host_in_float32(function):
    """A card adds a product of float16 up in float32. So does NumPy, but with a product of float32 it's far quicker."""
    in_full = in_float32(function)

    @functools.wraps(function)
    def product(x, *operands):
        if is_plain(x):
            return in_full(x, *operands)
        return function(x, *operands)

    return product


@primitive
@on_the_host_in_float32
def convolve(x, weight, at):
    """The sum of each window's products with `weight`, unflipped: ``(N, *places, outputs)`` (NNlib: ``conv``).

    `x` is ``(N, *space, inputs)``, `weight` ``(*kernel, inputs / groups, outputs)``.
    """
    kernel = np.swapaxes(_by_group(weight, at), 1, 2)
    places = at.places(x.shape[1:-1])
    products = [kernel @ columns for _, columns in _columns(x, at)]
    product = products[0]
    if len(products) > 1:
        product = np.concatenate(products, axis=2)
    return np.swapaxes(np.reshape(product, (weight.shape[-1], *places, x.shape[0])), 0, -1)


@primitive
@on_the_host_in_float32
def convolve_back(y, weight, at, space):
    """Spread each element of `y` over its window, by `weight`: ``(N, *space, inputs)`` (NNlib: ``∇conv_data``)."""
    kernel = _by_group(weight, at)
    n, *places, _ = y.shape
    inputs = weight.shape[-2] * at.groups
    room = wider(space, at.pad)
    dtype = np.result_type(y, weight)
    sums = np.promote_types(dtype, np.float32)  # where windows overlap, it's added up
    total = np.zeros_like(y, shape=(at.groups, weight.shape[-2], *room, n), dtype=sums, order="C")
    for piece in _pieces(y, at, inputs, places):
        here = [len(range(places[0])[piece]), *places[1:]]
        columns = np.reshape(kernel @ _rows(y[:, piece], at), (at.groups, *at.kernel, weight.shape[-2], *here, n))
        for offset in np.ndindex(at.kernel):
            first = [i * d for i, d in zip(offset, at.dilation)]
            first[0] += (piece.start or 0) * at.stride[0]
            steps = (slice(i, i + (count - 1) * s + 1, s) for i, count, s in zip(first, here, at.stride))
            part = total[(slice(None), slice(None), *steps)]
            part += columns[(slice(None), *offset)]
    result = np.swapaxes(np.reshape(total, (inputs, *room, n))[inside(space, at.pad)], 0, -1)
    return astype(result, dtype)


@primitive
@on_the_host_in_float32
def convolve_kernel(x, y, at):
    """The sum of each window times its element of `y`, shaped like the weight (NNlib: ``∇conv_filter``)."""
    products = (columns @ np.swapaxes(_rows(y[:, piece], at), 1, 2) for piece, columns in _columns(x, at))
    product = functools.reduce(operator.iadd, products)
    return np.reshape(np.swapaxes(product, 0, 1), (*at.kernel, x.shape[-1] // at.groups, y.shape[-1]))


rule(
    convolve,
    lambda g, out, x, weight, at: convolve_back(g, weight, at, x.shape[1:-1]),
    lambda g, out, x, weight, at: convolve_kernel(x, g, at),
)
rule(
    convolve_back,
    lambda g, out, y, weight, at, space: convolve(g, weight, at),
    lambda g, out, y, weight, at, space: convolve_kernel(g, y, at),
)
rule(
    convolve_kernel,
    lambda g, out, x, y, at: convolve_back(y, g, at, x.shape[1:-1]),
    lambda g, out, x, y, at: convolve(x, g, at),
)


def _columns(x, at):
    """Each window as a column, by pieces: (piece, ``(groups, kernel * inputs / groups, places * N)``)."""
    n, *space, inputs = x.shape
    dims = len(space)
    places = at.places(tuple(space))
    windows = sliding(_laid_out(x, at), at.extent(), tuple(range(1, dims + 1)))
    steps = [slice(None, None, step) for step in (1, *at.stride, 1, *at.dilation)]
    windows = windows[tuple(steps)]
    windows = np.reshape(windows, (at.groups, inputs // at.groups, *windows.shape[1:]))
    windows = np.transpose(windows, (0, *range(dims + 3, 2 * dims + 3), *range(1, dims + 3)))  # the kernel first
    rows = math.prod(at.kernel) * inputs // at.groups
    for piece in _pieces(x, at, inputs, places):
        here = windows[(..., piece, *[slice(None)] * dims)]
        yield piece, np.reshape(here, (at.groups, rows, math.prod(here.shape[-1 - dims :])))


_AT_ONCE = 1 << 22  # bytes: smaller pieces are more calls, larger ones take longer to reach in memory


def _pieces(x, at, inputs, places):
    """Pieces of the first axis of the `places` whose windows, copied out, stay near the processor.

    That's quicker where there's much to copy, and takes less memory. A GPU gets it all at once: each piece is a launch.
    """
    row = math.prod((*at.kernel, inputs, *places[1:], x.shape[0])) * x.itemsize
    many = places[0]
    if is_plain(x) and row:
        many = max(1, _AT_ONCE // row)
    if many >= places[0]:
        return [slice(None)]
    return [slice(i, i + many) for i in range(0, places[0], many)]


def sliding(x, extent, axes):
    """All windows of this extent along these axes, as a view: NumPy's way, or a better one that a device has."""
    kind: Any = array_kind(x)
    return kind.sliding(x, extent, axes)


def _laid_out(x, at):
    """`x` with its padding, the observations last, row by row in memory."""
    x = np.swapaxes(x, 0, -1)
    if not any(map(any, at.pad)):
        if x.flags.c_contiguous:
            return x
        return np.copy(x, order="C")
    room = np.zeros_like(x, shape=(x.shape[0], *wider(x.shape[1:-1], at.pad), x.shape[-1]), order="C")
    room[inside(x.shape[1:-1], at.pad)] = x
    return room


def _by_group(weight, at):
    """``(groups, kernel * inputs / groups, outputs / groups)``."""
    rows, outputs = math.prod(weight.shape[:-1]), weight.shape[-1]
    return np.swapaxes(np.reshape(weight, (rows, at.groups, outputs // at.groups)), 0, 1)


def _rows(y, at):
    """``(groups, outputs / groups, places * N)``."""
    outputs, columns = y.shape[-1], math.prod(y.shape[:-1])
    return np.reshape(np.swapaxes(y, 0, -1), (at.groups, outputs // at.groups, columns))


# -- pooling: along one axis after the other
# The largest, and the sum, of each window of `size` elements along `axis`.
max_along = primitive(lambda x, axis, size, stride: _combined(np.maximum, x, axis, size, stride))
sum_along = primitive(in_float32(lambda x, axis, size, stride: _combined(np.add, x, axis, size, stride)))


@primitive
def spread_to_first(y, x, largest, axis, size, stride):
    """`y` at the place of each window's largest element, the first if several are equal; elsewhere 0."""
    total = np.zeros_like(x, dtype=np.float32 if is_half(y) and stride < size else y.dtype)
    for part, is_first in zip(_elements(total, axis, size, stride), _first(x, largest, axis, size, stride)):
        if stride < size:
            part += y * is_first
        else:  # no window reaches into another
            np.multiply(y, is_first, out=part)
    return astype(total, y.dtype)


@primitive
def taken_from_first(z, x, largest, axis, size, stride):
    """The element of `z` at the place of the largest element of `x`, in each window."""
    total = np.zeros_like(largest, dtype=z.dtype)
    for part, is_first in zip(_elements(z, axis, size, stride), _first(x, largest, axis, size, stride)):
        total += part * is_first
    return total


rule(max_along, lambda g, out, x, *window: spread_to_first(g, plain(x), plain(out), *window))
rule(spread_to_first, lambda g, out, y, x, largest, *window: taken_from_first(g, x, largest, *window))
rule(taken_from_first, lambda g, out, z, x, largest, *window: spread_to_first(g, x, largest, *window))


@primitive
@in_float32
def spread_along(y, axis, size, stride, length):
    """Each element of `y` at every place of its window, in an array with that `length` along `axis`."""
    total = np.zeros_like(y, shape=(*y.shape[:axis], length, *y.shape[axis + 1 :]))
    for part in _elements(total, axis, size, stride):
        part += y
    return total


rule(sum_along, lambda g, out, x, axis, size, stride: spread_along(g, axis, size, stride, x.shape[axis]))
rule(spread_along, lambda g, out, y, axis, size, stride, length: sum_along(g, axis, size, stride))


@primitive
def padded(x, pad, value):
    """`x` with `value` around it, in the same order in memory (`np.pad` would change it)."""
    room = np.full_like(x, value, shape=(x.shape[0], *wider(x.shape[1:-1], pad), x.shape[-1]))
    room[inside(x.shape[1:-1], pad)] = x
    return room


rule(padded, lambda g, out, x, pad, value: g[inside(x.shape[1:-1], pad)])


def _elements(x, axis, size, stride):
    """The first elements of all windows, then the second ones, and so on: views of `x`."""
    last = (x.shape[axis] - size) // stride * stride + 1
    return (x[index_at_axis(axis, x.ndim, slice(i, i + last, stride))] for i in range(size))


def _combined(function, x, axis, size, stride):
    first, *others = _elements(x, axis, size, stride)
    total = function(first, others.pop(0)) if others else np.copy(first)
    for part in others:
        function(total, part, out=total)
    return total


def _first(x, largest, axis, size, stride):
    """For the first elements of all windows, then the second ones, …: whether they are the first of the largest."""
    free = None  # the windows whose largest element hasn't come yet
    for i, part in enumerate(_elements(x, axis, size, stride)):
        if i == size - 1 and free is not None:
            yield free  # even in a window with a NaN, which equals nothing: its gradient must not be lost
            return
        is_first = part == largest
        if free is not None:
            is_first = is_first & free
        yield is_first
        if free is None:
            free = ~is_first
        else:
            free = free ^ is_first
