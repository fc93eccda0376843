"""Gradients that were once lost or wrong without a word: dropped, too large, too small, not a number."""

from fractions import Fraction

import numpy as np
import pytest
from gradcheck import Call, check_call, check_forward, check_gradient, check_second

import fluxlite as fl

X = np.array([1.0, 2.5, -0.5, 4.0])
I = np.array([0, 2, 1, 0])  # noqa: E741


def gradient_of(f, *xs):
    with np.errstate(all="ignore"):
        return fl.gradient(lambda *xs: np.sum(f(*xs)), *xs)[0]


# -- dropped ---------------------------------------------------------------------------------------------------------

DROPPED = {
    "full_like of another shape": lambda x: np.full_like(x, np.sum(x * x), shape=(2, 1), dtype=np.float64) * x[:2],
    "full_like of a number": lambda x: np.full_like(x[0], x[1] * x[0]),
    "unique with the rest": lambda x: np.unique(x, return_index=True, return_inverse=True, return_counts=True)[0] ** 2,
    "unique rows": lambda x: np.unique(np.stack([x, x**2 + 1]), axis=0) ** 2,
    "bincount of a list": lambda x: np.bincount([0, 2, 1, 0], x**2, 7),
    "histogram of a range": lambda x: np.histogram(I, bins=2, range=(0, 1), weights=x**2)[0],
    "histogram of given edges": lambda x: np.histogram(I, bins=[0.0, 1.0, 3.0], weights=x**2)[0],
    "edges of a histogram": lambda x: np.histogram(x**2, 3)[1] ** 2,
    "edges of a histogram of equals": lambda x: np.histogram(x[:1] ** 2, 3)[1] ** 2,
    "density": lambda x: np.histogram(x**2, 3, density=True)[0],
    "density of weights": lambda x: np.histogram(I, 3, density=True, weights=x**2)[0],
}


@pytest.mark.parametrize("f", DROPPED.values(), ids=DROPPED)
def test_what_was_dropped_is_there(f):
    check_gradient(f, X)
    check_second(f, X, tolerance=1e-4)
    check_forward(f, X)


def test_of_equal_elements_the_first_is_the_one_in_unique():
    assert gradient_of(lambda x: np.unique(x) ** 2, np.array([2.0, 3.0, 2.0])).tolist() == [4.0, 6.0, 0.0]
    check_forward(lambda x: np.unique(x, return_index=True), np.array([2.0, 3.0, 2.0]))


def test_weights_of_another_shape_are_refused_as_by_numpy():
    for f in (lambda x: np.bincount(I, weights=x[:1]), lambda x: np.histogram(I, weights=x[:1])[0]):
        with pytest.raises(ValueError, match="weights"):
            gradient_of(f, X)
    for f in (
        lambda x: np.full_like(x, x[0], dtype=int),
        lambda x: np.insert(np.zeros(2, int), 0, x),
        lambda x: np.piecewise(np.arange(4), [np.arange(4) > 2], [lambda n: n * x[0]]),
        lambda x: np.cumsum(x, dtype=int),
    ):
        with pytest.raises(TypeError, match="lose the gradient"):
            gradient_of(f, X)


# -- too large, too small -----------------------------------------------------------------------------------------

MANY = 70_000  # more than float16's largest number, 65,504


def test_gradients_of_many_in_float16():
    x = np.random.default_rng(0).normal(size=MANY)
    for f in (np.mean, np.var, np.std, np.max, lambda x: np.average(x), lambda x: np.mean(x, axis=0, keepdims=True)):
        half, exact = gradient_of(f, x.astype(np.float16)), gradient_of(f, x)
        assert half.dtype == np.float16
        if f is not np.max:
            np.testing.assert_allclose(half, exact, rtol=0.02, atol=1e-6)
    # All are the largest: they share.
    np.testing.assert_allclose(gradient_of(np.max, np.ones(MANY, np.float16)), 1 / MANY, rtol=0.01)
    np.testing.assert_allclose(gradient_of(np.mean, np.ones(MANY, np.float16)), 1 / MANY, rtol=0.01)


@pytest.mark.parametrize(
    "f", [np.arctan, np.arcsinh, np.arccosh, np.log10, lambda x: np.arctan2(x, 2 * x[::-1]), lambda x: np.hypot(x, 300)]
)
def test_squares_that_are_too_large_for_float16(f):
    x = np.array([300.0, 200.0, 30_000.0])
    np.testing.assert_allclose(gradient_of(f, x.astype(np.float16)), gradient_of(f, x), rtol=0.01, atol=1e-7)


