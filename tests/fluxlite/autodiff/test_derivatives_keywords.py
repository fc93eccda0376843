"""Keywords that say dtype=, or what NumPy does anyway; methods of ufuncs. Further ones: tables/keywords.py."""

import numpy as np
import pytest
from gradcheck import Call, check_call, check_forward, check_gradient

import fluxlite as fl

X = np.array([[0.5, 1.5, -0.25], [-1.0, 2.0, 0.75]])

DTYPES = {
    "sum": lambda x, t: np.sum(x, dtype=t),
    "sum by position": lambda x, t: np.sum(x, 0, t),
    "mean": lambda x, t: np.mean(x, 1, dtype=t),
    "prod": lambda x, t: np.prod(x, 0, t),
    "var": lambda x, t: np.var(x, 0, t),
    "std": lambda x, t: np.std(x, dtype=t, keepdims=True),
    "cumsum": lambda x, t: np.cumsum(x, 1, t),
    "cumprod": lambda x, t: np.cumprod(x, dtype=t),
    "concatenate": lambda x, t: np.concatenate([x, x], dtype=t),
    "concatenate along an axis": lambda x, t: np.concatenate([x, x], axis=-1, dtype=t),
    "stack": lambda x, t: np.stack([x, x], 1, dtype=t),
    "add.reduce": lambda x, t: np.add.reduce(x, 1, t),
    "exp": lambda x, t: np.exp(x, dtype=t),
    "multiply": lambda x, t: np.multiply(x, 2.5, dtype=t),
}


@pytest.mark.parametrize("f", DTYPES.values(), ids=DTYPES)
def test_dtype(f):
    check_call(Call(lambda x: f(x, None), X))
    for inside, outside in ((np.float32, np.float64), (np.float64, np.float32), (np.float16, np.float32)):
        if not (f is DTYPES["multiply"] or f is DTYPES["exp"]) or np.can_cast(outside, inside, "same_kind"):
            x = X.astype(outside)
            check_forward(lambda x: f(x, inside).astype(np.float64).astype(np.float16), x)  # noqa: B023
            seen = []
            (g,) = fl.gradient(lambda x: np.sum([seen.append(f(x, inside)), seen[0]][1]), x)  # noqa: B023
            assert seen[0].dtype == inside and g.dtype == outside
            wanted = fl.gradient(lambda x: np.sum(f(x, None)), X)[0]
            np.testing.assert_allclose(g, wanted, rtol=1e-2, atol=1e-2)
    with pytest.raises(TypeError):
        fl.gradient(lambda x: np.sum(f(x, np.int64)), X)


SILENT = {
    "mean by position": lambda x: np.mean(x, 0, None),
    "mean by all positions": lambda x: np.mean(x, 0, None, None, True),
    "sum by all positions": lambda x: np.sum(x, 1, None, None, True, 0, True),
    "prod by position": lambda x: np.prod(x, 0, None, None),
    "max by position": lambda x: np.max(x, 1, None, True),
    "out": lambda x: np.abs(x, out=None) + np.sum(x, out=None) + np.cumsum(x, 1, out=None),
    "where": lambda x: np.sum(x, where=True) + np.exp(x, where=True),
    "where of an extremum": lambda x: np.max(x, 0, where=True) + np.nanmean(x, where=True),
    "take": lambda x: np.take(x, [0, 1], 0, None, "raise"),
    "sort": lambda x: np.sort(x, kind=None, order=None),
    "clip": lambda x: np.clip(x, 0, 1, None),
    "concatenate": lambda x: np.concatenate([x, x], dtype=None, casting="same_kind"),
    "copy": lambda x: np.copy(x, order="K", subok=False),
    "ufunc": lambda x: np.tanh(x, casting="same_kind", order="K", dtype=None, subok=True),
    "diff": lambda x: np.diff(x, prepend=np._NoValue),
}


@pytest.mark.parametrize("f", SILENT.values(), ids=SILENT)
def test_a_keyword_that_says_what_numpy_does_anyway(f):
    check_call(Call(f, X / 8 + 0.2))


@pytest.mark.parametrize("f", [np.sum, np.prod, np.ptp, np.var, np.diff, np.cumsum, np.max], ids=lambda f: f.__name__)
def test_the_operand_by_its_name(f):
    check_call(Call(lambda x: f(a=x), X))
    check_call(Call(lambda x: f(axis=0, a=x), X))


def test_where_that_chooses_nothing_is_not_taken_for_one_that_chooses_all():
    with pytest.raises(TypeError, match="doesn't know the keyword 'where'"):
        fl.gradient(lambda x: np.sum(np.exp(x, where=False)), X)
    assert not fl.gradient(lambda x: np.sum(x, where=False), X)[0].any()


def test_where_needs_initial_for_an_extremum_as_in_numpy():
    for f in (np.max, np.min):
        with pytest.raises(ValueError, match="identity"):
            fl.gradient(lambda x: np.sum(f(x, axis=0, where=X > 0)), X)  # noqa: B023


def test_initial_is_an_operand():
    check_gradient(lambda x, start: np.sum(x, axis=0, initial=start) ** 2, X, np.array(0.5))
    check_gradient(lambda x, start: np.prod(x, axis=0, initial=start) ** 2, X, np.array(0.5))


def test_a_deviation_of_equals_has_no_slope():
    chosen = np.array([True, True, False])
    (g,) = fl.gradient(lambda x: np.std(x, where=chosen), np.array([2.0, 2.0, 5.0]))
    assert g.tolist() == [0.0, 0.0, 0.0]
