"""Activation functions: their values, slopes, corners, and that they stay finite; PyTorch as a second opinion."""

import math

import numpy as np
import pytest
from gradcheck import Call, check_against_torch, check_call, check_float32
from hypothesis import given
from hypothesis import strategies as st
from operands import any_number, arrays, axis_of, between, calls, elementwise, few_examples, shapes, table_ids

import fluxlite as fl

wide = between(-8, 8)


def apart_from_corners(rng, shape):
    """Between whole numbers and halves, where the corners are."""
    return rng.integers(-8, 8, shape) + rng.choice([0.125, 0.75], shape) + rng.uniform(0, 0.1, shape)


corners = elementwise(apart_from_corners)


@calls
def along_axis(draw, function):
    x = draw(arrays(shapes(1, 3, 1), any_number))
    return draw(st.sampled_from([Call(function, x), Call(function, x, axis=draw(axis_of(x.shape)))]))


@calls
def same_slopes_every_time(draw, function):
    x = draw(arrays(shapes(1), apart_from_corners))
    return Call(lambda x: function(x, rng=np.random.default_rng(4)), x)


@calls
def with_slope(draw, function):
    return Call(function, draw(arrays(shapes(), apart_from_corners)), draw(st.sampled_from([0.01, 0.3, -2])))


@calls
def with_alpha(draw, function):
    """Where alpha is not 1, elu has a corner at 0."""
    return Call(function, draw(arrays(shapes(), apart_from_corners)), draw(st.sampled_from([1, 0.5, 2.0])))


# Function, its calls, and what it is in PyTorch.
TABLE = [
    (fl.celu, with_alpha, lambda F, x: F.celu(x)),
    (fl.elu, with_alpha, lambda F, x: F.elu(x)),
    (fl.gelu, elementwise(wide), lambda F, x: F.gelu(x, approximate="tanh")),
    (fl.hardsigmoid, corners, lambda F, x: F.hardsigmoid(x)),
    (fl.hardswish, corners, lambda F, x: F.hardswish(x)),
    (fl.hardtanh, corners, lambda F, x: F.hardtanh(x)),
    (fl.leakyrelu, with_slope, lambda F, x: F.leaky_relu(x, 0.01)),
    (fl.lisht, elementwise(wide), lambda F, x: x * x.tanh()),
    (fl.logcosh, elementwise(wide), lambda F, x: x.cosh().log()),
    (fl.logsigmoid, elementwise(wide), lambda F, x: F.logsigmoid(x)),
    (fl.mish, elementwise(wide), lambda F, x: F.mish(x)),
    (fl.relu, corners, lambda F, x: F.relu(x)),
    (fl.relu6, corners, lambda F, x: F.relu6(x)),
    (fl.rrelu, same_slopes_every_time, None),  # random
    (fl.selu, corners, lambda F, x: F.selu(x)),
    (fl.sigmoid, elementwise(wide), lambda F, x: x.sigmoid()),
    (fl.sigmoid_fast, elementwise(wide), lambda F, x: x.sigmoid()),
    (fl.softplus, elementwise(wide), lambda F, x: F.softplus(x)),
    (fl.softshrink, corners, lambda F, x: F.softshrink(x, 0.5)),
    (fl.softsign, corners, lambda F, x: F.softsign(x)),
    (fl.swish, elementwise(wide), lambda F, x: F.silu(x)),
    (fl.tanhshrink, elementwise(wide), lambda F, x: F.tanhshrink(x)),
    (fl.tanh_fast, elementwise(wide), lambda F, x: x.tanh()),
    (fl.trelu, corners, lambda F, x: F.threshold(x, 1.0, 0.0)),
    (fl.tanh, elementwise(wide), lambda F, x: x.tanh()),
    (fl.softmax, along_axis, lambda F, x: F.softmax(x, -1)),
    (fl.logsoftmax, along_axis, lambda F, x: F.log_softmax(x, -1)),
]
each_function = pytest.mark.parametrize("function", [row[0] for row in TABLE], ids=table_ids(TABLE))


