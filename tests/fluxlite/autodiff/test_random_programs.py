"""Some random programs against finite differences, in all styles. Thousands: nox -s random_programs."""

import numpy as np
import pytest
from gradcheck import Call, assert_close, check_call
from hypothesis import Phase, given, settings
from inside import RULES, flat, gradients, plain, rule
from operands import EXAMPLES, few_examples
from random_programs import STYLES, programs
from tables import ROWS

import fluxlite as fl

some = settings(few_examples, max_examples=EXAMPLES or 40)


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
