"""Indexing and other dtypes, beside their rows in tables/indexing.py."""

# ruff: noqa: B023  (functions made in a loop are used in the same turn)
import numpy as np
import pytest
from gradcheck import Call, check_call, check_gradient, check_second

import fluxlite as fl


def test_repeated_positions_add_up():
    x = np.array([1.0, 2.0, 3.0])
    for index in ([0, 0, 2], np.array([0, 0, 2]), ([0, 0, 2],), ((0, 0, 2),), np.array([-3, 0, -1])):
        (g,) = fl.gradient(lambda x: np.sum(x[index] * np.array([1.0, 10.0, 100.0])), x)
        assert g.tolist() == [11.0, 0.0, 100.0]
    (g,) = fl.gradient(lambda x: np.sum(x[[0, 1, 0], [1, 1, 1]]), np.zeros((2, 2)))
    assert g.tolist() == [[0.0, 2.0], [0.0, 1.0]]


def test_parts_of_a_result():
    """Of what was computed, rather than given."""
    x = np.random.default_rng(0).uniform(-1, 1, (4, 3))
    f = lambda x: sum(row @ row for row in (x * 2)[1:][::-1]) * x[1][2] ** 2 + np.exp(x)[0]  # noqa: E731
    check_gradient(f, x)
    check_second(f, x)


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
