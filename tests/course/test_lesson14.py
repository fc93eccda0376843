"""Lesson 14's checks: each likely wrong answer gets its own message, and no rule from a check stays behind."""

from collections import Counter

import numpy as np
import pytest
from answers import not_right, right
from numpy.lib.mixins import NDArrayOperatorsMixin

import fluxlite as fl
import fluxlite.autodiff.derivatives.rarer  # noqa: F401  (fills the table, before a test remembers what is in it)
from fluxlite.autodiff.rules import RULES
from fluxlite_course.kit.exercises import judge


@pytest.fixture(autouse=True)
def the_table_as_it_was():
    before = dict(RULES)
    yield
    RULES.clear()
    RULES.update(before)


def mini_array(method=None, **changed):
    """A MiniArray with this method, or with parts of the correct one replaced."""

    class MiniArray(NDArrayOperatorsMixin):
        asked = Counter()

        def __init__(self, values):
            self.values = values

    def right(self, ufunc, how, *inputs, **kwargs):
        MiniArray.asked.update(changed.get("count", lambda u: [u.__name__])(ufunc))
        values = changed.get("unwrap", lambda xs: [getattr(x, "values", x) for x in xs])(inputs)
        result = changed.get("call", lambda u, how, xs, kw: getattr(u, how)(*xs, **kw))(ufunc, how, values, kwargs)
        return changed.get("wrap", MiniArray)(result)

    MiniArray.__array_ufunc__ = method or right
    return MiniArray


def first_only(xs):
    return [xs[0].values, *xs[1:]] if hasattr(xs[0], "values") else xs


MINI = [
    (mini_array(unwrap=lambda xs: xs), "np.tanh(x) never ends: your method hands a MiniArray back"),
    (mini_array(unwrap=first_only), "3 * x never ends"),
    (mini_array(wrap=lambda result: result), "np.tanh(x) gave a bare ndarray"),
    (mini_array(wrap=lambda result: None), "np.tanh(x) gave None"),
    (mini_array(count=lambda ufunc: []), "nothing was counted"),
    (mini_array(count=lambda ufunc: [ufunc]), "under their names: ufunc.__name__"),
    (mini_array(count=lambda ufunc: [ufunc.__name__] * 2), "your count is another"),
    (mini_array(call=lambda u, how, xs, kw: u(*xs, **kw)), 'it asks for np.add.reduce: the method is "reduce"'),
    (mini_array(call=lambda u, how, xs, kw: getattr(u, how)(*xs)), "other values than NumPy's"),
    (mini_array(call=lambda u, how, xs, kw: getattr(u, how)(*xs) if how == "__call__" else u.reduce(xs[0], None)),
     "np.sum(x, axis=1) has other values than NumPy's: the keyword axis got lost"),
    (np.ones(2), "needs the class MiniArray"),
    (mini_array()(np.ones(2)), "needs the class MiniArray"),
]  # fmt: skip


test_wrong_mini_arrays = not_right(*[("14.1", [answer], words) for answer, words in MINI])


def test_the_count_of_the_lesson_is_left_as_it_was():
    right = mini_array()
    right.asked["tanh"] = 7
    assert judge("14.1", right).word == "right" and right.asked == {"tanh": 7}


def slope_x(x, s):
    return s / (s + np.abs(x)) ** 2


def slope_s(x, s):
    return -x / (s + np.abs(x)) ** 2


def of_x(g, out, x, s):
    return g * slope_x(x, s)


def of_s(g, out, x, s):
    return np.sum(g * slope_s(x, s), axis=0)


def softsign(*pullbacks, body=lambda x, s: x / (s + np.abs(x))):
    @fl.primitive
    def softsign(x, s):
        return body(x, s)

    if pullbacks:
        fl.rule(softsign, *pullbacks)
    return softsign


SOFTSIGN = [
    ((), "softsign has no rule yet"),
    ((of_x,), "an operand has no pullback"),
    ((of_s, of_x), "the first pullback is that of x"),
    ((lambda g, out, x, s: slope_x(x, s), of_s), "the gradient of x: g is missing"),
    ((lambda g, out, x, s: g / s, of_s), "the gradient of x: right only at x = 0"),
    ((lambda g, out, x, s: g * s / (s + x) ** 2, of_s), "the gradient of x: right only where x is positive"),
    ((lambda g, out, x, s: g * s / (s + np.abs(x)), of_s), "the square is missing"),
    ((of_x, lambda g, out, x, s: g * slope_s(x, s)), "gives a gradient of shape (4, 3) for s, of shape (3,)"),
    ((of_x, lambda g, out, x, s: np.sum(g * slope_s(x, s))), "gives a gradient of shape () for s"),
    ((of_x, lambda g, out, x, s: np.sum(slope_s(x, s), axis=0)), "the gradient of s: g is missing"),
    ((of_x, lambda g, out, x, s: -of_s(g, out, x, s)), "the gradient of s: the sign is wrong"),
    ((of_x, lambda g, out, x, s: np.mean(g * slope_s(x, s), axis=0)), "a mean, where a sum is needed"),
    ((of_x, lambda g, out, x, s: np.sum(g, axis=0) * np.sum(slope_s(x, s), axis=0)), "g is summed by itself"),
    ((of_x, lambda g, out, x, s: np.sum(g * slope_s(x, s), axis=len(x) % 2)), "summed along the columns"),
    ((lambda g, out, x, s: 2 * of_x(g, out, x, s), of_s), "the gradient of x is not what small steps give"),
]
test_wrong_rules_of_softsign = not_right(*[("14.2", [softsign(*pullbacks)], words) for pullbacks, words in SOFTSIGN])


