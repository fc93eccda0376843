"""The tape that is drawn is the one that `back` walks."""

import numpy as np
import pytest

import fluxlite as fl
from fluxlite_course.lesson14.pictures import entries


@pytest.fixture
def w():
    return fl.param(np.array([0.5, -1.0]))


def relative(found):
    """The entries as text, numbered from 1, in whatever program they were made."""
    numbers = {f"#{entry.number}": f"#{i}" for i, entry in enumerate(found, 1)}
    return [f"{e.function}({', '.join(numbers.get(o, o) for o in e.operands)})" for e in found]


def test_functions_and_operands_in_the_order_of_the_call(w):
    x = np.array([1.0, 2.0])
    loss = np.sum(np.concatenate([x - w, x, w])[1:] * 2.0)
    assert relative(entries(loss)) == [
        "param()",
        "np.subtract(array, #1)",
        "np.concatenate(#2, array, #1)",
        "fluxlite.getitem(#3, slice(1,)",
        "np.multiply(#4, 2.0)",
        "np.sum(#5)",
    ]


def test_a_result_used_twice_is_one_entry_and_one_not_used_is_none(w):
    h = np.tanh(w)
    np.exp(h)
    assert relative(entries(h * h)) == ["param()", "np.tanh(#1)", "np.multiply(#2, #2)"]


def test_what_back_has_cleared(w):
    h = np.tanh(w)
    fl.back(np.sum(h))
    assert relative(entries(h)) == ["cleared by back()"]


def test_numbers_inside_a_gradient():
    seen = []

    def f(x):
        y = x * 3.0 + 1.0
        seen.extend(relative(entries(y)))
        return y

    fl.gradient(f, 2.0)
    assert seen == ["tracked from the start()", "np.multiply(#1, 3.0)", "np.add(#2, 1.0)"]


def test_prints_one_entry_in_each_line(w):
    lines = repr(entries(np.tanh(w))).splitlines()
    assert lines[0] == f"#{w.number} param" and lines[1].endswith(f" np.tanh(#{w.number})")


def test_only_what_is_tracked():
    with pytest.raises(TypeError, match="has results that are tracked, got ndarray"):
        entries(np.ones(2))
