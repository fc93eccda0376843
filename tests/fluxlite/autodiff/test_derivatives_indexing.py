"""Indexing, another dtype, another device: every rule of fluxlite/autodiff/derivatives/primitives.py."""

# ruff: noqa: B023  (functions made in a loop are used in the same turn)
import numpy as np
import pytest
from gradcheck import Call, check_call, check_gradient, check_second
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from operands import arrays, calls, few_examples, shapes, table_ids

import fluxlite as fl


def getitem(x, index):
    return x[index]


@st.composite
def indices(draw, shape):
    """Slices (with negative steps), integers, None and Ellipsis; integer arrays with repeats; masks; mixtures."""
    basic = hnp.basic_indices(shape, allow_newaxis=True)
    some = bool(shape) and 0 not in shape
    fancy = hnp.integer_array_indices(shape, result_shape=shapes(0, 2)) if some else basic
    rng = np.random.default_rng(draw(st.integers(0, 100)))
    mask = rng.random(shape) < 0.5
    kind = draw(st.sampled_from(["basic", "basic", "fancy", "mask", "mixture", "list"]))
    if not shape:
        return draw(st.sampled_from([(), None, Ellipsis, (None, Ellipsis, None)]))
    if kind in ("basic", "fancy") or 0 in shape:
        return draw(basic if kind == "basic" else fancy)
    first = rng.integers(-shape[0], shape[0], 4)
    if kind == "mask":
        return draw(st.sampled_from([mask, mask[(slice(None), *[0] * (len(shape) - 1))], (Ellipsis, mask)]))
    if kind == "list":
        return draw(st.sampled_from([[0, -1, 0], (first.tolist(),), (Ellipsis, [0, 0]), ((0, 0), Ellipsis)]))
    last = rng.integers(0, shape[-1], 4)
    mixtures = [(None, first), (first, None, ...), (..., last), (first[:, None], None, ...), (np.int64(-1), ...)]
    if len(shape) > 1:
        column = mask[(slice(None), *[0] * (len(shape) - 1))]
        mixtures += [(first, ..., last), (slice(None, None, -1), ..., last), (0, ..., last), (column, ..., 0)]
    return draw(st.sampled_from(mixtures))


@calls
def getitem_calls(draw, function):
    x = draw(arrays(shapes(0, 3, 0)))
    return Call(function, x, draw(indices(x.shape)))


@calls
def scatter_calls(draw, function):
    like = np.zeros(draw(shapes(1, 3, 1)))
    index = draw(indices(like.shape))
    values = draw(arrays(np.shape(like[index])))
    return Call(lambda values: function(like, index, values), values)


def with_arrays(*args):
    """Calls with an array and always the same further arguments."""
    return calls(lambda draw, function: Call(function, draw(arrays(shapes(1))), *args))


TABLE = [
    (getitem, getitem_calls),
    (fl.getitem, getitem_calls),
    (fl.scatter_add, scatter_calls),
    (fl.astype, with_arrays(np.float64)),
    (fl.move, with_arrays(fl.device_of(np.zeros(1)))),
]


@pytest.mark.parametrize("function, calls_of", TABLE, ids=table_ids(TABLE))
@few_examples
@given(st.data())
def test_rule(function, calls_of, data):
    check_call(data.draw(calls_of(function)))


def test_repeated_positions_add_up():
    x = np.array([1.0, 2.0, 3.0])
    for index in ([0, 0, 2], np.array([0, 0, 2]), ([0, 0, 2],), ((0, 0, 2),), np.array([-3, 0, -1])):
        (g,) = fl.gradient(lambda x: np.sum(x[index] * np.array([1.0, 10.0, 100.0])), x)
        assert g.tolist() == [11.0, 0.0, 100.0]
    (g,) = fl.gradient(lambda x: np.sum(x[[0, 1, 0], [1, 1, 1]]), np.zeros((2, 2)))
    assert g.tolist() == [[0.0, 2.0], [0.0, 1.0]]


def test_reading_parts_of_an_array_in_a_loop():
    """Each part is added into one gradient, next to what comes by other ways, before and after."""
    x = np.random.default_rng(0).uniform(-1, 1, (4, 3))

    def f(x):
        total = np.sum(x, axis=0)
        for i in range(len(x)):
            total = np.tanh(total * x[i]) + x[-1] - x[[i, 0], 1:2].sum()
        return total + x.mean() + x[x > 0].sum()

    check_gradient(f, x)
    check_second(f, x)


def test_parts_of_a_result():
    """Of what was computed, rather than given."""
    x = np.random.default_rng(0).uniform(-1, 1, (4, 3))
    f = lambda x: sum(row @ row for row in (x * 2)[1:][::-1]) * x[1][2] ** 2 + np.exp(x)[0]  # noqa: E731
    check_gradient(f, x)
    check_second(f, x)


def test_a_part_with_a_gradient_of_its_own():
    """The way back hands one array to several parts: none may be changed by another."""
    x, y = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])

    def f(x, y):
        both = x + y  # its gradient goes to x and to y as one array
        return both * np.array([1.0, 2.0, 3.0]) + x[0] + y[1:2] + x[::-1]

    check_gradient(f, x, y)
    check_second(f, x, y)


def test_scatter_add_into_the_places_of_an_index():
    like, index = np.zeros((3, 2)), np.array([0, 2, 0])
    values = np.arange(6.0).reshape(3, 2)
    check_call(Call(lambda v: fl.scatter_add(like, index, v) ** 2, values))
    check_gradient(lambda v: fl.scatter_add(like, (index, 1), v) ** 2, np.array(3.0))  # a number, into each place
    with pytest.raises(TypeError, match="no derivative with respect to its argument like"):
        fl.gradient(lambda like: np.sum(fl.scatter_add(like, index, values)), like)


# -- astype ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("there, back", [(np.float32, np.float64), (np.float64, np.float32), (np.float16, np.float32)])
def test_astype_comes_back_in_the_dtype_it_left(there, back):
    x = np.array([0.5, 1.5], back)
    for convert in (lambda x: x.astype(there), lambda x: fl.astype(x, there), lambda x: x.astype(there, copy=False)):
        (g,) = fl.gradient(lambda x: np.sum(convert(x) * np.array([2, 3], there)), x)
        assert g.dtype == back
        assert g.tolist() == [2.0, 3.0]
    check_second(lambda x: fl.astype(x**3, np.float64), x.astype(np.float64))