@pytest.mark.parametrize("size", [1e200, 1e-200, 1.0])
def test_lengths_whose_squares_are_no_numbers(size):
    x = size * np.array([3.0, 0.0, 4.0])
    np.testing.assert_allclose(gradient_of(np.linalg.norm, x), [0.6, 0, 0.8])
    np.testing.assert_allclose(gradient_of(lambda x: np.linalg.norm(x, axis=0), x), [0.6, 0, 0.8])
    np.testing.assert_allclose(gradient_of(lambda x: np.linalg.norm(x, "fro"), x[None]), [[0.6, 0, 0.8]])
    np.testing.assert_allclose(gradient_of(np.std, x), gradient_of(np.std, x / size))


def test_how_often_the_divisor_was_taken_away():
    """0.9 / 0.1 is 9.0, but 0.1 can be taken from 0.9 only 8 times: 0.1 is a little more than a tenth."""
    assert fl.gradient(np.fmod, 0.9, 0.1) == (1.0, -8.0)
    assert fl.gradient(np.remainder, -0.9, 0.1) == (1.0, -(-0.9 // 0.1))
    x = np.linspace(0.1, 5, 50).round(1)
    for f in (np.fmod, np.remainder):
        out = f(x, 0.1)
        np.testing.assert_allclose(gradient_of(lambda y: f(x, y), 0.1 * np.ones(50)), -((x - out) / 0.1).round())  # noqa: B023


# -- not a number -------------------------------------------------------------------------------------------------

NAN = np.nan


def test_where_the_value_is_no_number_the_gradient_is_not_0():
    """As in PyTorch: a training that went wrong doesn't go on as if nothing had happened."""
    np.testing.assert_array_equal(gradient_of(np.max, np.array([1.0, NAN, 3.0])), [NAN] * 3)
    np.testing.assert_array_equal(
        gradient_of(lambda x: np.min(x, 1), np.array([[1.0, NAN], [1, 2]])), [[NAN] * 2, [1, 0]]
    )
    for f in (np.maximum, np.minimum):
        gradients = fl.gradient(lambda x, y: np.sum(f(x, y)), np.array([NAN, 1.0]), np.array([1.0, NAN]))  # noqa: B023
        assert [g.tolist() for g in gradients] == [[1.0, 1.0], [1.0, 1.0]]
    for f in (fl.relu, fl.relu6, fl.hardtanh, fl.hardsigmoid, fl.softshrink):
        assert np.isnan(f(np.array([NAN]))).all() and (gradient_of(f, np.array([NAN])) != 0).all()


# -- steps, twice differentiated ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "f",
    [fl.relu, np.sign, np.floor, np.ceil, np.round, lambda x: x**0, lambda x: x // 2, lambda x: np.clip(x, 0, 1)],
)
def test_a_flat_piece_inside_another_gradient(f):
    """The inner gradient doesn't depend on `x`, and is a number as `x` is."""
    for x in (1.5, np.float32(1.5), np.array(1.5), np.array([1.5, -2.0])):
        inside = fl.gradient(lambda x: np.sum(f(x)), x)[0]
        (g,) = fl.gradient(lambda x: np.sum(fl.gradient(lambda x: np.sum(f(x)), x)[0] * x), x)
        assert type(g) is type(x) and np.all(g == inside)


def test_a_part_of_an_array_without_axes():
    for f in (lambda x: np.sum(x[None]) + x, lambda x: x + np.sum(x[None]), lambda x: x * x + np.sum(x[None] + x[...])):
        check_call(Call(f, np.array(2.0)))


# -- numbers of other kinds -------------------------------------------------------------------------------------------

EXACT = {
    "times a fraction": lambda x: x * Fraction(1, 2),
    "a power": lambda x: (x + 10) ** Fraction(1, 2),
    "a list with a fraction": lambda x: x * [1, Fraction(1, 2), 2, 3],
    "an array of objects": lambda x: x * np.array([1, Fraction(1, 2), 2, 3.5], object),
    "objects first": lambda x: np.array([1, Fraction(1, 2), 2, 3.5], object) * x + np.array([1, 2, 3, 4], object),
    "joined with objects": lambda x: np.concatenate([x, np.array([1, 2], object)]) ** 2,
}


@pytest.mark.parametrize("f", EXACT.values(), ids=EXACT)
def test_fractions_and_objects_are_constants(f):
    check_gradient(f, X)
    check_second(f, X)
    assert fl.gradient(lambda x: x * Fraction(1, 2), 2.0) == (0.5,)
    assert gradient_of(lambda x: np.array([1, Fraction(1, 2), 2, 3.5], object) @ x, X).tolist() == [1, 0.5, 2, 3.5]
    with pytest.raises((TypeError, ValueError)):
        gradient_of(lambda x: x * np.array(["a", 1, 2, 3], object), X)


# -- a singular matrix ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("a", [[[0.0]], [[1.0, 2.0], [2.0, 4.0]], [[[1.0, 2.0], [2.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]]]])
def test_the_determinant_of_a_singular_matrix_has_a_slope(a):
    check_call(Call(np.linalg.det, np.array(a)))


def test_a_large_singular_matrix_is_refused():
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        gradient_of(np.linalg.det, np.ones((20, 20)))
