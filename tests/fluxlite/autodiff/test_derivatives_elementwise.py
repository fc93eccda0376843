"""Functions of one element: operators, corners, and what stands beside tracked arrays."""

# ruff: noqa: B023  (functions made in a loop are used in the same turn)
import operator

import numpy as np
import pytest
from gradcheck import check_call, check_forward, check_gradient, check_python_float, check_second
from hypothesis import given
from hypothesis import strategies as st
from inside import zero_except_where, zero_where
from operands import any_number, elementwise, few_examples, nonzero, positive, table_ids
from tables.elementwise import above_one

import fluxlite as fl

# -- operators ---------------------------------------------------------------------------------------------------

OPERATORS = [
    (operator.add, any_number, any_number),
    (operator.sub, any_number, any_number),
    (operator.mul, any_number, any_number),
    (operator.truediv, any_number, nonzero),
    (operator.floordiv, positive, above_one),
    (operator.mod, any_number, nonzero),
    (operator.pow, positive, any_number),
]


@pytest.mark.parametrize("function, left, right", OPERATORS, ids=table_ids(OPERATORS))
@few_examples
@given(st.data())
def test_operators(function, left, right, data):
    """Both sides tracked; then one of them only, beside a plain array, a NumPy scalar, a Python number."""
    call = data.draw(elementwise(left, right)(function))
    check_call(call)
    x, y = call.operands
    number = float(right(np.random.default_rng(0), ()))
    for other in (y, number, np.float64(number), np.array(number)):
        check_gradient(lambda x: function(x, other), x)
        check_forward(lambda x: function(x, other), x)
    number = float(left(np.random.default_rng(0), ()))
    for other in (x, number, np.float64(number), np.array(number)):
        check_gradient(lambda y: function(other, y), y)
        check_forward(lambda y: function(other, y), y)


def test_python_whole_numbers_are_exact_in_float32():
    x = np.array([0.5, 1.5], np.float32)
    for f in (lambda x: x * 3, lambda x: 3 / x, lambda x: 2**x, lambda x: x**3, lambda x: x**-1, lambda x: 3.5 - x):
        (g,) = fl.gradient(lambda x: np.sum(f(x)), x)
        assert g.dtype == np.float32
        check_forward(f, x)


COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


@pytest.mark.parametrize("compare", COMPARISONS, ids=lambda f: f.__name__)
def test_comparisons_are_plain(compare):
    x = np.array([1.0, 2.0, 3.0])
    seen = []

    def f(x):
        for left, right in [(x, 2.0), (2.0, x), (x, x), (x, np.full(3, 2.0)), (np.full(3, 2.0), x), (np.float64(2), x)]:
            seen.append((compare(left, right), left, right))
        return np.sum(x)

    fl.gradient(f, x)
    for got, left, right in seen:
        plain = [x if type(side) is fl.TrackedArray else side for side in (left, right)]
        assert type(got) is np.ndarray and got.dtype == bool
        np.testing.assert_array_equal(got, compare(*plain))


# -- corners, edges ------------------------------------------------------------------------------------------------


def gradients(f, *arrays):
    return [g.tolist() for g in fl.gradient(lambda *xs: np.sum(f(*xs)), *map(np.array, arrays))]


def test_equal_operands_share_the_gradient():
    for function in (np.maximum, np.minimum, np.fmax, np.fmin):
        assert gradients(function, [1.0, 2.0], [1.0, 2.0]) == [[0.5, 0.5], [0.5, 0.5]]
    assert gradients(np.maximum, [1.0, 2.0, 3.0], 2.0) == [[0.0, 0.5, 1.0], 1.5]
    assert gradients(np.minimum, [1.0, 2.0, 3.0], 2.0) == [[1.0, 0.5, 0.0], 1.5]


def test_fmax_and_fmin_pass_over_what_is_no_number():
    for function in (np.fmax, np.fmin):
        assert gradients(function, [np.nan, 1.0], [2.0, np.nan]) == [[0.0, 1.0], [1.0, 0.0]]


