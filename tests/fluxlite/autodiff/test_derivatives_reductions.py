"""Functions that make one number of many, beside their rows in tables/reductions.py."""

import warnings

import numpy as np
import pytest
from gradcheck import Call, check_call, check_forward, check_gradient, check_second
from hypothesis import given
from hypothesis import strategies as st
from operands import arrays, axis_of, few_examples, shapes

import fluxlite as fl

INF = np.inf


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min", "var", "std", "cumsum"])
@few_examples
@given(x=arrays(shapes(2, 3, 2, 3)), data=st.data())
def test_method(name, x, data):
    axis = data.draw(st.one_of(st.none(), axis_of(x.shape)))
    more = {} if name == "cumsum" else {"keepdims": data.draw(st.booleans())}
    more |= {"ddof": data.draw(st.sampled_from([0, 1]))} if name in ("var", "std") else {}
    check_call(Call(lambda x: getattr(x, name)(axis, **more), x))
    check_call(Call(lambda x: getattr(x, name)(), x))


@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum, np.minimum])
def test_reduce(ufunc):
    x = np.array([[0.5, 1.5], [2.5, -1.0]])
    for keywords in ({}, {"axis": 1}, {"axis": None}, {"axis": -1, "keepdims": True}):
        check_call(Call(ufunc.reduce, x, **keywords))
    with pytest.raises(TypeError, match="np.subtract.reduce has no derivative rule; see fluxlite.rule"):
        fl.gradient(lambda x: np.sum(np.subtract.reduce(x)), x)


def gradient_of(f, x):
    return fl.gradient(lambda x: np.sum(f(x)), np.array(x))[0].tolist()


def test_prod_with_zeros():
    """The derivative is the product of the others, which dividing by x wouldn't give."""
    assert gradient_of(np.prod, [2.0, 0.0, 3.0]) == [0.0, 6.0, 0.0]
    assert gradient_of(np.prod, [2.0, 0.0, 0.0]) == [0.0, 0.0, 0.0]
    assert gradient_of(lambda x: np.prod(x, axis=1), [[0.0, 5.0], [3.0, 4.0]]) == [[5.0, 0.0], [4.0, 3.0]]
    x = np.array([[0.0, 2.0, 0.0, 0.5, 3.0], [1.0, 0.0, 2.0, -1.0, 0.5]])
    for axis in (None, 0, 1, (0, 1)):
        check_call(Call(np.prod, x, axis=axis))
    check_call(Call(np.cumprod, x, axis=1))


@pytest.mark.parametrize("dtype, large", [(np.float16, 300.0), (np.float32, 1e30), (np.float64, 1e300)])
def test_products_in_numpys_order(dtype, large):
    """In another order, a product on the way would be infinite, another one 0, and the result NaN."""
    x = np.array([large, 1 / large, large, 1 / large, 1], dtype)
    for function in (np.prod, np.cumprod):
        _, inside = fl.withgradient(lambda x, f=function: (x[0], f(x)), x)[0]
        np.testing.assert_array_equal(inside, function(x))
    np.testing.assert_allclose(fl.gradient(np.prod, x)[0], [1 / large, large, 1 / large, large, 1], rtol=2e-3)
    np.testing.assert_allclose(fl.hessian(np.prod, x[[0, 1, 4]]), [[0, 1, x[1]], [1, 0, large], [x[1], large, 0]], 1e-3)
    sums = fl.gradient(lambda x: np.sum(np.cumprod(x)), np.array([1 / large, large, 1], dtype))[0]
    np.testing.assert_allclose(sums, [2 * large + 1, 2 / large, 1], rtol=1e-3)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_without_enough_numbers_their_variance_is_nan():
    """Where np.var would divide by 0, np.nanvar doesn't."""
    x = np.array([[1.0, 2.0, np.nan], [1.0, np.nan, np.nan], [1.0, 2.0, 4.0]])
    for function in (np.nanvar, np.nanstd):
        for ddof in (1, 2, 3):
            check_forward(lambda x, f=function, ddof=ddof: f(x, axis=1, ddof=ddof), x)


