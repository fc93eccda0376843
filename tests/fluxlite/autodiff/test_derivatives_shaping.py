"""Functions that put elements elsewhere, beside their rows in tables/shaping.py."""

# ruff: noqa: B023  (functions made in a loop are used in the same turn)
import numpy as np
import pytest
from gradcheck import Call, check_call, check_gradient, check_python_float
from hypothesis import given
from operands import arrays, few_examples

import fluxlite as fl

# -- the same with methods -----------------------------------------------------------------------------------------

METHODS = [
    lambda x: x.reshape(3, 2), lambda x: x.reshape((3, -1)), lambda x: x.reshape(-1),
    lambda x: x.reshape([3, 2], order="F"), lambda x: x.transpose(), lambda x: x.transpose(1, 0),
    lambda x: x.transpose((1, 0)), lambda x: x.T, lambda x: x.swapaxes(0, -1), lambda x: x.ravel(),
    lambda x: x.ravel("F"), lambda x: x.flatten(), lambda x: x[:1].squeeze(), lambda x: x[:1].squeeze(axis=0),
    lambda x: x.clip(-0.5, 0.5), lambda x: x.clip(min=0), lambda x: x.clip(max=0),
    lambda x: x.take([0, 2, 2], axis=1), lambda x: x.take(4), lambda x: x.repeat(2),
    lambda x: x.repeat([1, 2], axis=0), lambda x: x.copy(), lambda x: x.conj(),
    lambda x: np.stack([row * row[0] for row in x]),
]  # fmt: skip


@pytest.mark.parametrize("f", METHODS, ids=range(len(METHODS)))
@few_examples
@given(x=arrays((2, 3)))
def test_methods(f, x):
    check_call(Call(f, x))


# -- Python numbers ----------------------------------------------------------------------------------------------------


OF_NUMBERS = [
    lambda x, y: np.reshape(x, (1, 1)) * y, lambda x, y: np.ravel(x) * y, lambda x, y: np.expand_dims(x, 0) * y,
    lambda x, y: np.squeeze(x) * y, lambda x, y: np.broadcast_to(x, (2, 2)) * y, lambda x, y: np.repeat(x, 3) * y,
    lambda x, y: np.stack([x, y, 2.0]) ** 2, lambda x, y: np.hstack([x, y]) ** 2, lambda x, y: np.append(x, y) ** 2,
    lambda x, y: np.append([1.0, 2.0], x * y), lambda x, y: np.tile(x, 2) * y,
    lambda x, y: np.where([True, False], x, y), lambda x, y: np.clip([0.0, 5.0, -5.0], -x, y),
    lambda x, y: np.einsum(",->", x, y),
    lambda x, y: np.dot(x, y) * np.outer(x, y) * np.kron(x, y) * np.vdot(x, y) * np.inner(x, y),
    lambda x, y: np.linalg.norm(np.stack([x, y])),
    lambda x, y: np.max(x) + np.mean(y) * np.sum(x) * np.prod(y) + np.var(np.stack([x, y])),
]  # fmt: skip


@pytest.mark.parametrize("f", OF_NUMBERS, ids=range(len(OF_NUMBERS)))
def test_python_numbers(f):
    check_gradient(f, np.array(0.5), np.array(1.5))
    check_python_float(f, np.array(0.5), np.array(1.5))


def test_ties_in_sort_go_to_one_place_each():
    (g,) = fl.gradient(lambda x: np.sum(np.sort(x) * np.array([1.0, 2.0, 4.0])), np.array([3.0, 1.0, 3.0]))
    assert g[1] == 1 and sorted(g) == [1, 2, 4]


def test_modes_of_pad_without_a_rule_are_named():
    for mode in ("mean", "linear_ramp", "empty"):
        with pytest.raises(TypeError, match=f"constant, edge, reflect, symmetric and wrap, not for '{mode}'"):
            fl.gradient(lambda x: np.sum(np.pad(x, 1, mode)), np.ones(3))


def test_a_split_that_does_not_divide():
    with pytest.raises(ValueError, match="equal division"):
        fl.gradient(lambda x: np.sum(np.split(x, 2)[0]), np.ones(3))
