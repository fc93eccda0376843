"""Bad arguments: inside a gradient every function raises what NumPy raises outside.

A function that is made of others has no call of NumPy's own that would look at its arguments.
"""

import numpy as np
import pytest
from gradcheck import Call, check_same_refusal, spoiled
from hypothesis import given
from hypothesis import strategies as st
from inside import COMPOSED, composed, load_rarer
from operands import few_examples
from tables import ROWS, ids

import fluxlite as fl

load_rarer()
COMPOSED_ROWS = [row for row in ROWS if row[1] in COMPOSED]


@pytest.mark.parametrize("table, function, calls_of", COMPOSED_ROWS, ids=ids(COMPOSED_ROWS))
@few_examples
@given(st.data())
def test_what_numpy_refuses_is_refused(table, function, calls_of, data):
    for call in spoiled(data.draw(calls_of(function))):
        check_same_refusal(call)


X, Y = np.arange(1.0, 7).reshape(2, 3), np.arange(1.0, 7).reshape(3, 2)
WRONG = {
    "prod along an axis too many": lambda x: np.prod(x, axis=2),
    "diff along an axis too many": lambda x: np.diff(x, axis=2),
    "diff a negative number of times": lambda x: np.diff(x, n=-1),
    "take along an axis too many": lambda x: np.take(x, 0, axis=2),
    "rollaxis of an axis too many": lambda x: np.rollaxis(x, 3),
    "tensordot of other lengths": lambda x: np.tensordot(x, Y, 2),
    "average with weights in a column": lambda x: np.average(x, axis=1, weights=np.ones((3, 1))),
    "average with one weight": lambda x: np.average(x, weights=np.ones(())),
    "vsplit of a vector": lambda x: np.vsplit(x[0], 3),
    "diag of a number": lambda x: np.diag(x[0, 0]),
    "pad by a fraction": lambda x: np.pad(x, 1.5),
    "norm over three axes": lambda x: np.linalg.norm(x[None], 2),
    "rot90 over one axis": lambda x: np.rot90(x, 4, (0, 0)),
}


@pytest.mark.parametrize("f", WRONG.values(), ids=WRONG)
def test_slips_of_the_pen(f):
    with pytest.raises(Exception) as outside:  # noqa: PT011  (whatever NumPy raises)
        f(X)
    with pytest.raises(type(outside.value)) as inside:
        fl.gradient(lambda x: sum(np.sum(part) for part in f(x)), X)
    assert str(inside.value) == str(outside.value)


def test_a_number_has_no_first_axis_but_numpy_reduces_it():
    for f in (np.max, np.min, np.sum, np.prod, np.ptp):
        for axis in (0, -1):
            assert fl.gradient(lambda x: f(x, axis), 3.0) == (0.0 if f is np.ptp else 1.0,)  # noqa: B023
    with pytest.raises(np.exceptions.AxisError):
        fl.gradient(lambda x: np.prod(x, 1), 3.0)


def test_a_rule_without_a_look_at_its_arguments_is_noticed():
    before = COMPOSED[np.ptp]
    try:
        composed(np.ptp)(lambda a, axis=None: np.max(a, axis % a.ndim) - np.min(a, axis % a.ndim))
        check_same_refusal(Call(np.ptp, X, 1))
        with pytest.raises(AssertionError, match=r"(?s)^ptp\(.*, 2\): NumPy raises AxisError.*Raise a ValueError"):
            check_same_refusal(Call(np.ptp, X, 2))
    finally:
        COMPOSED[np.ptp] = before