def test_the_largest_share_the_gradient():
    assert gradient_of(np.max, [3.0, 1.0, 3.0, 3.0]) == [1 / 3, 0.0, 1 / 3, 1 / 3]
    assert gradient_of(np.min, [3.0, 1.0, 1.0]) == [0.0, 0.5, 0.5]
    assert gradient_of(lambda x: np.max(x, axis=0), [[2.0, 1.0], [2.0, 5.0]]) == [[0.5, 0.0], [0.5, 1.0]]
    largest = lambda x: np.max(x, axis=(0, 1), keepdims=True)  # noqa: E731
    assert gradient_of(largest, [[2.0, 1.0], [2.0, 0.0]]) == [[0.5, 0.0], [0.5, 0.0]]
    assert gradient_of(np.ptp, [2.0, 2.0]) == [0.0, 0.0]


def test_the_tip_of_a_cone():
    """Where the slope is in no direction, it is 0 (as in PyTorch), and nothing is divided by 0."""
    for order in (None, 2, 3, 2.5):
        assert gradient_of(lambda x, order=order: np.linalg.norm(x, order), [0.0, 0.0]) == [0.0, 0.0]
        f = lambda x, order=order: np.linalg.norm(x, order, axis=1)  # noqa: E731
        np.testing.assert_allclose(gradient_of(f, [[0.0, 0.0], [0.0, 2.0]]), [[0.0, 0.0], [0.0, 1.0]])
        check_forward(f, np.array([[0.0, 0.0], [0.0, 2.0]]))
    assert gradient_of(np.std, [2.0, 2.0]) == [0.0, 0.0]
    np.testing.assert_allclose(gradient_of(lambda x: np.std(x, 1), [[2.0, 2.0], [1.0, 3.0]]), [[0.0, 0.0], [-0.5, 0.5]])


def second(f, x):
    return fl.gradient(lambda x: np.sum(fl.gradient(lambda x: np.sum(f(x)), x)[0]), np.array(x))[0]


ROWS = [[0.0, 0.0, 0.0], [2.0, 2.0, 2.0], [3.0, 0.0, 4.0]]
CONES = [np.linalg.norm, *(lambda x, order=order: np.linalg.norm(x, order, 1) for order in (2, 3, 2.5)), np.std]
CONES += [lambda x: np.std(x, axis=1), lambda x: np.nanstd(x, axis=1, ddof=1)]


