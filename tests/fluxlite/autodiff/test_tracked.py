"""Programs that would make a gradient wrong, or lose it, without a word: each raises where it is written."""

import copy
import math
import pickle

import numpy as np
import pytest

import fluxlite
from fluxlite import gradient


def slope(f, x):
    return gradient(f, x)[0]


def test_lists_may_change_afterwards():
    """They can't be made read-only, so we keep what they held."""

    def f(x):
        index, rows, factors, parts = [0, 0], [[0, 1], [1, 1]], [1.0, 2.0, 3.0], [x, [4.0, 5.0, 6.0]]
        y = x[index].sum() + x[rows].sum() + (x * factors).sum() + (np.stack(parts) * 10).sum()
        index[0], rows[0][0], factors[0], parts[1][0] = 2, 2, 100.0, 100.0
        parts[0] = 0
        return y

    assert gradient(f, np.ones(3))[0].tolist() == [2 + 1 + 1 + 10, 3 + 2 + 10, 3 + 10]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda b, x: b.__iadd__(x), "writing a tracked result into an existing array"),
        (lambda b, x: b.__imul__(x), r"write x = x \+ y instead"),
        (lambda b, x: np.add(b, x, out=b), "writing a tracked result"),
        (lambda b, x: np.add.reduce(x, keepdims=True, out=b), "writing a tracked result"),
        (lambda b, x: np.sum(x, out=b), "the keyword 'out'"),
        (lambda b, x: np.add.at(b, [0], x), r"np\.add\.at has no derivative rule"),
        (lambda b, x: np.copyto(b, x), r"np\.copyto has no derivative rule"),
    ],
)
def test_changing_a_plain_array_by_a_tracked_one_raises_and_leaves_it(change, message):
    b = np.full(2, 3.0)
    with pytest.raises(TypeError, match=message):
        gradient(lambda x: (change(b, x), x.sum())[1], np.full(2, 2.0))
    assert b.tolist() == [3, 3]


LOSING = {
    "float": float, "int": int, "index": lambda s: [1, 2][s], "range": range, "f-string": lambda s: f"{s}",
    "format": lambda s: f"{s:.2f}", "percent": lambda s: "%f" % s,  # noqa: UP031
    "item": lambda s: s.item(), "tolist": lambda s: s.tolist(), "asarray": np.asarray, "number type": np.float64,
    "array of a list": lambda s: np.array([s, s]), "mean of a list": lambda s: np.mean([s, s]), "math": math.exp,
    "pickle": pickle.dumps, "copy": copy.copy, "deepcopy": copy.deepcopy, "full": lambda s: np.full(3, s),
    "normal": lambda s: np.random.default_rng(0).normal(s), "arange": np.arange,
    "vectorize": lambda s: np.vectorize(lambda a: a)(s), "setitem": lambda s: s.__setitem__(0, 1),
    "fromiter": lambda s: np.fromiter((s for _ in range(2)), float), "fill": lambda s: np.zeros(3).fill(s),
    "stored": lambda s: np.zeros(3).__setitem__(0, s),
    "stored at several places": lambda s: np.zeros(2).__setitem__(np.array([True, False]), s),
}  # fmt: skip


@pytest.mark.parametrize("name", LOSING)
def test_what_would_lose_the_gradient_raises_and_names_data(name):
    with pytest.raises((TypeError, ValueError)) as error:
        gradient(lambda s: (LOSING[name](s * 1.0), s)[1], 2.0)
    said = f"{error.value} {error.value.__cause__}"
    assert "would lose the gradient" in said and ".data" in said


MADE = [
    lambda x: np.ones((2, 1), np.float32, like=x), lambda x: np.full(2, 0.5, like=x), lambda x: np.arange(1, 4, like=x),
    lambda x: np.eye(2, 3, k=1, like=x), lambda x: np.asarray([1.5], like=x), lambda x: np.empty((0, 3), like=x),
]  # fmt: skip


@pytest.mark.parametrize("gpu", [False, True])
@pytest.mark.parametrize("make", MADE)
def test_what_is_made_like_a_tracked_array_is_a_constant_where_it_is(make, gpu):
    """As ``K + noise * np.eye(n, like=K)``, or a mask of ``np.arange(n, like=x)``, inside a layer."""
    wanted, made = make(np.ones(1)), []

    def f(x):
        made.append(make(x))
        inner = gradient(lambda y: np.sum(made[-1] * y * x), x)[0]  # two levels: only the inner one's parent is y
        made.append(make(inner))
        return np.sum(made[0] * x) + np.sum(inner)

    with fluxlite.simulate_gpu(gpu):
        x = fluxlite.gpu(np.ones(1, np.float32)) if gpu else np.ones(1, np.float32)
        g = slope(f, x)
        assert np.isclose(float(g[0]), 2 * wanted.sum())
        for one in made:
            assert type(one) is type(x) and one.dtype == wanted.dtype
            np.testing.assert_array_equal(fluxlite.cpu(one), wanted)
        with pytest.raises(TypeError, match="would lose the gradient"):
            gradient(lambda x: np.array([x[0], x[0]], like=x).sum(), x)
        with pytest.raises(TypeError, match="would lose the gradient"):
            gradient(lambda x: np.full(3, np.sum(x), like=x).sum(), x)


@pytest.mark.parametrize("operator", ["+=", "-=", "*=", "/=", "//=", "%=", "**=", "@="])
def test_in_place_operators_on_a_tracked_array_raise_with_the_fix(operator):
    def f(x):
        exec(f"x {operator} 2", {}, {"x": x * 1})
        return x.sum()

    with pytest.raises(TypeError, match=r"write x = x \+ y"):
        gradient(f, np.ones(2))


def test_branching_is_allowed():
    f = lambda x: x * 2 if x > 1 and bool(x) else -x  # noqa: E731
    assert gradient(f, 2.0) == (2.0,) and gradient(f, 0.5) == (-1.0,)
    with pytest.raises(ValueError, match="ambiguous"):
        gradient(lambda x: x.sum() if x else 0.0, np.ones(2))


def test_tracked_arrays_are_hashed_by_identity():
    seen = {}
    gradient(lambda x: (seen.update({x: 1, x * 1: 2}), x.sum())[1], np.ones(2))
    assert len(seen) == 2


def test_str_and_repr_are_for_reading():
    said = []
    gradient(lambda x: (said.extend([repr(x), str(x), len(x), x.shape, x.dtype]), x.sum())[1], np.ones(2))
    assert said == ["tracked(array([1., 1.]))"] * 2 + [2, (2,), np.float64]


# -- kept after the call -----------------------------------------------------------------------------------


def test_a_tracked_array_that_was_kept_is_closed():
    kept = []
    gradient(lambda x: (kept.extend([x, x * 2]), x.sum())[1], np.ones(2))
    for x in kept:
        assert type(x.data) is np.ndarray
        uses = [
            lambda x: x + 1, lambda x: np.ones(2) * x, lambda x: x[0], lambda x: x.sum(), lambda x: x > 0,
            lambda x: list(x), lambda x: bool(x), lambda x: np.argmax(x), lambda x: -x, lambda x: np.stack([x, x]),
            lambda x: gradient(lambda y: (x * y).sum(), np.ones(2)),
        ]  # fmt: skip
        for use in uses:
            with pytest.raises(RuntimeError, match=r"return it from the function.*\.data"):
                use(x)
