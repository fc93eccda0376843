"""The tape that is drawn is the one that `back` walks."""

import numpy as np
import pytest

import fluxlite as fl
from fluxlite_course.lesson14.pictures import entries, written


@pytest.fixture
def w():
    return fl.param(np.array([0.5, -1.0]))


def test_functions_and_operands_in_the_order_of_the_call(w):
    x = np.array([1.0, 2.0])
    loss = np.sum(np.concatenate([x - w, x, w])[1:] * 2.0)
    assert written(entries(loss)) == [
        "#1 param",
        "#2 np.subtract(array, #1)",
        "#3 np.concatenate(#2, array, #1)",
        "#4 fluxlite.getitem(#3, slice(1,)",
        "#5 np.multiply(#4, 2.0)",
        "#6 np.sum(#5)",
    ]


def test_a_result_used_twice_is_one_entry_and_one_not_used_is_none(w):
    h = np.tanh(w)
    np.exp(h)
    assert written(entries(h * h)) == ["#1 param", "#2 np.tanh(#1)", "#3 np.multiply(#2, #2)"]


def test_only_what_is_tracked():
    with pytest.raises(TypeError, match="has results that are tracked, got ndarray"):
        entries(np.ones(2))
