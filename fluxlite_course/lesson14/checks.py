"""Lesson 14, under the hood: checks."""

import inspect
import sys
from collections import Counter

import numpy as np

import fluxlite as fl
from fluxlite.autodiff import derivatives  # noqa: F401  (the table of rules is full before a check looks at it)
from fluxlite.autodiff.rules import RULES

from ..kit.exercises import NotRight, exercise, shown
from ..kit.vocabulary import expect, explained, refuse, same, wrong_if


@exercise("14.1", "an array that counts", look_at="Loud in section 1: what is different here?")
def mini_array(MiniArray):
    asked = getattr(MiniArray, "asked", None)
    has_counter = isinstance(MiniArray, type) and isinstance(asked, Counter)
    wrong_if(not has_counter, "the check needs the class MiniArray, with its Counter asked")
    kept: Counter = Counter(asked)
    try:
        x, w = np.array([[0.5, -1.0, 2.0], [1.0, 0.0, -0.5]]), np.arange(6.0).reshape(3, 2)
        for text, call in (
            ("np.tanh(x)", np.tanh), ("3 * x", lambda x: 3 * x), ("w @ x", lambda x: w @ x), ("x + x", lambda x: x + x),
            ("np.sum(x)", np.sum), ("np.sum(x, axis=1)", lambda x: np.sum(x, axis=1)),
        ):  # fmt: skip
            _same_mini(MiniArray, text, call, x)
        MiniArray.asked.clear()
        np.tanh(MiniArray(x) * 2.0 + MiniArray(x)) + MiniArray(x)
        wanted, got, what = {"multiply": 1, "add": 2, "tanh": 1}, dict(MiniArray.asked), "np.tanh(x * 2.0 + x) + y asks"
        refuse({
            f"{what} four times, and nothing was counted": not got,
            "count the functions under their names: ufunc.__name__": any(isinstance(key, np.ufunc) for key in got),
            f"{what} four times; your count is another": got != wanted,
        }, got, wanted)  # fmt: skip
        return "NumPy hands over each call, computes it, and you count it and wrap the result"
    finally:
        MiniArray.asked.clear()
        MiniArray.asked.update(kept)


def _same_mini(MiniArray, text, call, x):
    """Check that `call` gives a `MiniArray` with the values that NumPy has."""
    wanted, limit = call(x), sys.getrecursionlimit()
    reduce = f'{text} failed: it asks for np.add.reduce: the method is "reduce", not "__call__"'
    endless = f"{text} never ends: your method hands a MiniArray back to NumPy, which asks it again"
    # Endless recursion ends early: NumPy 2.0 on Python 3.12, as on Colab, crashes before Python's own limit.
    sys.setrecursionlimit(len(inspect.stack(0)) + 150)
    try:
        got = call(MiniArray(x))
    except RecursionError:
        raise NotRight(endless, expected="NumPy gets the values of every MiniArray among the inputs") from None
    except (TypeError, ValueError) as error:
        wrong_if(text.startswith("np.sum"), reduce, f"the error says: {error}")
        raise
    finally:
        sys.setrecursionlimit(limit)
    kind, values = type(got).__name__, getattr(got, "values", None)
    lost = ": the keyword axis got lost on the way" if "axis" in text else ""
    refuse({
        f"{text} gave None: the result must be returned": got is None,
        f"{text} gave a bare {kind}: what you compute with it won't be counted": not isinstance(got, MiniArray),
        f"{text} gave a MiniArray inside a MiniArray": isinstance(values, MiniArray),
        f"{text} has other values than NumPy's{lost}": not same(values, wanted, atol=1e-8),
    }, f"{kind}: {values!r}", f"a MiniArray with {wanted!r}")  # fmt: skip


@exercise("14.2", "the rule of softsign",
          look_at="the rule of scaled in section 4: two operands, one of them broadcast")  # fmt: skip
