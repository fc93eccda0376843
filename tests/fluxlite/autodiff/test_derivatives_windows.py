"""Convolution and pooling: every rule of fluxlite/autodiff/derivatives/windows.py, on every device, against PyTorch."""

import math

import numpy as np
import pytest
from gradcheck import Call, assert_close, check_call
from hypothesis import given
from hypothesis import strategies as st
from inside import MetalArray, MetalDevice, Windows, convolve, convolve_back, convolve_kernel, windows
from operands import calls, few_examples, table_ids

import fluxlite as fl


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
    """The other operands only say where the largest ones are."""
    where, shape = window(draw)
    x = numbers(draw, *shape)
    largest = windows.max_along(x, *where)
    y = numbers(draw, *(largest if function is windows.spread_to_first else x).shape)
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


@pytest.mark.parametrize("function, calls_of", TABLE, ids=table_ids(TABLE))
@few_examples
@given(st.data())
def test_rule(function, calls_of, data):
    check_call(differentiated(data.draw(calls_of(function))), tolerance=1e-5)


def slope(call, place):
    """The gradients of a weighted sum of the call's result, with all arrays where `place` puts them."""
    args = [place(x) if isinstance(x, np.ndarray) else x for x in call.args]
    by = 1 if call.function in (windows.spread_to_first, windows.taken_from_first) else 2
    operands = [x for x in args if hasattr(x, "dtype")][:by]
    rest = args[len(operands) :]
    return fl.gradient(lambda *operands: np.sum(call.function(*operands, *rest) ** 2), *operands)


@pytest.mark.parametrize("function, calls_of", TABLE, ids=table_ids(TABLE))
@few_examples
@given(st.data())
def test_rule_on_a_simulated_gpu(function, calls_of, data):
    call = data.draw(calls_of(function))
    wanted = slope(call, np.copy)
    with fl.simulate_gpu(count=2):
        second = fl.get_device("Simulated", 1)
        with fl.receipt() as seen:
            got = slope(call, lambda x: second(x, dtype=None))
        assert seen.host_to_device.implicit == seen.device_to_host.implicit == seen.synchronizations == 0
        for one, value in zip(got, wanted, strict=True):
            assert_close(fl.cpu(one), value, 1e-9, "gradient")


@pytest.mark.parametrize("function, calls_of", TABLE, ids=table_ids(TABLE))
@few_examples
@given(st.data())
def test_rule_on_metal(function, calls_of, data):
    pytest.importorskip("mlx.core")
    device, call = MetalDevice(), data.draw(calls_of(function))
    wanted = slope(call, np.copy)
    got = slope(call, lambda x: device(x, dtype=None))
    for one, value in zip(got, wanted, strict=True):
        assert type(one) is MetalArray
        assert_close(fl.cpu(one), value, 1e-9, "gradient")
