"""Lesson 14, under the hood: checks."""

import numpy as np

import fluxlite as fl
from fluxlite.autodiff import derivatives  # noqa: F401  (the table of rules is full before a check looks at it)
from fluxlite.autodiff.rules import RULES

from ..kit.exercises import exercise
from ..kit.vocabulary import expect, explaining, normal, refuse, same, wrong_if


@exercise("14.1", "the order of the backward pass", look_at="back in section 2: which number is next?")
def order_of_visits(order, pieces):
    wrong_if(not isinstance(order, (list, tuple)), "order is a list of numbers", repr(order), "[7, …]")
    given = [number for number in order if number not in (1, 2)]  # `back` would visit them, and find no call
    refuse({
        "loss doesn't depend on 5: nothing leads to it, so back never visits it": 5 in given,
        "it begins with the loss, number 7, and goes backward": given[:1] != [7],
        "back visits an entry once, when all the pieces of its gradient have arrived": len(set(given)) < len(given),
        "3 is visited before 6; but 6 has used 3, and its piece has not arrived yet":
            3 in given and 6 in given and given.index(3) < given.index(6),
        "which entries does loss depend on? The highest number that's waiting is next": given != [7, 6, 4, 3],
    }, str(given))  # fmt: skip
    words = "the order is right; how many of the lines that loss depends on use w?"
    wrong_if(pieces != 2, words, f"pieces = {pieces!r}")
    return "7, 6, 4, 3: back visits an entry after everything that used it; and w was used twice, by 3 and by 6"


@exercise("14.2", "the rule of softsign", look_at="the rule of bell in section 4")
def softsign_rule(softsign):
    none = not callable(softsign) or softsign not in RULES
    wrong_if(none, "softsign has no rule yet: fl.rule(softsign, …) enters one")
    x, g = np.linspace(-2, 2, 8), np.linspace(0.5, 2, 8)
    wrong_if(not same(softsign(x), x / (1 + np.abs(x))), "softsign itself was changed", expected="x / (1 + np.abs(x))")
    got = fl.gradient(lambda x: np.sum(softsign(x) * g), x)[0]
    expect(got, g / (1 + np.abs(x)) ** 2, "the gradient isn't what small steps give", {
        "g is missing: it's right only where g is 1": 1 / (1 + np.abs(x)) ** 2,
        "the square is missing": g / (1 + np.abs(x)),
        "right only where x is positive: where is |x|?": g / (1 + x) ** 2,
    })  # fmt: skip
    return "with g, and the numbers that small steps give"


@exercise("14.3", "the rule of a product", look_at="the shapes of g, x and y: which product has the shape of x?")
def rule_of_matmul(of_x, of_y):
    x, y, g = normal(14, (4, 3), (3, 2), (4, 2))
    with explaining({"matmul": "these shapes don't fit. Which of the two needs a .T?"}):
        got_x, got_y = of_x(g, x @ y, x, y), of_y(g, x @ y, x, y)
    swapped = same(got_x, x.T @ g) and same(got_y, g @ y.T)
    wrong_if(swapped, "the two are the wrong way round: first the rule of x, then that of y")
    for name, got, wanted in (("x", got_x, g @ y.T), ("y", got_y, x.T @ g)):
        words = f"the gradient of {name} isn't what small steps give"
        expect(got, wanted, words, shape=f"{words}: it has the shape of {name}")
    return "each has the shape of its operand, and the numbers that small steps give"
