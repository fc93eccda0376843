"""`unless` is `np.where` with a 0, and what was broadcast is summed, whatever they compute with."""

import numpy as np
import pytest
from inside import unless

import fluxlite as fl

RNG = np.random.default_rng(0)
G = np.array([[1.5, -2, np.inf], [-np.inf, np.nan, -0.0]])
WHERE = np.array([[True, False, True], [True, False, False]])


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", np.longdouble, ">f4", np.int64, np.complex64])
@pytest.mark.parametrize("change", [lambda x: x, np.transpose, np.fliplr, lambda x: x[:0], lambda x: x[0, 0]])
def test_the_same_as_where(dtype, change):
    with np.errstate(invalid="ignore"):
        g = change(G.astype(dtype))
    same = change(WHERE)
    for condition in (same, ~same, same.copy(), np.True_, WHERE[0, :1], same.astype(int)):
        before = np.copy(g)
        for got, wanted in (
            (unless(condition, g), np.where(condition, 0, g)),
            (unless(condition, g, holds=True), np.where(condition, g, 0)),
        ):
            np.testing.assert_array_equal(got, wanted)
            assert got.shape == wanted.shape and got.dtype.newbyteorder("=") == wanted.dtype.newbyteorder("=")
        np.testing.assert_array_equal(g, before)


def test_second_derivatives_and_broadcast_conditions():
    x, y = RNG.normal(size=(2, 4, 3))
    condition = x[:1] > 0
    first = fl.gradient(lambda x, y: (np.where(condition, x, y) ** 3).sum(), x, y)
    np.testing.assert_allclose(first[0], np.where(condition, 3 * x**2, 0))
    np.testing.assert_allclose(first[1], np.where(condition, 0, 3 * y**2))
    second = fl.gradient(lambda x: fl.gradient(lambda x: (fl.relu(x) ** 3).sum(), x)[0].sum(), x)[0]
    np.testing.assert_allclose(second, 6 * np.maximum(x, 0))
