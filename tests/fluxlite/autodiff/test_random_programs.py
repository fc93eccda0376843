"""Random programs: rows of the tables of derivatives, one call after the other, each with what came before in it.

A program is a function of all its calls' operands, so `gradcheck` can compare it with finite differences. A failing one
prints as its calls. Here are some, in all styles; for thousands: nox -s random_programs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gradcheck import Call, assert_close, check_call, parts_of, weighted_sum
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from inside import RULES, flat, gradients, plain, rule
from operands import EXAMPLES, few_examples
from tables import ROWS

import fluxlite as fl

some = settings(few_examples, max_examples=EXAMPLES or 40)


class Program:
    """Calls, and for each call after the first: which earlier result goes into which of its operands."""

    def __init__(self, calls: list[Call], ways: list[tuple[int, int]]):
        self.calls, self.ways = calls, ways
        self.operands = [x for call in calls for x in call.operands]

    def __call__(self, *operands: Any) -> list:
        rest, results = iter(operands), []
        for call, (source, goal) in zip(self.calls, self.ways):
            own = [next(rest) for _ in call.operands]
            if results and own:
                goal %= len(own)
                own[goal] = bent(own[goal], results[source % len(results)])
            results += [part for part in parts_of(call(*own)) if plain(part).dtype.kind == "f"]
        return results

    def loss(self, *operands: Any) -> Any:
        return weighted_sum(self)(*operands)

    def __repr__(self) -> str:
        return f"Program({self.calls}, {self.ways})"


def bent(x: Any, by: Any) -> Any:
    """`x`, by up to 8 % larger or smaller: so little that it stays where its function is smooth."""
    if not np.size(by) or not np.size(x):
        return x
    places = np.arange(np.size(x)) % np.size(by)
    factor = 1 + 0.08 * np.tanh(np.ravel(by)[places].reshape(np.shape(x)))
    return x * factor.astype(getattr(x, "dtype", factor.dtype))


@st.composite
def programs(draw: Any, rows: list[tuple] = ROWS, most: int = 5) -> Program:
    chosen = draw(st.lists(st.sampled_from(rows), min_size=2, max_size=most))
    ways = draw(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=most, max_size=most))
    return Program([draw(calls_of(function)) for _, function, calls_of in chosen], ways)


# -- the ways to a gradient: each gives those of a program's operands ------------------------------------------------


@fl.functor(trainable=("w",))
class Memory:
    """A model with state: what it has seen is assigned while the program runs."""

    def __init__(self, w: list):
        self.w, self.seen = w, 0.5


def by_withgradient(program: Program) -> list:
    (_, results), grads = fl.withgradient(lambda *xs: (program.loss(*xs), program(*xs)), *program.operands)
    for got, wanted in zip(results, program(*program.operands), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12)
        assert not isinstance(got, fl.TrackedArray)
    return list(grads)


def by_back(program: Program) -> list:
    tracked = [fl.param(x) for x in program.operands]
    loss = program.loss(*tracked)
    if type(loss) is fl.TrackedArray:  # not where no operand has elements
        fl.back(loss)
    return [x.grad for x in tracked]


def by_params(program: Program) -> list:
    """Copies, since two operands may be one array."""
    model = {"w": [np.copy(x, order="K") for x in program.operands]}
    grads = fl.gradient(lambda: program.loss(*model["w"]), fl.params(model))
    return [grads[x] for x in model["w"]]


def by_model(program: Program) -> list:
    """The model keeps what it has assigned to itself, as a plain value."""
    model = Memory(program.operands)

    def loss(m: Memory) -> Any:
        value = program.loss(*m.w)
        m.seen = m.seen + value
        return value

    (grad,) = fl.gradient(loss, model)
    assert not isinstance(model.seen, fl.TrackedArray), "state is plain"
    np.testing.assert_allclose(model.seen, 0.5 + program.loss(*program.operands), err_msg="state")
    assert all(x is y for x, y in zip(model.w, program.operands)), "parameters are the same objects"
    return grad.w


def by_ties(program: Program) -> list:
    """Each operand is half of what stands at two places."""
    model = [{"w": x, "again": x.T} for x in map(np.copy, program.operands)]
    (grads,) = fl.gradient(lambda m: program.loss(*(part["w"] / 2 + part["again"].T / 2 for part in m)), model)
    assert all(grad["again"] is None or not grad["w"].size for grad in grads), "what is tied has one gradient"
    return [grad["w"] for grad in grads]


STYLES = [by_withgradient, by_back, by_params, by_model, by_ties]


# -- they agree ------------------------------------------------------------------------------------------------------


@some
@given(programs())
def test_gradients_of_random_programs(program):
    check_call(Call(program, *program.operands), tolerance=1e-5)


@pytest.mark.parametrize("style", STYLES, ids=lambda f: f.__name__)
@some
@given(programs())
def test_all_styles_agree(style, program):
    for got, wanted in zip(style(program), fl.gradient(program.loss, *program.operands), strict=True):
        if got is None or wanted is None:
            assert got is wanted or not np.any(got if wanted is None else wanted)
        else:
            assert_close(got, wanted, 1e-9, style.__name__)


# -- faults are found --------------------------------------------------------------------------------------------------


def refused(check, rows=ROWS):
    quick = settings(some, phases=[Phase.generate], max_examples=100, print_blob=False)
    with pytest.raises((AssertionError, AttributeError)) as caught:
        quick(given(programs(rows))(check))()
    return str(caught.value)


@pytest.mark.parametrize(
    "function, pullback",
    [
        (np.arctan, lambda g, out, x: g / (1 + abs(x))),
        (np.arcsinh, lambda g, out, x: g / plain(np.hypot(1, x))),  # the first derivative is right
        (np.roll, lambda g, out, a, shift, axis=None: np.roll(g, shift, axis)),
        (np.cbrt, lambda g, out, x: g.nothing),
    ],
)
def test_a_wrong_rule_is_found(monkeypatch, function, pullback):
    monkeypatch.setitem(RULES, function, RULES[function])
    rule(function, pullback)
    refused(lambda program: check_call(Call(program, *program.operands)), [row for row in ROWS if row[1] is function])


@pytest.mark.parametrize(
    "style, where, planted",
    [
        ("by_model", (gradients, "keep_state"), lambda marked: None),
        ("by_ties", (flat, "parameter_key"), lambda array: ("object", id(array))),
    ],
)
def test_a_wrong_style_is_found(monkeypatch, style, where, planted):
    monkeypatch.setattr(*where, planted)
    refused(next(f for f in STYLES if f.__name__ == style))
