"""Initializers: sizes, spreads, seeds, and what makes each one itself."""

import math

import numpy as np
import pytest

import fluxlite as fl

SHAPE = (300, 200)
DEVIATIONS = {
    fl.glorot_uniform: math.sqrt(2 / 500),
    fl.glorot_normal: math.sqrt(2 / 500),
    fl.kaiming_uniform: math.sqrt(2 / 200),
    fl.kaiming_normal: math.sqrt(2 / 200),
    fl.lecun_normal: math.sqrt(1 / 200),
    fl.randn32: 1,
    fl.rand32: math.sqrt(1 / 12),
}
ALL = [*DEVIATIONS, fl.truncated_normal, fl.orthogonal, fl.identity_init, fl.zeros32, fl.ones32]


@pytest.mark.parametrize("init", DEVIATIONS, ids=lambda f: f.__name__)
def test_the_mean_and_the_spread(init):
    w = init(*SHAPE, rng=np.random.default_rng(0))
    assert w.std() == pytest.approx(DEVIATIONS[init], rel=0.02)
    assert w.mean() == pytest.approx(0.5 if init is fl.rand32 else 0, abs=0.01)


@pytest.mark.parametrize("init", ALL, ids=lambda f: f.__name__)
def test_shape_type_and_seed(init):
    for shape in ((4, 3), (3, 4), (5, 2, 3, 3), (0, 3)):
        fl.seed(3)
        w = init(*shape)
        assert w.shape == shape and w.dtype == np.float32
        fl.seed(3)
        np.testing.assert_array_equal(init(*shape), w)
        np.testing.assert_array_equal(*[init(*shape, rng=np.random.default_rng(1)) for _ in range(2)])
    assert fl.Dense(3, 4, init=init).weight.shape == (4, 3)


def test_the_window_of_a_convolution_counts():
    assert fl.nfan(32, 16, 3, 3) == (144, 288)
    w = fl.kaiming_normal(64, 32, 3, 3, rng=np.random.default_rng(0))
    assert w.std() == pytest.approx(math.sqrt(2 / (32 * 9)), rel=0.03)
    for shape, ways in (((30,), 1 + 30), ((3, 2, 25), (3 + 2) * 25), ((3, 2, 5, 6), (3 + 2) * 5 * 6)):
        drawn = np.random.default_rng(0).uniform(-1, 1, shape)
        w = fl.glorot_uniform(*shape, rng=np.random.default_rng(0))
        np.testing.assert_allclose(w, drawn * (6 / ways) ** 0.5, rtol=1e-5)
    assert not fl.glorot_uniform(3, 2, gain=0).any()


def test_truncated_normal():
    w = fl.truncated_normal(20000, mean=1, std=2, lo=0, hi=2, rng=np.random.default_rng(0))
    assert w.min() >= 0 and w.max() <= 2 and w.mean() == pytest.approx(1, abs=0.02)
    for wrong in (dict(lo=1, hi=1), dict(lo=50, hi=51)):
        with pytest.raises(ValueError, match="truncated_normal"):
            fl.truncated_normal(3, **wrong)


def test_orthogonal():
    for shape, product in [((5, 3), lambda w: w.T @ w), ((3, 5), lambda w: w @ w.T)]:
        w = fl.orthogonal(*shape, gain=2)
        np.testing.assert_allclose(product(w), 4 * np.eye(3), atol=1e-5)


def test_sparse():
    w = fl.sparse_init(10, 50, sparsity=0.3, rng=np.random.default_rng(0))
    assert ((w == 0).sum(axis=0) == 3).all() and w.dtype == np.float32
    assert len({tuple(np.flatnonzero(column == 0)) for column in w.T}) > 5
    with pytest.raises(ValueError, match="sparsity=…"):
        fl.sparse_init(3, 3, sparsity=1.5)


def test_the_identity_passes_on_what_it_gets():
    x = np.random.default_rng(0).normal(size=(2, 4)).astype(np.float32)
    np.testing.assert_array_equal(fl.Dense(4, 4, init=fl.identity_init)(x), x)
    window = fl.identity_init(2, 2, 3, 3, gain=5)
    assert window[0, 0, 1, 1] == 5 and np.count_nonzero(window) == 2
