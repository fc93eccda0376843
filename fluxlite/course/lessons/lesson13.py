"""Lesson 13, under the hood: checks."""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import fluxlite as fl

from ...autodiff import own_rules  # noqa: F401  (the table of rules is full before a check looks at it)
from ...autodiff.rules import RULES
from ..exercises import NotRight, exercise

# -- 13.1 -----------------------------------------------------------------------------------------------------------


@exercise("13.1", "an array that counts", look_at="Loud in section 1: what is different here?")
def mini_array(MiniArray: Any) -> str:
    asked = getattr(MiniArray, "asked", None)
    if not isinstance(MiniArray, type) or not isinstance(asked, Counter):
        raise NotRight("the check needs the class MiniArray, with its Counter asked")
    kept = Counter(asked)
    try:
        return _tried_mini_array(MiniArray)
    finally:
        asked.clear()
        asked.update(kept)


def _tried_mini_array(MiniArray: Any) -> str:
    x, w = np.array([[0.5, -1.0, 2.0], [1.0, 0.0, -0.5]]), np.arange(6.0).reshape(3, 2)
    mini = MiniArray(x)
    _same_mini(MiniArray, "np.tanh(x)", lambda: np.tanh(mini), np.tanh(x))
    _same_mini(MiniArray, "3 * x", lambda: 3 * mini, 3 * x)
    _same_mini(MiniArray, "w @ x", lambda: w @ mini, w @ x)
    _same_mini(MiniArray, "x + x", lambda: mini + mini, x + x)
    _same_mini(MiniArray, "np.sum(x)", lambda: np.sum(mini), np.sum(x))
    _same_mini(MiniArray, "np.sum(x, axis=1)", lambda: np.sum(mini, axis=1), np.sum(x, axis=1))
    MiniArray.asked.clear()
    np.tanh(mini * 2.0 + mini) + MiniArray(x)
    wanted = {"multiply": 1, "add": 2, "tanh": 1}
    got = dict(MiniArray.asked)
    if got != wanted:
        what = "np.tanh(x * 2.0 + x) + y asks four times"
        if not got:
            raise NotRight(f"{what}, and nothing was counted", got, wanted)
        if any(isinstance(key, np.ufunc) for key in got):
            raise NotRight("count the functions under their names: ufunc.__name__", got, wanted)
        raise NotRight(f"{what}; your count is another", got, wanted)
    return "NumPy hands over each call, computes it, and you count it and wrap the result"