def test_slopes_at_corners():
    assert gradients(np.abs, [-1.0, 0.0, 2.0]) == [[-1.0, 0.0, 1.0]]
    assert gradients(np.fabs, [-1.0, 0.0, 2.0]) == [[-1.0, 0.0, 1.0]]
    # At a bound the slope is still 1, as in PyTorch.
    assert gradients(lambda x: np.clip(x, -1, 1), [-2.0, -1.0, 0.0, 1.0, 2.0]) == [[0.0, 1.0, 1.0, 1.0, 0.0]]
    assert gradients(np.hypot, [0.0, 3.0], [0.0, 4.0]) == [[0.0, 0.6], [0.0, 0.8]]
    assert gradients(np.copysign, [-1.0, 0.0, 2.0], [-0.0, 1.0, -1.0]) == [[1.0, 0.0, -1.0], [0.0, 0.0, 0.0]]
    assert gradients(np.heaviside, [-1.0, 0.0, 2.0], [0.5, 0.5, 0.5]) == [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    slopes = gradients(np.sinc, [0.0, 1e-9, 1e-3, 0.09])[0]  # at 0.09 by the formula
    np.testing.assert_allclose(slopes, [0, -(np.pi**2) / 3 * 1e-9, -0.003289865, -0.293727839], rtol=1e-7)
    for step in (np.sign, np.floor, np.ceil, np.trunc, np.rint, np.round):
        assert gradients(step, [-1.5, 0.0, 1.0]) == [[0.0, 0.0, 0.0]]


def second(f, *arrays):
    """The gradients of the sum of all gradients."""

    def first(*xs):
        return sum(np.sum(g) for g in fl.gradient(lambda *xs: np.sum(f(*xs)), *xs))

    return [g.tolist() for g in fl.gradient(first, *map(np.array, arrays))]


INF = np.inf
SLOPES_AT_EDGES = [
    # What, its operands, their gradients.
    (
        np.arctan2,
        ([0.0, -0.0, 1.0], [0.0, 0.0, 0.0]),
        [[0.0, 0.0, 0.0], [0.0, 0.0, -1.0]],
    ),  # 0 as hypot's, and PyTorch's
    (np.logaddexp, ([INF, -INF, 1.0], [1.0, 1.0, -INF]), [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]),
    (np.logaddexp2, ([INF, -INF, 1.0], [1.0, 1.0, -INF]), [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]),
    (np.logaddexp, ([INF, -INF], [INF, -INF]), [[0.5, 0.5], [0.5, 0.5]]),  # equal operands share
    (np.remainder, ([-1.0, 5.0], [INF, INF]), [[1.0, 1.0], [1.0, 0.0]]),
    (np.fmod, ([-1.0, 5.0], [INF, INF]), [[1.0, 1.0], [0.0, 0.0]]),
]


@pytest.mark.parametrize("f, operands, wanted", SLOPES_AT_EDGES, ids=table_ids(SLOPES_AT_EDGES))
def test_slopes_at_edges(f, operands, wanted):
    with np.errstate(all="ignore"):
        assert gradients(f, *operands) == wanted


SECOND_SLOPES = [
    # Where there's no slope, the next one is 0 too. One such number mustn't spoil what the others get.
    (np.hypot, ([0.0, 3.0], [0.0, 4.0]), [[0.0, 0.032], [0.0, -0.024]]),
    (np.arctan2, ([0.0, 3.0], [0.0, 4.0]), [[0.0, -0.0496], [0.0, 0.0272]]),
    (np.abs, ([0.0, 2.0],), [[0.0, 0.0]]),
    (np.sinc, ([0.0],), [[-(np.pi**2) / 3]]),
    # Infinite, and not undecided.
    (np.sqrt, ([0.0, 4.0],), [[-INF, -0.03125]]),
    (np.cbrt, ([0.0, 8.0, INF],), [[-INF, -1 / 144, 0.0]]),
    (np.arccosh, ([1.0],), [[-INF]]),
    (lambda x: x ** np.array([-1.0, 2.0]), ([0.0, 0.0],), [[INF, 2.0]]),
]


@pytest.mark.parametrize("f, operands, wanted", SECOND_SLOPES, ids=table_ids(SECOND_SLOPES))
def test_second_slopes_at_edges(f, operands, wanted):
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(second(f, *operands), wanted, rtol=1e-12, atol=1e-15)


def test_powers_of_zero():
    """No infinity is computed on the way, so nothing warns."""
    assert gradients(lambda x: x**2, [0.0, 3.0]) == [[0.0, 6.0]]
    for one in (1, 1.0, np.array(1.0), np.ones(2), np.ones(2, int)):
        assert gradients(lambda x: x**one, [0.0, 3.0]) == [[1.0, 1.0]]
    for zero in (0, 0.0, np.array(0.0), np.zeros(2), np.zeros(2, int)):
        assert gradients(lambda x: x**zero, [0.0, 3.0]) == [[0.0, 0.0]]
    assert gradients(lambda x: x ** np.array([0.0, 1.0, 2.0]), [0.0, 0.0, 0.0]) == [[0.0, 1.0, 0.0]]
    assert gradients(np.power, [0.0, 0.0, 1.0], [1.0, 2.0, 5.0]) == [[1.0, 0.0, 5.0], [0.0, 0.0, 0.0]]
    assert gradients(lambda y: 0**y, [1.0, 2.5]) == [[0.0, 0.0]]
    with np.errstate(divide="ignore"):  # what's infinite stays that
        for zero in (0, 0.0, np.zeros(3)):
            assert gradients(lambda y: zero**y, [0.0, 2.0, -1.0]) == [[0.0, 0.0, -np.inf]]
    assert gradients(lambda x: x ** np.array([2, 3]), [-2.0, -1.0]) == [[-4.0, 3.0]]


def test_a_branch_not_taken_says_nothing():
    """np.where computes both branches; the one not taken gets 0 and, as long as it's finite, no warning."""
    root = lambda x: np.where(x > 0, np.sqrt(np.where(x > 0, x, 1)), 0)  # noqa: E731
    assert gradients(root, [-1.0, 0.0, 4.0]) == [[0.0, 0.0, 0.25]]
    assert gradients(lambda x: np.where(x > 0, x, 0.0), [-1.0, 4.0]) == [[0.0, 1.0]]
    assert gradients(lambda x: np.where([True, False], x, 2 * x), [-1.0, 4.0]) == [[1.0, 2.0]]


def test_nan_to_num():
    assert gradients(np.nan_to_num, [np.nan, np.inf, -np.inf, 2.0]) == [[0.0, 0.0, 0.0, 1.0]]


@few_examples
@given(elementwise(positive, any_number)(np.float_power))
def test_float_power(call):
    """Always float64, as NumPy's; only the gradient has the operand's dtype."""
    check_forward(call, *call.operands)
    check_gradient(call, *call.operands)
    check_second(call, *call.operands)
    x = np.array([1.5, 2.5], np.float32)
    check_forward(lambda x: np.float_power(x, 2), x)
    assert fl.gradient(lambda x: np.sum(np.float_power(x, 2)), x)[0].dtype == np.float32


def test_an_array_used_twice():
    x = np.array([0.5, 1.5])
    for f in (lambda x: x + x, lambda x: x * x, lambda x: x / x, lambda x: x**x, lambda x: np.arctan2(x, x * x) - x):
        check_gradient(f, x)
        check_second(f, x)


def test_whole_number_operands_are_constants():
    x, n = np.array([0.5, 1.5]), np.array([2, 3])
    for f in (np.add, np.multiply, np.true_divide, np.power, np.hypot, np.maximum):
        check_gradient(f, x, n)
        check_forward(f, x, n)
        assert fl.gradient(lambda x, n: np.sum(f(x, n)), x, n)[1] is None


@pytest.mark.parametrize("x", [0.7, 2.0])
def test_python_numbers(x):
    check_python_float(lambda x: 2 * np.exp(-x) + x**3 + 3**x + abs(x) + np.sqrt(x), np.array(x))


def test_each_gradient_has_the_dtype_of_its_own_operand():
    x, y = np.array([0.5, 1.5], np.float32), np.array([2.0, 3.0])
    for f in (np.multiply, np.power, np.arctan2, np.matmul, lambda x, y: np.concatenate([x, y]) ** 2):
        check_forward(f, x, y)
        got = fl.gradient(lambda x, y: np.sum(f(x, y)), x, y)
        assert [g.dtype for g in got] == [np.float32, np.float64]
        for g, exact in zip(got, fl.gradient(lambda x, y: np.sum(f(x, y)), x.astype(float), y)):
            np.testing.assert_allclose(g, exact, rtol=1e-6)


# -- conditions ----------------------------------------------------------------------------------------------------

G = np.array([[1.5, -2, np.inf], [-np.inf, np.nan, -0.0]])
WHERE = np.array([[True, False, True], [True, False, False]])


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", np.longdouble, ">f4", np.int64, np.complex64])
@pytest.mark.parametrize("change", [lambda x: x, np.transpose, np.fliplr, lambda x: x[:0], lambda x: x[0, 0]])
def test_zero_where_is_where_with_a_zero(dtype, change):
    with np.errstate(invalid="ignore"):
        g = change(G.astype(dtype))
    same = change(WHERE)
    for condition in (same, ~same, same.copy(), np.True_, WHERE[0, :1], same.astype(int)):
        before = np.copy(g)
        for got, wanted in (
            (zero_where(condition, g), np.where(condition, 0, g)),
            (zero_except_where(condition, g), np.where(condition, g, 0)),
        ):
            np.testing.assert_array_equal(got, wanted)
            assert got.shape == wanted.shape and got.dtype.newbyteorder("=") == wanted.dtype.newbyteorder("=")
        np.testing.assert_array_equal(g, before)


def test_second_derivatives_of_where_and_broadcast_conditions():
    x, y = np.random.default_rng(0).normal(size=(2, 4, 3))
    condition = x[:1] > 0
    first = fl.gradient(lambda x, y: (np.where(condition, x, y) ** 3).sum(), x, y)
    np.testing.assert_allclose(first[0], np.where(condition, 3 * x**2, 0))
    np.testing.assert_allclose(first[1], np.where(condition, 0, 3 * y**2))
    second = fl.gradient(lambda x: fl.gradient(lambda x: (fl.relu(x) ** 3).sum(), x)[0].sum(), x)[0]
    np.testing.assert_allclose(second, 6 * np.maximum(x, 0))
