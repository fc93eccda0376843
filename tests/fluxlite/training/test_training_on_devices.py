"""`train` on every device: what it asks of a GPU, and that nothing is hidden beside the look at the loss."""

import numpy as np
import pytest
from kinds import EVERYWHERE, GPUS

import fluxlite as fl
from fluxlite import train

BATCHES = 6


def make(device=None):
    rng = np.random.default_rng(0)
    X = rng.random((24, 3)).astype(np.float32)
    data = [(X[i : i + 4], X[i : i + 4, :1] * 2) for i in range(0, 24, 4)]
    model = fl.Chain(fl.Dense(3, 4, np.tanh, rng=rng), fl.Dense(4, 1, rng=rng))
    if device is not None:
        model, data = device(model), device(data)
    return model, fl.setup(fl.Adam(0.02), model), data


def loss(m, x, y):
    return fl.mse(m(x), y)


@pytest.mark.on(*EVERYWHERE)
@pytest.mark.parametrize("check_every", [1, 4])
def test_training_on_a_device(device, check_every):
    model, opt_state, data = make()
    expected = train(loss, model, data, opt_state, 3)
    moved, opt_state, data = make(device)
    history = train(loss, moved, data, opt_state, 3, check_every=check_every)
    np.testing.assert_allclose(history.losses, expected.losses, rtol=1e-4)
    np.testing.assert_allclose(fl.cpu(moved[0].weight), model[0].weight, rtol=1e-3)
    assert fl.device_of(moved) == device and history.losses[-1] < history.losses[0]


@pytest.mark.on(*GPUS)
def test_a_loss_that_is_no_number(device):
    model, opt_state, data = make(device)
    data[4] = (data[4][0] * np.nan, data[4][1])
    with pytest.raises(FloatingPointError, match="nan in batch 5 of epoch 1. No update was made") as error:
        train(loss, model, data, opt_state)
    assert np.isfinite(fl.cpu(model[0].weight)).all() and len(error.value.history.losses) == 4
    model, opt_state, _ = make(device)
    with pytest.raises(FloatingPointError, match="nan in batch 5 of epoch 1. Found 2 updates later"):
        train(loss, model, data, opt_state, check_every=10)


def receipt_of_a_step(model, opt_state, data):
    with fl.receipt() as r:
        _, grads = fl.withgradient(lambda m: loss(m, *data[0]), model)
        fl.update(opt_state, model, grads[0])
    return r


def test_the_launches_are_those_of_the_loss_and_the_update(simulated):
    step = receipt_of_a_step(*make(simulated))
    model, opt_state, data = make(simulated)
    with fl.receipt() as r:
        train(loss, model, data, opt_state)
    assert r.launched == {name: count * BATCHES for name, count in step.launched.items()}
    assert (r.launches, r.memsets) == (step.launches * BATCHES, step.memsets * BATCHES)
    assert step.device_to_host.count == step.synchronizations == r.host_to_device.count == 0
    assert (r.synchronizations, r.device_to_host.count, r.device_to_host.bytes) == (BATCHES, BATCHES, 4 * BATCHES)
    assert r.device_to_host.explicit == BATCHES, "asked for by name"


@pytest.mark.parametrize(("check_every", "looks"), [(1, 6), (3, 2), (4, 2), (100, 1)])
def test_the_host_waits_once_for_each_look_and_once_for_the_rest_of_an_epoch(simulated, check_every, looks):
    model, opt_state, data = make(simulated)
    with fl.receipt() as r, fl.allowscalar(False):
        train(loss, model, data, opt_state, 3, check_every=check_every)
    assert r.synchronizations == r.device_to_host.count == 3 * looks
    assert r.device_to_host.bytes == 4 * 3 * BATCHES, "every loss is read once"


def test_batches_of_a_loader_are_copied_once_each(simulated):
    model, opt_state, _ = make(simulated)
    X = np.ones((24, 3), np.float32)
    with fl.receipt() as r:
        train(loss, model, fl.gpu(fl.DataLoader((X, X[:, :1].copy()), batchsize=4)), opt_state, 2)
    assert r.host_to_device.count == 2 * 2 * BATCHES and r.host_to_device.bytes == 2 * 24 * 4 * 4


def test_data_that_was_not_moved_is_named_with_the_path(simulated):
    model, opt_state, _ = make(simulated)
    with pytest.raises(fl.words.DeviceError, match=r"layers\[0\]\.weight is on Simulated:0, the input is on CPU"):
        train(loss, model, make()[2], opt_state)
    model = simulated({"inner": [{"w": np.ones(3, np.float32)}]})  # no layer of fluxlite is there to say it
    with pytest.raises(fl.words.DeviceError, match=r"\['inner'\]\[0\]\['w'\] is on Simulated:0, the input") as error:
        train(lambda m, x, y: np.sum(x @ m["inner"][0]["w"]), model, make()[2], fl.setup(fl.Adam(), model))
    assert error.value.__notes__[0] == "in batch 1 of epoch 1 of train" and isinstance(error.value.__cause__, TypeError)
