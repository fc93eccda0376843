"""Lesson 14's checks: each likely wrong answer gets its own message, and no rule from a check stays behind."""

import numpy as np
import pytest
from answers import EqualToAll, not_right, right

import fluxlite as fl
from fluxlite_course.lesson14 import wave

pytestmark = pytest.mark.usefixtures("the_table_as_it_was")


def softsign(rule=None, body=lambda x: x / (1 + np.abs(x))):
    @fl.primitive
    def softsign(x):
        return body(x)

    if rule:
        fl.rule(softsign, rule)
    return softsign


def by_the_library(g, out, x):
    return fl.gradient(lambda x: np.sum(fl.softsign(x) * g), x)[0]


def by_gradient(g, out, x):
    return fl.gradient(lambda x: np.sum(x / (1 + np.abs(x)) * g), x)[0]


def by_small_steps(g, out, x, step=1e-6):
    above, below = x + step, x - step
    return g * (above / (1 + np.abs(above)) - below / (1 + np.abs(below))) / (2 * step)


SOFTSIGN = [
    (softsign(by_the_library), "that asks fluxlite for the gradient"),
    (softsign(by_gradient), "that asks fluxlite for the gradient"),
    (softsign(), "softsign has no rule yet"),
    (fl.softsign, "that's fluxlite's own softsign"),
    ([], "softsign has no rule yet"),
    (softsign(lambda g, out, x: np.where(x > -3, g / (1 + np.abs(x)) ** 2, g)), "the gradient isn't"),
    (softsign(lambda g, out, x: g.fill(0) or g), "the rule changes g itself"),
    (softsign(lambda out, g, x: g / (1 + np.abs(x)) ** 2), "g is the first argument of a rule"),
    (softsign(lambda g, out, x: np.divide(g, (1 + np.abs(x)) ** 2, out=g)), "the rule changes g itself"),
    (softsign(lambda g, out, x: None), "the rule returned None"),
    (softsign(lambda g, out, x: g, body=lambda x: None), "softsign returned None"),
    (softsign(lambda g, out, x: g * (out / np.where(x == 0, np.nan, x)) ** 2), "the gradient isn't"),
    (lambda x: x, "softsign has no rule yet"),
    (softsign(lambda g, out, x: 1 / (1 + np.abs(x)) ** 2), "g is missing"),
    (softsign(lambda g, out, x: g / (1 + np.abs(x))), "the square is missing"),
    (softsign(lambda g, out, x: g / (1 + x) ** 2), "where is |x|?"),
    (softsign(lambda g, out, x: -g / (1 + np.abs(x)) ** 2), "the gradient isn't what small steps give"),
    (softsign(lambda g, out, x: g, body=np.tanh), "softsign itself was changed"),
]


def of_x(g, out, x, y):
    return g @ y.T


def of_y(g, out, x, y):
    return x.T @ g


def of_x_by_gradient(g, out, x, y):
    return fl.gradient(lambda x: np.sum((x @ y) * g), x)[0]


PRODUCTS = [
    ((of_x_by_gradient, of_y), "that asks fluxlite for the gradient"),
    ((of_x, lambda g, out, x, y: np.linalg.lstsq(x, out, rcond=None)[0]), "the gradient of y isn't"),
    ((lambda g, out, x, y: (g @ y.T).astype(np.float16), of_y), "the gradient of x isn't"),
    ((of_y, of_x), "the two are the wrong way round"),
    ((lambda g, out, x, y: g @ y, of_y), "Which of the two needs a .T?"),
    ((of_x, lambda g, out, x, y: g.T @ x), "the gradient of y isn't what small steps give: it has the shape of y"),
    ((lambda g, out, x, y: -g @ y.T, of_y), "the gradient of x isn't what small steps give"),
    ((of_x, lambda g, out, x, y: None), "the rule of y returned None"),
    ((of_x, lambda g, out, x, y: np.dot(x, g)), "Which of the two needs a .T?"),
    ((lambda g, out, x, y: g.fill(0) or g @ y.T, of_y), "changed the g that it was given"),
    ((lambda g, out, x, y: (x.fill(0), y.fill(0)) and g @ y.T, of_y), "changed the x that it was given"),
    ((lambda g, out, x, y: (g @ y.T)[:, :3], of_y), "it has the shape of x"),
]
test_wrong_products = not_right(*[("14.3", rules, words) for rules, words in PRODUCTS])
test_right_products = right(
    ("14.3", [of_x, lambda g, out, x, y: (g.T @ x).T]),
    ("14.3", [lambda g, out, x, y: np.einsum("nm,km->nk", g, y), lambda g, *_: np.dot(_[1].T, g).astype(float)]),
)