def softsign_rule(softsign):
    none = not callable(softsign) or softsign not in RULES
    wrong_if(none, "softsign has no rule yet: fl.rule(softsign, …) enters one")
    rng = np.random.default_rng(13)
    x, s = rng.uniform(-2, 2, (4, 3)), rng.uniform(0.5, 2, 3)
    same_values = same(softsign(x, s), x / (s + np.abs(x)), atol=1e-8)
    wrong_if(not same_values, "softsign itself was changed", expected="x / (s + np.abs(x))")
    for rows in (4, 3):  # with 3 rows of 3 columns, even a sum along the wrong axis has the right shape
        _check_softsign(softsign, x[:rows], s, rng.uniform(0.5, 2, (rows, 3)))
    there = fl.gpu((x.astype(np.float32), s.astype(np.float32)))
    gradient = fl.gradient(lambda x, s: np.sum(softsign(x, s)), *there)[0]
    right = same(gradient, s / (s + np.abs(x)) ** 2, atol=1e-4)
    wrong_if(not right, "on a GPU the rule gives another gradient than on the CPU")
    return "both operands, with g, summed where s was broadcast; on the CPU and on the GPU"


def _check_softsign(softsign, x, s, g):
    with explained({
        " for x, of shape": "the first pullback is that of x, which was not broadcast: its gradient has its shape",
        "the rule of": "multiply by g first, then sum over the rows: each of them has used s",
        "no derivative with respect to its argument": "an operand has no pullback: there are 2, for x and for s",
    }):  # fmt: skip
        got_x, got_s = fl.gradient(lambda x, s: np.sum(softsign(x, s) * g), x, s)
    slope_x, slope_s = s / (s + np.abs(x)) ** 2, -x / (s + np.abs(x)) ** 2
    of_x = {
        "g is missing: it is right only where g is 1": slope_x,
        "right only at x = 0": g / s,
        "right only where x is positive: where is |x|?": g * s / (s + x) ** 2,
        "the square is missing": g * s / (s + np.abs(x)),
    }
    of_s = {
        "g is missing: it is right only where g is 1": np.sum(slope_s, axis=0),
        "the sign is wrong: a larger s makes softsign smaller": -np.sum(g * slope_s, axis=0),
        "a mean, where a sum is needed: each row adds its piece": np.mean(g * slope_s, axis=0),
        "g is summed by itself; first g times the slope, then the sum": np.sum(g, axis=0) * np.sum(slope_s, axis=0),
        "summed along the columns; s was copied into every row": np.sum(g * slope_s, axis=1),
    }
    for name, got, wanted, slips in (("x", got_x, g * slope_x, of_x), ("s", got_s, np.sum(g * slope_s, axis=0), of_s)):
        words = f"the gradient of {name} is not what small steps give"
        expect(got, wanted, words, {f"the gradient of {name}: {words}": slip for words, slip in slips.items()},
               shape=words, rtol=1e-6, atol=1e-9)  # fmt: skip


