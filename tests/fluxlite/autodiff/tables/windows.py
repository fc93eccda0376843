"""Convolution and pooling: every rule of fluxlite/autodiff/derivatives/windows.py."""

import math

import numpy as np
from gradcheck import Call
from hypothesis import strategies as st
from inside import Windows, convolve, convolve_back, convolve_kernel, windows
from operands import calls


def numbers(draw, *shape):
    """Different ones, so far apart that a small step doesn't change their order."""
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    return np.reshape(rng.permutation(math.prod(shape)), shape) / 10 - math.prod(shape) / 20


@st.composite
def geometries(draw):
    """Windows with every setting, an input's lengths that fit them, and numbers of observations and features."""
    dims = draw(st.integers(1, 2))
    each = lambda low, high: tuple(draw(st.integers(low, high)) for _ in range(dims))  # noqa: E731
    pad = tuple(zip(each(0, 1), each(0, 2)))
    groups = draw(st.integers(1, 2))
    at = Windows(each(1, 3), each(1, 3), pad, each(1, 2), groups)
    space = tuple(max(length, least - sum(pad)) for length, least, pad in zip(each(1, 5), at.extent(), at.pad))
    return at, space, draw(st.integers(1, 2)), groups * draw(st.integers(1, 2)), groups * draw(st.integers(1, 2))


@calls
def convolve_calls(draw, function):
    at, space, n, inputs, outputs = draw(geometries())
    weight = numbers(draw, *at.kernel, inputs // at.groups, outputs) / 10
    return Call(function, numbers(draw, n, *space, inputs), weight, at)


@calls
def back_calls(draw, function):
    at, space, n, inputs, outputs = draw(geometries())
    weight = numbers(draw, *at.kernel, inputs // at.groups, outputs) / 10
    return Call(function, numbers(draw, n, *at.places(space), outputs), weight, at, space)


@calls
def kernel_calls(draw, function):
    at, space, n, inputs, outputs = draw(geometries())
    return Call(function, numbers(draw, n, *space, inputs), numbers(draw, n, *at.places(space), outputs) / 10, at)


def window(draw):
    """An axis, a size, a stride, and an input's shape that fits."""
    size, stride = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    shape = [draw(st.integers(1, 3)) for _ in range(3)]
    shape[1] = size + draw(st.integers(0, 4))
    return (1, size, stride), shape


@calls
def along_calls(draw, function):
    where, shape = window(draw)
    return Call(function, numbers(draw, *shape), *where)


@calls
def first_calls(draw, function):
    """The other operands only say where the largest ones are. Of whole numbers nobody takes a gradient."""
    where, shape = window(draw)
    x = (20 * numbers(draw, *shape)).round().astype(int)
    largest = windows.max_along(x, *where)
    y = numbers(draw, *np.shape(largest if function is windows.spread_to_first else x))
    return Call(function, y, x, largest, *where)


@calls
def spread_calls(draw, function):
    (axis, size, stride), shape = window(draw)
    length, shape[1] = shape[1], (shape[1] - size) // stride + 1
    return Call(function, numbers(draw, *shape), axis, size, stride, length)


@calls
def padded_calls(draw, function):
    _, shape = window(draw)
    return Call(function, numbers(draw, 1, *shape, 2), ((0, 2), (1, 0), (0, 0)), draw(st.sampled_from([0, 1.5])))


TABLE = [
    (convolve, convolve_calls),
    (convolve_back, back_calls),
    (convolve_kernel, kernel_calls),
    (windows.max_along, along_calls),
    (windows.sum_along, along_calls),
    (windows.spread_along, spread_calls),
    (windows.spread_to_first, first_calls),
    (windows.taken_from_first, first_calls),
    (windows.padded, padded_calls),
]


def differentiated(call):
    """The call as a function of what it is differentiated by."""
    if call.function not in (windows.spread_to_first, windows.taken_from_first):
        return call
    y, *rest = call.args
    return Call(lambda y: call.function(y, *rest), y)