test_wrong_rules_of_softsign = not_right(*[("14.2", [answer], words) for answer, words in SOFTSIGN])
test_other_right_rules_of_softsign = right(
    ("14.2", [softsign(lambda g, out, x: g * (1 - np.abs(out)) ** 2)]),
    ("14.2", [softsign(lambda g, out, x: np.divide(g, np.square(np.abs(x) + 1)))]),
    ("14.2", [softsign(by_small_steps)]),
)


test_wrong_orders = not_right(
    ("14.1", [[7, 6, 5, 4, 3], 2], "loss doesn't depend on 5"),
    ("14.1", [[3, 4, 6, 7], 2], "it begins with the loss, number 7"),
    ("14.1", [[7, 4, 3, 6, 3], 2], "back visits an entry once"),
    ("14.1", [[7, 4, 3, 6], 2], "3 is visited before 6"),
    ("14.1", [[7, 4, 6, 3], 2], "The highest number that's waiting is next"),
    ("14.1", [[7, 6, 4], 2], "which entries does loss depend on?"),
    ("14.1", [7, 2], "order is a list of numbers"),
    ("14.1", ["7643", 2], "order is a list of numbers"),
    ("14.1", [["loss", "d", "b", "a"], 2], "order is a list of numbers"),
    ("14.1", [[7, 6, 5, 4, 3, 2, 1], 2], "loss doesn't depend on 5"),
    ("14.1", [[7, 6, 4, 3], (2,)], "the comma behind the number"),
    ("14.1", [["7", "6", "4", "3"], 2], "order is a list of numbers"),
    ("14.1", [{7, 6, 4, 3}, 2], "order is a list of numbers"),
    ("14.1", [[7, 6, 4, 1, 3], 2], "back visits them after all others"),
    ("14.1", [[7, 6, 4, 3, 1, 2], 2], "2 is next"),
    ("14.1", [[7, 6, 4, 3, 1], 2], "write both of them, or leave out both"),
    ("14.1", [[7, 6, 4, 3, 2, 1, 1], 2], "back visits an entry once"),
    ("14.1", [[1, 7, 6, 4, 3, 2], 2], "it begins with the loss"),
    ("14.1", [[], 2], "it begins with the loss"),
    ("14.1", [[7, np.nan], 2], "which entries does loss depend on?"),
    ("14.1", [[7, 6.5, 4, 3], 2], "[7, 6.5, 4, 3]"),
    ("14.1", [[7, 6, 4, 3], "2"], "pieces is text"),
    ("14.1", [[7, 6, 4, 3], ["a + w", "w * x"]], "pieces isn't a number"),
    ("14.1", [EqualToAll(), EqualToAll()]),
    ("14.1", [[EqualToAll()] * 4, 2], "order is a list of numbers"),
    ("14.1", [[7, 6, 4, 3], EqualToAll()]),
    ("14.1", [[7, 6, 4, 3], 3], "how many of the lines"),
)
test_right_orders = right(
    ("14.1", [(7, 6, 4, 3), 2]),
    ("14.1", [[7, 6, 4, 3, 2, 1], np.int64(2)]),
    ("14.1", [np.array([7, 6, 4, 3]), np.array(2)]),
    ("14.1", [(n for n in (7.0, 6, 4, 3)), 2.0]),
)


def test_a_pullback_that_is_no_function_is_refused_when_it_is_entered():
    for pullbacks, words in (([[]], "got list"), ([], "got none"), ([None], "got none")):
        with pytest.raises(TypeError, match=words):
            fl.rule(softsign(), *pullbacks)
    fl.rule(softsign(), lambda *arguments: arguments[0])


def test_a_rule_without_a_return_is_asked_for(capsys):
    assert wave(lambda: 0.0 + None) is None
    assert "Does each have its return?" in capsys.readouterr().out
    with pytest.raises(TypeError, match="unsupported"):
        wave(lambda: 0.0 + "")


def test_the_order_is_the_one_of_the_library():
    """The puzzle's claim about 30 lines holds for `pull_back` too."""
    visited = []

    @fl.primitive
    def seen(x, name):
        return x * 1.0

    fl.rule(seen, lambda g, out, x, name: visited.append(name) or g)

    def f(w, x):
        a = seen(w * x, 3)
        b = seen(np.tanh(a), 4)
        seen(x * x, 5)
        d = seen(a + w, 6)
        return seen(b * d, 7)

    fl.gradient(f, 2.0, 3.0)
    assert visited == [7, 6, 4, 3]