@pytest.mark.parametrize("f", CONES)
def test_the_tip_of_a_cone_is_flat_for_the_next_derivative_too(f):
    """Otherwise one row of equal numbers spoils the gradient of all others, as NaN."""
    torch = pytest.importorskip("torch")
    for x in ([[0.0, 0.0]], [[1.5], [2.5]], [[2.0, 2.0]], ROWS):
        if f is CONES[-1] and len(x[0]) == 1:
            continue  # a deviation of one number, of 0 degrees of freedom, is no number
        assert np.isfinite(second(f, x)).all()
    x = np.array([[1.5], [2.5]])
    np.testing.assert_allclose(second(lambda x: np.sum(x**3) + np.sum(np.std(x, axis=1)), x), 6 * x)
    t = torch.tensor(ROWS, dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(torch.std(t, dim=1, correction=0).sum() + (t**3).sum(), t, create_graph=True)
    (wanted,) = torch.autograd.grad(first.sum(), t)
    np.testing.assert_allclose(second(lambda x: np.std(x, axis=1).sum() + np.sum(x**3), ROWS), wanted, atol=1e-12)


def test_equal_numbers_have_no_deviation_though_their_mean_is_rounded():
    """The mean of three times 0.1 isn't 0.1: what's left mustn't be taken for a direction."""
    x = [[0.1, 0.1, 0.1], [1.0, 2.0, 3.0]]
    for f in (np.std, np.nanstd, lambda x, axis: np.std(x, axis, where=np.ones((2, 3), bool))):
        np.testing.assert_allclose(gradient_of(lambda x: f(x, axis=1), x), [[0, 0, 0], [-(6**-0.5), 0, 6**-0.5]])  # noqa: B023
    assert gradient_of(np.nanstd, [0.1, 0.1, np.nan, 0.1]) == [0.0] * 4


def test_norms_of_zeros_and_infinities():
    with np.errstate(invalid="ignore"):
        assert gradient_of(np.linalg.norm, [np.inf, 1.0])[1] == 0.0
    for order in (0.5, -1):  # whose powers have an infinite slope at 0
        norm = lambda x, order=order: np.linalg.norm(x, order)  # noqa: E731
        np.testing.assert_allclose(gradient_of(norm, [0.0, 2.0]), [0.0, 1.0 if order > 0 else 0.0])
        assert np.isfinite(second(norm, [0.0, 2.0])).all()
    with np.errstate(divide="ignore"):
        check_forward(lambda x: np.linalg.norm(x, -1, axis=1), np.array([[np.inf, np.inf], [1.0, 0.0]]))
    for order in (1, 2, 3, 0.5):
        check_forward(lambda x, order=order: np.linalg.norm(x, order, axis=0), np.zeros((0, 3)))


UNCHANGED = [
    np.median, np.mean, np.max, np.ptp, lambda x: np.median(x, axis=0), lambda x: np.quantile(x, 0.3),
    lambda x: np.quantile(x, [0.2, 0.5, 0.9], axis=-1), lambda x: np.percentile(x, 100),
    lambda x: np.linspace(x, 1.0, 3),
    lambda x: np.interp(np.array([0.0, 0.5, 2.5, 3.0]), np.arange(x.size), np.ravel(x)),
]  # fmt: skip
NUMBERS = [[1, INF, INF], [-INF, -INF, 1], [1, INF, INF, INF], [-INF, INF], [0.1, 0.2, 0.3, 0.4], [2.0], [np.nan, 1, 2]]


@pytest.mark.parametrize("numbers", NUMBERS)
def test_the_lowest_quantile_is_the_least_number_inside_a_gradient(numbers):
    """NumPy 2.0's own is NaN next to infinities."""
    (_, value), _ = fl.withgradient(lambda x: (np.quantile(x, 0), np.quantile(x, 0)), np.array(numbers, float))
    np.testing.assert_array_equal(value, np.min(np.array(numbers, float)))


@pytest.mark.parametrize("f", UNCHANGED)
def test_infinities_have_the_same_value_inside_a_gradient(f):
    with np.errstate(invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for numbers in [*NUMBERS, np.outer([1, -1], [1, 2, INF])]:
            x = np.array(numbers, float)
            (_, value), _ = fl.withgradient(lambda x: (np.sum(f(x)), f(x)), x)
            np.testing.assert_array_equal(value, f(x))


def test_a_median_of_nothing_and_an_average_without_weight():
    with pytest.warns(RuntimeWarning):
        assert np.isnan(fl.withgradient(np.median, np.zeros(0))[0])
    with pytest.raises(ZeroDivisionError):
        fl.gradient(lambda x: np.average(x, weights=np.zeros(2)), np.ones(2))


def test_orders_of_norms_without_a_rule_are_named():
    x = np.ones((2, 2))
    for f, message in [
        (lambda x: np.linalg.norm(x, 3), "Invalid norm order for matrices"),
        (lambda x: np.linalg.norm(x, "largest"), "Invalid norm order"),
        (lambda x: np.linalg.norm(x[0], 0), "ord=0"),
    ]:
        with pytest.raises((TypeError, ValueError), match=message):
            fl.gradient(f, x)


def test_a_variance_of_one_number_is_no_number():
    """As NumPy says itself, with a warning."""
    with pytest.warns(RuntimeWarning):
        assert np.isnan(fl.gradient(lambda x: np.var(x, ddof=1), np.array([2.0]))[0]).all()


def test_a_loss_over_parts_of_one_array():
    x = np.array([[0.5, -1.0], [2.0, 0.25]])
    check_gradient(lambda x: np.sum(x) * np.max(x) + np.mean(x, axis=0) - x.min(axis=1), x)
    check_second(lambda x: np.sum(x) * np.max(x) + np.mean(x, axis=0) - x.min(axis=1), x)
