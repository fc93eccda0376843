"""`Dropout`: how many numbers it drops, when, along which axes, and whose random numbers those are."""

import numpy as np
import pytest

import fluxlite as fl

ONES = np.ones((1000, 100), np.float32)


def dropped(layer, x=ONES):
    """What it makes of `x` in training."""
    with fl.trainmode(layer):
        return layer(x)


@pytest.mark.parametrize("p", [0.1, 0.9])
def test_how_many_and_the_mean_stays(p):
    y = dropped(fl.Dropout(p, rng=np.random.default_rng(0)))
    assert abs((y == 0).mean() - p) < 0.01 and abs(y.mean() - 1) < 0.02
    np.testing.assert_allclose(np.unique(y), [0, 1 / (1 - p)], rtol=1e-6)
    for x in (np.ones((), np.float16), np.ones((0, 3)), ONES):
        assert (dropped(fl.Dropout(p), x).dtype, dropped(fl.Dropout(p), x).shape) == (x.dtype, x.shape)


def test_none_and_all():
    assert dropped(fl.Dropout(0)) is ONES
    x = np.array([1.0, -2.0])
    y = dropped(fl.Dropout(1), x)
    assert (y == 0).all() and (fl.gradient(lambda x: fl.trainmode(fl.Dropout(1))(x).sum(), x)[0] == 0).all()


def test_the_gradient_goes_where_numbers_stayed():
    layer, x, kept = fl.Dropout(0.5), np.ones((20, 20)), []

    def loss(m, x):
        kept.append(m[0](x))
        return (3 * kept[0]).sum()

    _, gx = fl.gradient(loss, fl.Chain(layer), x)
    np.testing.assert_array_equal(gx, 3 * kept[0].data)
    assert layer(x) is x and gx.any() and not gx.all()


def test_second_derivatives_see_the_same_numbers():
    x, layer = np.linspace(1, 2, 50), fl.trainmode(fl.Dropout(0.5, rng=np.random.default_rng(0))).model
    first = fl.gradient(lambda x: (layer(x) ** 3).sum(), x)[0]
    layer.rng = np.random.default_rng(0)
    second = fl.gradient(lambda x: fl.gradient(lambda x: (layer(x) ** 3).sum(), x)[0].sum(), x)[0]
    np.testing.assert_allclose(second, 2 * first / x)


def test_a_seed_repeats_it_and_each_call_draws_new_numbers():
    layer = fl.trainmode(fl.Dropout(0.5)).model
    fl.seed(3)
    first, other = layer(ONES), layer(ONES)
    fl.seed(3)
    assert (layer(ONES) == first).all() and (first != other).any()
    fl.seed(None)
    assert (layer(ONES) != first).any()


def test_a_generator_of_its_own_is_saved_and_moves_along(tmp_path):
    layer = fl.trainmode(fl.Chain(fl.Dropout(0.5, rng=np.random.default_rng(7)))).model
    layer(ONES)
    fl.save(tmp_path / "model.safetensors", layer)
    other = fl.trainmode(fl.Chain(fl.Dropout(0.5, rng=np.random.default_rng(0)))).model
    fl.load(tmp_path / "model.safetensors", other)
    np.testing.assert_array_equal(other(ONES), layer(ONES))
    with fl.simulate_gpu():
        assert fl.gpu(layer)[0].rng is layer[0].rng
    assert not list(fl.trainables(layer)) and fl.notices()[1:] == []


@pytest.mark.parametrize("p", [-0.1, 1.5, float("nan"), "0.5", True])
def test_what_is_no_probability(p):
    with pytest.raises(ValueError if type(p) is float else TypeError, match=r"Dropout\(p\).* probability"):
        fl.Dropout(p)


def test_how_it_prints():
    assert repr(fl.Dropout(0.25, dims=(0, 3))) == "Dropout(0.25, dims=(0, 3))"
    assert "\n  Dropout(0.5),\n" in repr(fl.Chain(fl.Dense(2, 3), fl.Dropout(0.5)))
