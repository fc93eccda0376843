"""The checker of derivatives is checked: it has to notice rules that are wrong in one respect only."""

import contextlib

import numpy as np
import pytest
from gradcheck import Call, check_call, check_float32, check_forward, check_gradient, check_python_float, check_second
from inside import COMPOSED, RULES, fit, plain, rule, rule_for_each

X = np.array([[0.3, -1.2, 0.7], [1.1, 0.4, -0.6]])
Y = np.array([[0.9, 0.2], [-0.5, 1.4], [0.1, -0.8]])


@contextlib.contextmanager
def planted(function, *pullbacks):
    """Another rule for a while."""
    before = RULES[function]
    rule(function, *pullbacks)
    try:
        yield
    finally:
        RULES[function] = before


def refused(check, *arguments, match):
    with pytest.raises(AssertionError, match=match):
        check(*arguments)


def test_what_is_right_passes():
    for layout in (X, X.T, X[:, ::2], X[::-1], X[:0], X[0, 0, None], np.array(0.3)):
        check_call(Call(np.sin, layout))
    check_call(Call(np.matmul, X, Y))
    check_call(Call(np.concatenate, [X, Y.T, X.T.copy().T]))


def test_a_wrong_sign():
    with planted(np.sin, lambda g, out, x: -g * np.cos(x)):
        refused(check_gradient, np.sin, X, match="gradient of operand 0")
        refused(check_gradient, np.sin, X.T, match="gradient of operand 0")
        refused(check_gradient, np.sin, np.array(0.3), match="gradient of operand 0")
    check_gradient(np.sin, X)


def test_a_missing_transpose():
    square = Y[:2] @ X[:, :2]
    with planted(np.matmul, lambda g, out, x, y: g @ y, lambda g, out, x, y: x.T @ g):
        refused(check_gradient, np.matmul, square, Y[:2], match="gradient of operand 0")
    check_gradient(np.matmul, square, Y[:2])


def test_a_wrong_factor():
    with planted(np.mean, lambda g, out, a: np.broadcast_to(g, a.shape)):
        refused(check_gradient, np.mean, X, match="gradient of operand 0")
    # The checker itself computes with np.sum.
    with planted(np.sum, lambda g, out, a: np.broadcast_to(2 * g, a.shape)):
        refused(check_gradient, np.sum, X, match="gradient of operand 0")


def test_wrong_in_the_second_operand_only():
    with planted(np.subtract, lambda g, out, x, y: fit(g, x), lambda g, out, x, y: fit(g, y)):
        refused(check_gradient, np.subtract, X, X + 1, match="gradient of operand 1")
    with planted(np.matmul, lambda g, out, x, y: g @ y.T, lambda g, out, x, y: (x.T @ g)[::-1]):
        refused(check_gradient, np.matmul, X, Y, match="gradient of operand 1")


def test_wrong_at_one_element_only():
    def almost(g, out, x):
        result = g * np.cos(x)
        result[-1, -1] = 0
        return result

    with planted(np.sin, almost):
        refused(check_gradient, np.sin, X, match="gradient of operand 0")


def test_wrong_at_a_broadcast_only():
    def last_only(g, x):
        return g if g.shape == x.shape else g[-1]

    with planted(np.add, lambda g, out, x, y: last_only(g, x), lambda g, out, x, y: last_only(g, y)):
        check_gradient(np.add, X, X + 1)
        refused(check_gradient, np.add, X, X[0], match="gradient of operand 1")
        refused(check_gradient, np.add, X[0], X, match="gradient of operand 0")


def test_wrong_in_the_second_derivative_only():
    with planted(np.sin, lambda g, out, x: g * np.cos(plain(x))):  # the outer gradient does not see the cosine
        check_gradient(np.sin, X)
        refused(check_second, np.sin, X, match="second derivative")
    with planted(np.multiply, lambda g, out, x, y: fit(g * plain(y), x), lambda g, out, x, y: fit(g * x, y)):
        check_gradient(np.multiply, X, X + 1)
        refused(check_second, np.multiply, X, X + 1, match="second derivative")


def test_another_dtype_on_the_way():
    with planted(np.sin, lambda g, out, x: g * np.cos(x) * np.ones(x.shape)):
        check_gradient(np.sin, X)
        refused(check_float32, np.sin, X, match="the rule gives float64")


def test_another_value_or_shape_than_numpys():
    before = COMPOSED[np.outer]
    try:
        for wrong in (lambda a, b: b[:, None] * a, lambda a, b: (a[:, None] * b)[None], lambda a, b: (a, b)):
            COMPOSED[np.outer] = wrong
            refused(check_forward, np.outer, X[0], X[1], match="result|equal")
    finally:
        COMPOSED[np.outer] = before
    check_forward(np.outer, X[0], X[1])


def test_another_gradient_for_a_python_number():
    with planted(np.sin, lambda g, out, x: g if type(x) is float else g * np.cos(x)):
        check_gradient(np.sin, np.array(0.3))
        refused(check_python_float, np.sin, np.array(0.3), match="Python number")


@pytest.mark.parametrize(
    "spoil, match",
    [
        (lambda gs, x: (gs[0][..., 0],), "shape"),
        (lambda gs, x: (gs[0].astype(np.float32),), "dtype"),
        (lambda gs, x: (np.broadcast_to(gs[0], gs[0].shape),), "read-only"),
        (lambda gs, x: (np.add(gs[0], 0, out=x),), "shares memory"),
        (lambda gs, x: (None,), "no array"),
        (lambda gs, x: (gs[0].tolist(),), "no array"),
    ],
)
def test_a_gradient_that_is_not_like_its_operand(monkeypatch, spoil, match):
    import gradcheck

    right = gradcheck.gradient
    monkeypatch.setattr(gradcheck, "gradient", lambda f, *xs: spoil(right(f, *xs), xs[0]))
    refused(check_gradient, np.sin, X.copy(), match=match)


def test_gradients_that_are_one_array(monkeypatch):
    import gradcheck

    right = gradcheck.gradient

    def one_for_both(f, *xs):
        g = right(f, *xs)[0]
        return g, g[:]

    monkeypatch.setattr(gradcheck, "gradient", one_for_both)
    refused(check_gradient, np.add, X, X + 1, match="shares memory")


def test_a_wrong_rule_for_a_list_of_operands():
    before = RULES[np.stack]
    try:
        rule_for_each(np.stack, lambda position, g, out, arrays, axis=0: g[0], sequence=True)
        refused(check_gradient, Call(np.stack, [X, X + 1]), X, X + 1, match="gradient of operand 1")
    finally:
        RULES[np.stack] = before