def test_all_of_fluxs_list_are_here():
    flux = (
        "celu elu gelu hardsigmoid hardswish hardtanh leakyrelu lisht logcosh logsigmoid mish relu relu6 rrelu selu "
        "sigmoid sigmoid_fast softplus softshrink softsign swish tanhshrink tanh_fast trelu tanh softmax logsoftmax"
    )
    assert {row[0].__name__ for row in TABLE} == set(flux.split()) and fl.σ is fl.sigmoid


@pytest.mark.parametrize("function, calls_of, _", TABLE, ids=table_ids(TABLE))
@few_examples
@given(st.data())
def test_rule(function, calls_of, _, data):
    check_call(data.draw(calls_of(function)), tolerance=1e-5)


WITH_TORCH = [row for row in TABLE if row[2]]


@pytest.mark.parametrize("function, _, in_torch", WITH_TORCH, ids=table_ids(WITH_TORCH))
def test_against_torch(function, _, in_torch):
    functional = pytest.importorskip("torch.nn.functional")
    x = np.concatenate([np.linspace(-20, 20, 80), np.random.default_rng(0).normal(size=40)]).reshape(3, 40)
    check_against_torch(function, lambda x: in_torch(functional, x), x, tolerance=1e-8)
    check_against_torch(function, lambda x: in_torch(functional, x), x.astype(np.float32), tolerance=2e-5)


CORNERS = [
    # function, place, value there, slope there
    (fl.relu, 0, 0, 0),
    (fl.relu6, 0, 0, 0),
    (fl.relu6, 6, 6, 0),
    (fl.leakyrelu, 0, 0, 0.01),
    (fl.hardtanh, -1, -1, 0),
    (fl.hardtanh, 1, 1, 0),
    (fl.hardsigmoid, -3, 0, 0),
    (fl.hardsigmoid, 3, 1, 0),
    (fl.softshrink, 0.5, 0, 0),
    (fl.softshrink, -0.5, 0, 0),
    (fl.trelu, 1, 0, 0),
    (fl.softsign, 0, 0, 1),
    (fl.logcosh, 0, 0, 0),
    (fl.elu, 0, 0, 1),
    (fl.celu, 0, 0, 1),
    (fl.selu, 0, 0, 1.0507009873554805),
]


@pytest.mark.parametrize("function, x, value, slope", CORNERS, ids=[f"{row[0].__name__} {row[1]}" for row in CORNERS])
def test_corners(function, x, value, slope):
    got, (g,) = fl.withgradient(lambda x: np.sum(function(x)), np.array([float(x)]))
    assert got == pytest.approx(value, abs=1e-15)
    assert g[0] == pytest.approx(slope, abs=1e-15)


ELEMENTWISE = [row[0] for row in TABLE if row[0] not in (fl.softmax, fl.logsoftmax)]
each_elementwise = pytest.mark.parametrize("function", ELEMENTWISE)


@pytest.mark.parametrize("function", [fl.relu, fl.relu6, fl.leakyrelu, fl.hardtanh, fl.softshrink, fl.trelu])
def test_the_gradient_at_a_nan_and_at_corners_is_as_in_torch(function):
    functional = pytest.importorskip("torch.nn.functional")
    in_torch = next(row[2] for row in TABLE if row[0] is function)
    x = np.array([np.nan, 0.75, -2.0, *(x for f, x, *_ in CORNERS if f is function)])
    check_against_torch(function, lambda x: in_torch(functional, x), x)


@each_elementwise
def test_float16_has_finite_slopes_as_far_as_it_goes(function):
    x = np.array([-3e4, -1e4, -300, -20, 20, 300, 1e4, 3e4], np.float16)
    (_, y), (g,) = fl.withgradient(lambda x: (np.sum(function(x) / 8), function(x)), x)
    assert y.dtype == g.dtype == np.float16 and np.isfinite(y).all() and np.isfinite(g).all()