@contextlib.contextmanager
def _not_much_deeper(calls: int = 150) -> Iterator[None]:
    """Stop endless recursion early: NumPy 2.0 on Python 3.12, as on Colab, crashes before Python's own limit."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + calls)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def _same_mini(MiniArray: Any, text: str, call: Callable, wanted: Any) -> None:
    """Check that the result of `call` is a `MiniArray` with the values `wanted`."""
    try:
        with _not_much_deeper():
            got = call()
    except RecursionError:
        raise NotRight(
            f"{text} never ends: your method hands a MiniArray back to NumPy, which asks it again",
            expected="NumPy gets the values of every MiniArray among the inputs",
        ) from None
    except (TypeError, ValueError) as error:
        if text.startswith("np.sum"):
            raise NotRight(
                f"{text} failed: {error}", expected='it asks for np.add.reduce: the method is "reduce", not "__call__"'
            ) from None
        raise
    if got is None:
        raise NotRight(f"{text} gave None: the result must be returned", None, "a MiniArray")
    if not isinstance(got, MiniArray):
        raise NotRight(
            f"{text} gave a bare {type(got).__name__}: what you compute with it won't be counted",
            yours=type(got).__name__,
            expected="MiniArray, with the result inside",
        )
    values = got.values
    if isinstance(values, MiniArray):
        raise NotRight(f"{text} gave a MiniArray inside a MiniArray", expected="NumPy's values inside")
    if not (np.shape(values) == np.shape(wanted) and np.allclose(np.asarray(values, float), wanted)):
        lost = ": the keyword axis got lost on the way" if "axis" in text else ""
        raise NotRight(f"{text} has other values than NumPy's{lost}", f"{values!r}", f"{wanted!r}")


# -- 13.2 -----------------------------------------------------------------------------------------------------------


@exercise(
    "13.2", "the rule of softsign", look_at="the rule of scaled in section 4: two operands, one of them broadcast"
)
def softsign_rule(softsign: Any) -> str:
    if not callable(softsign) or softsign not in RULES:
        raise NotRight("softsign has no rule yet: fl.rule(softsign, …) enters one")
    rng = np.random.default_rng(13)
    x, s = rng.uniform(-2, 2, (4, 3)), rng.uniform(0.5, 2, 3)
    if not np.allclose(softsign(x, s), x / (s + np.abs(x))):
        raise NotRight("softsign itself was changed", expected="x / (s + np.abs(x))")
    for rows in (4, 3):  # with 3 rows of 3 columns, even a sum along the wrong axis has the right shape
        _check_softsign(softsign, x[:rows], s, rng.uniform(0.5, 2, (rows, 3)))
    there = fl.gpu((x.astype(np.float32), s.astype(np.float32)))
    gradients = fl.gradient(lambda x, s: np.sum(softsign(x, s)), *there)
    if not np.allclose(fl.cpu(gradients[0]), s / (s + np.abs(x)) ** 2, atol=1e-4):
        raise NotRight("on a GPU the rule gives another gradient than on the CPU")
    return "both operands, with g, summed where s was broadcast; on the CPU and on the GPU"


def _check_softsign(softsign: Any, x: Any, s: Any, weights: Any) -> None:
    try:
        got_x, got_s = fl.gradient(lambda x, s: np.sum(softsign(x, s) * weights), x, s)
    except ValueError as error:
        if "the rule of" not in str(error):
            raise
        first = "the first pullback is that of x, which was not broadcast: its gradient has its shape, without a sum"
        second = "multiply by g first, then sum over the rows: each of them has used s"
        raise NotRight(str(error), expected=first if "for x" in str(error) else second) from None
    except TypeError as error:
        if "no derivative with respect to its argument" not in str(error):
            raise
        raise NotRight("an operand has no pullback", "1 pullback", "2, in this order: for x, for s") from None
    slope_x, slope_s = s / (s + np.abs(x)) ** 2, -x / (s + np.abs(x)) ** 2
    _told_apart("x", got_x, weights * slope_x, _mistakes_of_x(x, s, weights, slope_x))
    _told_apart("s", got_s, np.sum(weights * slope_s, axis=0), _mistakes_of_s(x, weights, slope_s))


def _mistakes_of_x(x: Any, s: Any, weights: Any, slope: Any) -> dict[str, Any]:
    return {
        "g is missing: it is right only where g is 1": slope,
        "right only at x = 0": weights / s,
        "right only where x is positive: where is |x|?": weights * s / (s + x) ** 2,
        "the square is missing": weights * s / (s + np.abs(x)),
    }


def _mistakes_of_s(x: Any, weights: Any, slope: Any) -> dict[str, Any]:
    found = {
        "g is missing: it is right only where g is 1": np.sum(slope, axis=0),
        "the sign is wrong: a larger s makes softsign smaller": -np.sum(weights * slope, axis=0),
        "a mean, where a sum is needed: each row adds its piece": np.mean(weights * slope, axis=0),
        "g is summed by itself; first g times the slope, then the sum": np.sum(weights, axis=0) * np.sum(slope, axis=0),
    }
    if x.shape[0] == x.shape[1]:
        found["summed along the columns; s was copied into every row"] = np.sum(weights * slope, axis=1)
    return found


def _told_apart(name: str, got: Any, wanted: Any, mistakes: dict[str, Any]) -> None:
    if np.allclose(got, wanted, rtol=1e-6, atol=1e-9):
        return
    for words, value in mistakes.items():
        if np.shape(value) == np.shape(got) and np.allclose(got, value):
            raise NotRight(f"the gradient of {name}: {words}", _short(got), _short(wanted))
    raise NotRight(f"the gradient of {name} is not what small steps give", _short(got), _short(wanted))


def _short(x: Any) -> str:
    """The first row."""
    return np.array2string(np.asarray(x).reshape(-1, np.shape(x)[-1])[0], precision=4)


# -- 13.3 -----------------------------------------------------------------------------------------------------------


@exercise("13.3", "a check of gradients", look_at="compare in section 4, for one number of x at a time")
def check_gradient(check_gradient: Any) -> str:
    x = np.array([[0.4, -1.1, 1.7], [2.0, -0.6, 0.9]])
    weights = np.array([[1.0, -2.0, 0.5], [3.0, 1.5, -1.0]])
    with _rules_as_they_were():
        for title, f, reason in _right_functions(weights):
            at = x[0] if "row" in title else x
            wrong = _positions(check_gradient, f, at, title)
            if wrong:
                raise NotRight(
                    f"the gradient of {title} is right, but your check calls it wrong{reason}",
                    yours=f"wrong at {_listed(wrong)}",
                    expected="[]: steps to both sides, over 2 * step, and room for rounding in proportion to the slope",
                )
        for title, pullback, places in _planted_rules(x):
            wrong = _positions(check_gradient, _with_rule(pullback, weights), x, title)
            if wrong != places:
                hint = "nothing found" if not wrong else f"found at {_listed(wrong)}"
                found = "also names places that are right" if wrong - places else "doesn't find every place"
                raise NotRight(f"a rule {title}, and your check {found}", hint, f"wrong at {_listed(places)}")
    return "it passes what's right, and says where what's wrong is wrong"


def _right_functions(weights: Any) -> list[tuple[str, Callable, str]]:
    return [
        ("np.sum(np.tanh(x) * weights)", lambda x: np.sum(np.tanh(x) * weights), ""),
        ("np.sum(x**3) * 1e4", lambda x: np.sum(x**3) * 1e4, ": its slopes are large, so allow for rounding"),
        ("np.sum(np.exp(x)) of one row", lambda x: np.sum(np.exp(x)), ""),
    ]


def _planted_rules(x: Any) -> list[tuple[str, Callable, set[tuple[int, ...]]]]:
    everywhere = set(np.ndindex(x.shape))

    def at_one_place(g: Any, out: Any, x: Any) -> Any:
        spoiled = np.ones(x.shape)
        spoiled[-1, -1] = -1
        return g * 2 * x * spoiled

    def cancelling(g: Any, out: Any, x: Any) -> Any:
        off = np.zeros(x.shape)
        off[0, 0], off[0, 1] = 1, -1
        return g * 2 * x + off

    return [
        ("is wrong at one place, the last one", at_one_place, {(1, 2)}),
        ("is too large at one place and too small at another", cancelling, {(0, 0), (0, 1)}),
        ("forgets g", lambda g, out, x: 2 * x, everywhere - {(0, 0)}),
        ("is 1 percent off", lambda g, out, x: g * 2.02 * x, everywhere),
    ]


def _with_rule(pullback: Callable, weights: Any) -> Callable:
    """The weighted sum of squares, as a function whose rule is `pullback`."""

    @fl.primitive
    def squares(x: Any) -> Any:
        return x * x

    fl.rule(squares, pullback)
    return lambda x: np.sum(squares(x) * weights)


@contextlib.contextmanager
def _rules_as_they_were() -> Iterator[None]:
    """The learner uses the same table of rules, so we remove what a check adds."""
    before = dict(RULES)
    try:
        yield
    finally:
        RULES.clear()
        RULES.update(before)


def _positions(check_gradient: Any, f: Callable, x: Any, title: str) -> set[tuple[int, ...]]:
    """What `check_gradient` returned, as a set of positions."""
    given, asked = x.copy(), []

    def watched(at: Any) -> Any:
        if isinstance(at, np.ndarray):  # not while gradient runs
            asked.append(at.copy())
        return f(at)

    found = check_gradient(watched, given)
    if asked and all(np.array_equal(at, asked[0]) for at in asked):
        raise NotRight("f was asked at one x only: are up and down the same array?", expected="x.copy() for each")
    if not np.array_equal(given, x):
        raise NotRight("your check changed x, so what comes next computes with another x", expected="work on copies")
    if found is None:
        raise NotRight("check_gradient gave None: the list must be returned", None, "[] or positions")
    if isinstance(found, (bool, np.bool_, int, float, np.number)):
        raise NotRight("check_gradient gives the list of the positions that are wrong", repr(found), "[], or [(0, 1)]")
    return {tuple(int(i) for i in np.atleast_1d(place)) for place in found}


def _listed(places: set[tuple[int, ...]]) -> str:
    shown = [str(place) for place in sorted(places)]
    return ", ".join(shown[:3]) + (", …" if len(shown) > 3 else "") if shown else "nothing"


# -- 13.4 -----------------------------------------------------------------------------------------------------------


@exercise("13.4", "the order of the way back", look_at="back in section 2: which number is taken next?")
def order_of_visits(order: Any, pieces: Any) -> str:
    try:
        given = [int(number) for number in order]
    except (TypeError, ValueError):
        raise NotRight("order is a list of numbers", repr(order), "[7, …]") from None
    while given and given[-1] in (1, 2):  # `back` would visit them, and find no call
        given.pop()
    if given != [7, 6, 4, 3]:
        raise NotRight(_why_not(given), str(given))
    if pieces == 2:
        return "7, 6, 4, 3: back visits an entry after everything that used it; and w was used twice, by 3 and by 6"
    yours = f"pieces = {pieces!r}"
    if pieces == 1:
        raise NotRight("the order is right; but w was used in more than one line", yours)
    raise NotRight("the order is right; in how many of the lines that loss depends on does w stand?", yours)


def _why_not(given: list[int]) -> str:
    if 5 in given:
        return "loss doesn't depend on 5: nothing leads to it, so back never visits it"
    if given[:1] != [7]:
        return "it begins with the loss, number 7, and walks back"
    if len(set(given)) < len(given):
        return "back visits an entry once, when all the pieces of its gradient have arrived"
    if 3 in given and 6 in given and given.index(3) < given.index(6):
        return "3 is visited before 6; but 6 has used 3, and its piece has not arrived yet"
    if {1, 2} & set(given):
        return "1 and 2 were tracked from the start: they have no call to go back through"
    if given == [7, 4, 6, 3]:
        return "that order would give the right gradient too, but back takes the highest number that is waiting"
    return "which entries does loss depend on? The highest number that is waiting is next"
