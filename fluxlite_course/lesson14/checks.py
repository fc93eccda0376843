"""Lesson 14, under the hood: checks."""

from collections.abc import Hashable

import numpy as np

import fluxlite as fl
from fluxlite.autodiff import derivatives  # noqa: F401  (the table of rules is full before a check looks at it)
from fluxlite.autodiff.rules import RULES

from ..kit.exercises import exercise
from ..kit.vocabulary import (
    expect,
    explaining,
    function,
    is_number,
    listed,
    must_return,
    normal,
    number,
    refuse,
    same,
    wrong_if,
)  # fmt: skip
from ..kit.watching import calls_of, unchanged

_ASKED = "that asks fluxlite for the gradient, and the exercise is to say what it is: write a formula"


@exercise("14.1", "the order of the backward pass", look_at="back in section 2: which number is next?")
def order_of_visits(order, pieces):
    numbers = listed(fl.cpu(order) if hasattr(order, "dtype") else order)
    are_numbers = numbers is not None and all(map(is_number, numbers))
    wrong_if(not are_numbers, "order is a list of numbers", f"{order!r:.80}", "[7, …]")
    calls = [one for one in numbers if one not in (1, 2)]
    inputs = [one for one in numbers if one in (1, 2)]  # `back` visits them too, and finds no call
    refuse({
        "loss doesn't depend on 5: nothing leads to it, so back never visits it": 5 in calls,
        "it begins with the loss, number 7, and goes backward": numbers[:1] != [7],
        "back visits an entry once, when all the pieces of its gradient have arrived":
            len(set(numbers)) < len(numbers),
        "3 is visited before 6; but 6 has used 3, and its piece has not arrived yet":
            3 in calls and 6 in calls and calls.index(3) < calls.index(6),
        "which entries does loss depend on? The highest number that's waiting is next": calls != [7, 6, 4, 3],
        "w and x, numbers 1 and 2, have the lowest numbers: back visits them after all others":
            numbers != calls + inputs,
        "w is number 1 and x is number 2: if they're both waiting, 2 is next": inputs == [1, 2],
        "w and x are visited too: write both of them, or leave out both": len(inputs) == 1,
    }, f"[{', '.join(f'{one:g}' for one in numbers)}]")  # fmt: skip
    words = "the order is right; how many of the lines that loss depends on use w?"
    wrong_if(number(pieces, "pieces") != 2, words, f"pieces = {pieces!r:.60}")
    return "7, 6, 4, 3: back visits an entry after everything that used it; and w was used twice, by 3 and by 6"


@exercise("14.2", "the rule of softsign", look_at="the rule of bell in section 4")
def softsign_rule(softsign):
    ours = getattr(softsign, "__module__", "") or ""
    wrong_if(ours.startswith("fluxlite."), "that's fluxlite's own softsign, which has a rule. Enter one for yours")
    none = not isinstance(softsign, Hashable) or softsign not in RULES
    wrong_if(none, "softsign has no rule yet: fl.rule(softsign, …) enters one")
    for x in (np.linspace(-2, 2, 8), np.array([[0.0, 0.3, -4], [7, -0.1, 1]])):
        g = np.linspace(0.5, 2, x.size).reshape(x.shape)
        wanted = g / (1 + np.abs(x)) ** 2  # before a rule could change g
        own = must_return(softsign(x.copy()), "softsign", "x / (1 + np.abs(x))")
        wrong_if(not same(own, x / (1 + np.abs(x))), "softsign itself was changed", expected="x / (1 + np.abs(x))")
        with calls_of(fl.withgradient, fl.softsign) as calls, explaining({
            "gives NoneType as the gradient": "the rule returned None: it returns g times the derivative",
            "may not change g in place": "the rule changes g itself, which others need, too: make a new array of it",
        }):  # fmt: skip
            got = fl.gradient(lambda x, g=g: np.sum(softsign(x) * g), x.copy())[0]
        wrong_if(calls.total() > 1, _ASKED, expected="g times the derivative")  # one of them is ours
        expect(got, wanted, "the gradient isn't what small steps give", {
            "g is missing: it's right only where g is 1": 1 / (1 + np.abs(x)) ** 2,
            "the square is missing": g / (1 + np.abs(x)),
            "g is the first argument of a rule, and out the second": x / (1 + np.abs(x)) ** 3,
            "right only where x is positive: where is |x|?": g / (1 + x) ** 2,
        })  # fmt: skip
    return "with g, and the numbers that small steps give"


@exercise("14.3", "the rule of a product", look_at="the shapes of g, x and y: which product has the shape of x?")
def rule_of_matmul(of_x, of_y):
    function(of_x, "the rule of x")
    function(of_y, "the rule of y")
    fit = "these shapes don't fit. Which of the two needs a .T?"
    for n, k, m in ((4, 3, 2), (2, 5, 3)):
        x, y, g = normal(14, (n, k), (k, m), (n, m))
        wanted = {"x": g @ y.T, "y": x.T @ g}
        got = {}
        for name, of in (("x", of_x), ("y", of_y)):
            given = {"g": g.copy(), "out": x @ y, "x": x.copy(), "y": y.copy()}
            meanings = explaining({"matmul": fit, "not aligned": fit})
            with unchanged(f"rule of {name}", **given), meanings, calls_of(fl.withgradient) as calls:
                found = of(*given.values())
            wrong_if(calls, _ASKED, expected="a product of g and the other operand")
            got[name] = must_return(found, f"the rule of {name}", "a product of g and the other operand: return it")
        swapped = same(got["x"], wanted["y"]) and same(got["y"], wanted["x"])
        wrong_if(swapped, "the two are the wrong way round: first the rule of x, then that of y")
        for name in ("x", "y"):
            words = f"the gradient of {name} isn't what small steps give"
            expect(got[name], wanted[name], words, shape=f"{words}: it has the shape of {name}")
    return "each has the shape of its operand, and the numbers that small steps give"