def test_softsign_itself_is_not_to_be_changed():
    changed = softsign(of_x, of_s, body=lambda x, s: x / (1 + np.abs(x)))
    assert "softsign itself was changed" in judge("14.2", changed).message
    assert judge("14.2", lambda x, s: x).word == "not right"


test_other_right_rules_of_softsign = right(
    ("14.2", [softsign(lambda g, out, x, s: g * (1 - np.abs(out)) ** 2 / s, of_s)]),
)


def checker(slope, is_wrong=lambda g, slope: not np.isclose(g, slope, rtol=1e-5), give=lambda wrong: wrong, only=None):
    def check_gradient(f, x, step=1e-5):
        (g,) = fl.gradient(f, x)
        places = list(np.ndindex(x.shape))[:only]
        return give([i for i in places if is_wrong(g[i], slope(f, x, i, step))])

    return check_gradient


def moved(x, i, by):
    x = x.copy()
    x[i] += by
    return x


def both_sides(f, x, i, step):
    return (f(moved(x, i, step)) - f(moved(x, i, -step))) / (2 * step)


def one_side(f, x, i, step):
    return (f(moved(x, i, step)) - f(x)) / step


def half(f, x, i, step):
    return (f(moved(x, i, step)) - f(moved(x, i, -step))) / step


def in_place(f, x, i, step):
    x[i] += step
    return (f(x) - f(moved(x, i, -2 * step))) / (2 * step)


def the_same_array_twice(f, x, i, step):
    up = down = x
    up[i] += step
    down[i] -= step
    return (f(up) - f(down)) / (2 * step)


def every_place_if_any(f, x):
    found = checker(both_sides)(f, x)
    return list(np.ndindex(x.shape)) if found else []


CHECKERS = [
    (checker(both_sides, only=1), "a rule is wrong at one place, the last one"),
    (checker(both_sides, lambda g, slope: abs(g - slope) > 0.1), "a rule is 1 percent off, and your check doesn't"),
    (checker(both_sides, lambda g, slope: g != slope), "is right, but your check calls it wrong"),
    (checker(both_sides, lambda g, slope: abs(g - slope) > 1e-3), "its slopes are large, so allow for rounding"),
    (checker(both_sides, lambda g, slope: g - slope > 1e-4 * abs(slope)), "a rule is"),
    (checker(half), "steps to both sides, over 2 * step"),
    (checker(the_same_array_twice), "are up and down the same array?"),
    (every_place_if_any, "also names places that are right"),
    (checker(in_place), "your check changed x"),
    (checker(both_sides, give=lambda wrong: None), "check_gradient gave None"),
    (checker(both_sides, give=lambda wrong: not wrong), "gives the list of the positions"),
]
test_wrong_checks_of_gradients = not_right(*[("14.3", [answer], words) for answer, words in CHECKERS])


def test_other_right_checks_of_gradients():
    before = dict(RULES)
    for give in (set, np.array, lambda wrong: [list(place) for place in wrong]):
        assert judge("14.3", checker(both_sides, give=give)).word == "right"
    assert judge("14.3", checker(one_side, lambda g, slope: abs(g - slope) > 1e-3 * abs(slope))).word == "right"
    judge("14.3", checker(half))
    assert before == RULES


test_wrong_orders = not_right(
    ("14.4", [[7, 6, 5, 4, 3], 2], "loss doesn't depend on 5"),
    ("14.4", [[3, 4, 6, 7], 2], "it begins with the loss, number 7"),
    ("14.4", [[7, 4, 3, 6, 3], 2], "back visits an entry once"),
    ("14.4", [[7, 4, 3, 6], 2], "3 is visited before 6"),
    ("14.4", [[7, 4, 6, 3], 2], "back takes the highest number"),
    ("14.4", [[7, 6, 1, 4, 3], 2], "they have no call to go back through"),
    ("14.4", [[7, 6, 4], 2], "which entries does loss depend on?"),
    ("14.4", [7, 2], "order is a list of numbers"),
    ("14.4", [[7, 6, 4, 3], 1], "w was used in more than one line"),
    ("14.4", [[7, 6, 4, 3], 3], "in how many of the lines"),
)
test_right_orders = right(("14.4", [(7, 6, 4, 3), 2]), ("14.4", [[7, 6, 4, 3, 2, 1], np.int64(2)]))


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