@exercise("14.3", "a check of gradients", look_at="compare in section 4, for one number of x at a time")
def check_gradient(check_gradient):
    x = np.array([[0.4, -1.1, 1.7], [2.0, -0.6, 0.9]])
    weights = np.array([[1.0, -2.0, 0.5], [3.0, 1.5, -1.0]])
    factor, off, everywhere = np.ones(x.shape), np.zeros(x.shape), set(np.ndindex(x.shape))
    factor[1, 2], off[0, :2] = -1, (1, -1)
    before = dict(RULES)  # the learner uses the same table of rules, so we remove what a check adds
    try:
        for title, f, at, reason in (
            ("np.sum(np.tanh(x) * weights)", lambda x: np.sum(np.tanh(x) * weights), x, ""),
            ("np.sum(x**3) * 1e8", lambda x: np.sum(x**3) * 1e8, x, ": its slopes are large, so allow for rounding"),
            ("np.sum(np.exp(x)) of one row", lambda x: np.sum(np.exp(x)), x[0], ""),
        ):
            wrong = _positions(check_gradient, f, at)
            words = f"the gradient of {title} is right, but your check calls it wrong{reason}"
            room = "[]: steps to both sides, over 2 * step, and room for rounding in proportion to the slope"
            wrong_if(wrong, words, f"wrong at {sorted(wrong)}", room)
        for title, pullback, places in (
            ("is wrong at one place, the last one", lambda g, out, x: g * 2 * x * factor, {(1, 2)}),
            ("is too large at one place and too small at another", lambda g, out, x: g * 2 * x + off,
             {(0, 0), (0, 1)}),
            ("forgets g", lambda g, out, x: 2 * x, everywhere - {(0, 0)}),
            ("is 1 percent off", lambda g, out, x: g * 2.02 * x, everywhere),
        ):  # fmt: skip
            wrong = _positions(check_gradient, _with_rule(pullback, weights), x)
            found = "also names places that are right" if wrong - places else "doesn't find every place"
            words = f"a rule {title}, and your check {found}"
            wrong_if(wrong != places, words, f"wrong at {sorted(wrong)}", f"wrong at {sorted(places)}")
    finally:
        RULES.clear()
        RULES.update(before)
    return "it passes what's right, and says where what's wrong is wrong"


def _with_rule(pullback, weights):
    """The weighted sum of squares, as a function whose rule is `pullback`."""

    @fl.primitive
    def squares(x):
        return x * x

    fl.rule(squares, pullback)
    return lambda x: np.sum(squares(x) * weights)


def _positions(check_gradient, f, x):
    """What `check_gradient` returned, as a set of positions."""
    given, asked = x.copy(), []

    def watched(at):
        if isinstance(at, np.ndarray):  # not while gradient runs
            asked.append(at.copy())
        return f(at)

    found = check_gradient(watched, given)
    refuse({
        "f was asked at one x only: are up and down the same array? Take x.copy() for each":
            asked and all(np.array_equal(at, asked[0]) for at in asked),
        "your check changed x, so what comes next computes with another x": not np.array_equal(given, x),
        "check_gradient gave None: the list must be returned": found is None,
        "check_gradient gives the list of the positions that are wrong": np.isscalar(found),
    }, shown(found), "[], or [(0, 1)]")  # fmt: skip
    return {tuple(int(i) for i in np.atleast_1d(place)) for place in found}


@exercise("14.4", "the order of the way back", look_at="back in section 2: which number is taken next?")
def order_of_visits(order, pieces):
    try:
        given = [int(number) for number in order]
    except (TypeError, ValueError):
        raise NotRight("order is a list of numbers", repr(order), "[7, …]") from None
    while given and given[-1] in (1, 2):  # `back` would visit them, and find no call
        given.pop()
    refuse({
        "loss doesn't depend on 5: nothing leads to it, so back never visits it": 5 in given,
        "it begins with the loss, number 7, and walks back": given[:1] != [7],
        "back visits an entry once, when all the pieces of its gradient have arrived": len(set(given)) < len(given),
        "3 is visited before 6; but 6 has used 3, and its piece has not arrived yet":
            3 in given and 6 in given and given.index(3) < given.index(6),
        "1 and 2 were tracked from the start: they have no call to go back through": {1, 2} & set(given),
        "that order would give the right gradient too, but back takes the highest number that is waiting":
            given == [7, 4, 6, 3],
        "which entries does loss depend on? The highest number that is waiting is next": given != [7, 6, 4, 3],
    }, str(given))  # fmt: skip
    refuse({
        "the order is right; but w was used in more than one line": pieces == 1,
        "the order is right; in how many of the lines that loss depends on does w stand?": pieces != 2,
    }, f"pieces = {pieces!r}")  # fmt: skip
    return "7, 6, 4, 3: back visits an entry after everything that used it; and w was used twice, by 3 and by 6"
