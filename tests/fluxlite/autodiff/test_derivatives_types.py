"""Beside Python numbers, lists, and NumPy's own numbers, a call has the type inside a gradient that it has outside.

NumPy decides by the function. In ``x * 2.0`` the number has no type of its own; np.dot makes a float64 array of it.
"""

import warnings

import numpy as np
import pytest
from gradcheck import check_forward, check_gradient
from operands import NUMPY_2_0

import fluxlite as fl

X = np.array([[0.5, 1.2, 0.7], [1.1, 0.3, 0.9]], np.float32)
INDEX = np.array([0, 1, 1])
PIXELS = np.array([200, 1, 0], np.uint8)
CHOSEN = np.array([[True, False, True], [False, False, True]])

CALLS = {
    "select": lambda x: np.select([CHOSEN, x < 0.4], [x, 1.5], 2.0),
    "select, two numbers": lambda x: np.select([CHOSEN, ~CHOSEN], [1.5, x], 2),
    "select, a NumPy number": lambda x: np.select([CHOSEN, x < 0.4], [x, np.float64(1.5)], 2.0),
    "choose": lambda x: np.choose(INDEX, [2.0, x[0]]),
    "choose, another order": lambda x: np.choose(INDEX, [x[0], 2.0]),
    "append": lambda x: np.append(x, 2.0),
    "append to a number": lambda x: np.append(2.0, x),
    "append along an axis": lambda x: np.append(x, [[1.0, 2.0, 3.0]], axis=0),
    "dot": lambda x: np.dot(x, 2.0),
    "dot as a method": lambda x: x.dot(2),
    "dot, the number first": lambda x: np.dot(1.5, x),
    "inner": lambda x: np.inner(x, 1.5),
    "outer": lambda x: np.outer(x, 1.5),
    "outer of a ufunc": lambda x: np.multiply.outer(x, 2.0),
    "kron": lambda x: np.kron(x, 1.5),
    "vecdot with a list": lambda x: np.vecdot(x, [1.0, 2.0, 3.0]),
    "polyval": lambda x: np.polyval([1.0, 2.0], x),
    "polyval at a number": lambda x: np.polyval(x[0], 2.0),
    "gradient": lambda x: np.gradient(x, np.float64(0.5), axis=0),
    "gradient of integers": lambda x: np.gradient(np.array([1, 4, 9]), x[0, 0]),
    **({} if NUMPY_2_0 else {"quantile": lambda x: np.quantile(x, np.float64(0.3), axis=0)}),  # there, float32 wins
    "quantile by a number": lambda x: np.quantile(x, 0.3, axis=0),
    "sum from": lambda x: np.sum(x, 0, initial=np.float64(2.0)),
    "prod from": lambda x: np.prod(x, 0, initial=np.float64(2.0)),
    "max from": lambda x: np.max(x, 0, initial=np.float64(0.6)),
    "hstack": lambda x: np.hstack([x[0], 2.0]),
    "concatenate": lambda x: np.concatenate([x, 2.0], axis=None),
    "pad without axes": lambda x: np.pad(x[0, 0], 1),
    "linspace from pixels": lambda x: np.linspace(PIXELS, x, 4),
    "linspace to pixels": lambda x: np.linspace(x, PIXELS, 4),
    "linspace from whole numbers": lambda x: np.linspace(INDEX, x, 3),
    "linspace from a number": lambda x: np.linspace(2, x, 3),
    "linspace from a list": lambda x: np.linspace([0, 1, 2], x[0], 3),
    "fmin with pixels": lambda x: np.fmin(x * 100, PIXELS),
    "fmax with pixels": lambda x: np.fmax(PIXELS, x * 100),
    "power of pixels": lambda x: (PIXELS + np.uint8(1)) ** x,
    "power of pixels in float64": lambda x: np.float_power(PIXELS + np.uint8(1), x),
    "cov of no variables": lambda x: np.cov(x[:0, :0]),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_type(call):
    check_forward(call, X)
    check_gradient(call, X.astype(float))


def test_a_number_that_is_differentiated_has_a_type_only_where_numpy_gives_it_one():
    for call in (np.dot, np.inner):
        (_, product), (_, g) = fl.withgradient(lambda x, y, call=call: (np.sum(call(x, y)), call(x, y)), X, 2.0)
        assert product.dtype == call(X, 2.0).dtype == np.float64
        assert g == pytest.approx(np.sum(X))
    chosen = lambda x, y: np.select([CHOSEN], [x], y)  # noqa: E731
    (_, found), (_, g) = fl.withgradient(lambda x, y: (np.sum(chosen(x, y)), chosen(x, y)), X, 2.0)
    assert found.dtype == chosen(X, 2.0).dtype == np.float32
    assert g == np.sum(~CHOSEN)


def test_what_pad_refuses_it_refuses_without_axes_too():
    for widths in (1.5, (1, 2, 3), -1):
        with pytest.raises((TypeError, ValueError)) as wanted:
            np.pad(np.float32(1), widths)
        with pytest.raises(type(wanted.value)):
            fl.gradient(lambda x, widths=widths: np.pad(x, widths), np.float32(1))


def test_concatenate_with_a_number_that_is_differentiated():
    (_, joined), _ = fl.withgradient(lambda x, y: (np.sum(x) * y, np.concatenate([x, y], axis=None)), X, 2.0)
    assert joined.dtype == np.concatenate([X, 2.0], axis=None).dtype


def test_arrays_that_were_broadcast_by_numpy():
    x, _ = np.broadcast_arrays(np.ones(3), np.ones((2, 1)))
    with warnings.catch_warnings(action="error"):
        (g,) = fl.gradient(lambda x: np.sum(x * x), x)
    assert np.all(g == 2)
