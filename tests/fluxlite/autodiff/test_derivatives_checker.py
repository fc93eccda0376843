"""The checker of derivatives is checked: it has to notice rules that are wrong in one respect only."""

import contextlib

import gradcheck
import numpy as np
import pytest
from gradcheck import Call, check_call, check_float32, check_forward, check_gradient, check_python_float, check_second
from inside import COMPOSED, RULES, plain, rule, rule_for_each, unbroadcast

import fluxlite as fl

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


SQUARE = Y[:2] @ X[:, :2]


def without_the_last(g, out, x):
    result = g * np.cos(x)
    result[-1, -1] = 0
    return result


def last_only(g, x):
    return g if g.shape == x.shape else g[-1]


# A wrong rule, what still passes, and what has to be refused, with the words that it's refused with.
WRONG = {
    "a sign": (np.sin, [lambda g, out, x: -g * np.cos(x)], None, (check_gradient, X.T), "gradient of operand 0"),
    "a number's sign": (
        np.sin, [lambda g, out, x: -g * np.cos(x)], None, (check_gradient, np.array(0.3)), "gradient of operand 0"),
    "a missing transpose": (
        np.matmul, [lambda g, out, x, y: g @ y, lambda g, out, x, y: x.T @ g],
        None, (check_gradient, SQUARE, Y[:2]), "gradient of operand 0"),
    "a factor": (
        np.mean, [lambda g, out, a: np.broadcast_to(g, a.shape)], None, (check_gradient, X), "gradient of operand 0"),
    "what we compute with": (
        np.sum, [lambda g, out, a: np.broadcast_to(g * 2, a.shape)], None, (check_gradient, X), "of operand 0"),
    "the second operand": (
        np.matmul, [lambda g, out, x, y: g @ y.T, lambda g, out, x, y: (x.T @ g)[::-1]],
        None, (check_gradient, X, Y), "gradient of operand 1"),
    "one element": (np.sin, [without_the_last], None, (check_gradient, X), "gradient of operand 0"),
    "a broadcast": (
        np.add, [lambda g, out, x, y: last_only(g, x), lambda g, out, x, y: last_only(g, y)],
        (check_gradient, X, X + 1), (check_gradient, X, X[0]), "gradient of operand 1"),
    "a second derivative": (  # the outer gradient doesn't see the cosine
        np.sin, [lambda g, out, x: g * np.cos(plain(x))], (check_gradient, X), (check_second, X), "second derivative"),
    "a second derivative by another operand": (
        np.multiply, [lambda g, out, x, y: unbroadcast(g * plain(y), x), lambda g, out, x, y: unbroadcast(g * x, y)],
        (check_gradient, X, X + 1), (check_second, X, X + 1), "second derivative"),
    "a dtype on the way": (
        np.sin, [lambda g, out, x: g * np.cos(x) * np.ones(x.shape)],
        (check_gradient, X), (check_float32, X), "the rule gives float64"),
    "a Python number": (
        np.sin, [lambda g, out, x: g if type(x) is float else g * np.cos(x)],
        (check_gradient, np.array(0.3)), (check_python_float, np.array(0.3)), "Python number"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_rule_is_refused(what):
    function, pullbacks, passes, fails, words = WRONG[what]
    with planted(function, *pullbacks):
        if passes:
            passes[0](function, *passes[1:])
        refused(fails[0], function, *fails[1:], match=words)
    fails[0](function, *fails[1:])


def test_another_value_or_shape_than_numpys():
    fl.gradient(lambda x: np.sum(np.outer(x, x)), np.ones(2))  # loads the rarer rules
    before = COMPOSED[np.outer]
    try:
        for wrong in (lambda a, b: b[:, None] * a, lambda a, b: (a[:, None] * b)[None], lambda a, b: (a, b)):
            COMPOSED[np.outer] = wrong
            refused(check_forward, np.outer, X[0], X[1], match="result|equal")
    finally:
        COMPOSED[np.outer] = before
    check_forward(np.outer, X[0], X[1])


@pytest.mark.parametrize(
    "spoil, match",
    [
        (lambda gs, x: [g[..., 0] for g in gs], "shape"),
        (lambda gs, x: [g.astype(np.float32) for g in gs], "dtype"),
        (lambda gs, x: [np.broadcast_to(g, g.shape) for g in gs], "read-only"),
        (lambda gs, x: [np.add(g, 0, out=x) for g in gs], "shares memory"),
        (lambda gs, x: [gs[0], gs[0][:]], "shares memory"),
        (lambda gs, x: [None, None], "no array"),
    ],
)
def test_a_gradient_that_is_not_like_its_operand(monkeypatch, spoil, match):
    right = gradcheck.gradient
    monkeypatch.setattr(gradcheck, "gradient", lambda f, *xs: spoil(right(f, *xs), xs[0]))
    refused(check_gradient, np.add, X.copy(), X + 1, match=match)


def test_a_wrong_rule_for_a_list_of_operands():
    before = RULES[np.stack]
    try:
        rule_for_each(np.stack, lambda position, g, out, arrays, axis=0: g[0], sequence=True)
        refused(check_gradient, Call(np.stack, [X, X + 1]), X, X + 1, match="gradient of operand 1")
    finally:
        RULES[np.stack] = before
