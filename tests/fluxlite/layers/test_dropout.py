"""`Dropout`: how many numbers it drops, when, along which axes, and whose random numbers those are."""

import numpy as np
import pytest
from kinds import EVERYWHERE

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


@pytest.mark.parametrize(("dims", "shape"), [(0, (6, 1, 1)), ((0, -1), (6, 1, 4)), ((), (1, 1, 1))])
def test_along_some_axes_only(dims, shape):
    y = dropped(fl.Dropout(0.5, dims=dims, rng=np.random.default_rng(1)), np.ones((6, 5, 4)))
    assert (y == np.broadcast_to(y[tuple(slice(n) for n in shape)], y.shape)).all()
    with pytest.raises(ValueError, match="dims: axis 3 is out of bounds"):
        dropped(fl.Dropout(0.5, dims=3), np.ones((6, 5, 4)))


def test_seed_repeats_it_and_each_call_draws_anew():
    layer = fl.trainmode(fl.Dropout(0.5)).model
    fl.seed(3)
    first, other = layer(ONES), layer(ONES)
    fl.seed(3)
    assert (layer(ONES) == first).all() and (first != other).any()
    fl.seed(None)
    assert (layer(ONES) != first).any()


@pytest.mark.on(*EVERYWHERE)
def test_each_device_draws_its_own_numbers(device):
    x, layer = device(ONES), fl.trainmode(fl.Dropout(0.5)).model
    fl.seed(0)
    with fl.receipt() as receipt:
        y = layer(x)
    assert receipt.host_to_device.count == receipt.device_to_host.count == 0 and fl.device_of(y) == device
    fl.seed(0)
    np.testing.assert_array_equal(fl.cpu(layer(x)), fl.cpu(y))
    assert abs(float((fl.cpu(y) == 0).mean()) - 0.5) < 0.01
    fixed = [dropped(fl.Dropout(0.5, rng=np.random.default_rng(0)), x) for x in (x, ONES)]
    np.testing.assert_array_equal(fl.cpu(fixed[0]), fixed[1])  # with rng, they are the same on each device


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