@each_function
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_inputs(function, dtype):
    """Finite values and gradients in the dtype and shape of the input, without a warning on the way."""
    x = np.array([[-1e4, -100.0, -20.0, -1e-4, 0.0, 1e-4, 20.0, 100.0, 1e4]], dtype)
    before = x.copy()
    for part in (x, x.T, x[:0], x[0]):
        value = function(part)
        assert type(value) is np.ndarray and value.dtype == dtype and value.shape == part.shape
        (g,) = fl.gradient(lambda x: np.sum(function(x)), part)  # noqa: B023
        h = fl.gradient(lambda x: np.sum(fl.gradient(lambda y: np.sum(function(y) ** 2), x)[0]), part)[0]  # noqa: B023
        assert g.dtype == h.dtype == dtype and all(np.isfinite(a).all() for a in (value, g, h))
    assert (x == before).all()


ENDS = {  # values at -inf and inf, and slopes
    fl.relu: ([0, np.inf], [0, 1]),
    fl.softplus: ([0, np.inf], [0, 1]),
    fl.logsigmoid: ([-np.inf, 0], [1, 0]),
    fl.sigmoid: ([0, 1], [0, 0]),
    fl.elu: ([-1, np.inf], [0, 1]),
    fl.logcosh: ([np.inf, np.inf], [-1, 1]),
    fl.sigmoid_fast: ([0, 1], None),
    fl.swish: ([0, np.inf], None),
    fl.mish: ([0, np.inf], None),
    fl.gelu: ([0, np.inf], None),
    fl.celu: ([-1, np.inf], None),
    fl.hardsigmoid: ([0, 1], None),
    fl.tanh: ([-1, 1], None),
    fl.lisht: ([np.inf, np.inf], None),
}


@pytest.mark.parametrize("function", ENDS)
def test_values_at_the_ends(function):
    """Far out, in float32, exactly the limit; at infinity, where we say so, with a slope."""
    values, slopes = ENDS[function]
    far = [math.copysign(1e4, value) if np.isinf(value) else value for value in values]
    if function is fl.logcosh:
        far = [np.float32(1e4 - math.log(2))] * 2
    assert function(np.array([-1e4, 1e4], np.float32)).tolist() == far
    if slopes:
        ends, weights = np.array([-np.inf, np.inf]), np.array([0.5, 2])
        (_, got), (g,) = fl.withgradient(lambda x: (np.sum(function(x) * weights), function(x)), ends)
        assert got.tolist() == values and (g / weights).tolist() == slopes


def test_softmax_is_a_distribution():
    x = np.random.default_rng(0).normal(size=(4, 5)) * 10
    for axis in (0, 1, -1):
        np.testing.assert_allclose(np.sum(fl.softmax(x, axis), axis), 1)
        np.testing.assert_allclose(fl.logsoftmax(x, axis), np.log(fl.softmax(x, axis)))
    np.testing.assert_allclose(fl.softmax(x + 1000), fl.softmax(x))
    check_float32(lambda x: fl.softmax(x, axis=0), x)


def test_rrelu_draws_a_slope_for_each_element():
    x = -np.ones(1000)
    slopes = -fl.rrelu(x)
    assert slopes.min() >= 1 / 8 and slopes.max() <= 1 / 3 and np.ptp(slopes) > 0.15
    assert (fl.rrelu(np.array([0.5, 2.0])) == [0.5, 2.0]).all()
    same = [fl.rrelu(x, 0.5, 0.75, rng=np.random.default_rng(1)) for _ in range(2)]
    assert (same[0] == same[1]).all() and same[0].min() >= -0.75 and same[0].max() <= -0.5

    def loss(x):
        y = fl.rrelu(x)
        return np.sum(y), y

    (_, y), (g,) = fl.withgradient(loss, x)
    np.testing.assert_array_equal(g, -y)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, bool])
@pytest.mark.parametrize("function", [row[0] for row in TABLE], ids=lambda function: function.__name__)
def test_whole_numbers_are_computed_with_as_floats(function, dtype):
    """In eight bits, 127 + 3 would be -126, and the opposite of 1 would be 255."""
    x = np.array([[0, 1, 2, 100, 127], [3, 5, -1, -2, -128]]).astype(dtype)
    found = []
    for numbers in (x, x.astype(float)):
        keywords = {"rng": np.random.default_rng(4)} if function is fl.rrelu else {}
        found.append(function(numbers, **keywords))
    np.testing.assert_allclose(*found, rtol=1e-3)
