"""The notebooks' sine-wave RNN with fixed weights: the same result for both styles and both kinds of device."""

import numpy as np
import pytest

import fluxlite as fl


def start():
    rng = np.random.default_rng(1)
    w1 = (rng.standard_normal((7, 6)) * 0.4).astype(np.float32)
    w2 = (rng.standard_normal((6, 1)) * 0.3).astype(np.float32)
    wave = np.sin(np.linspace(2, 10, 21)).astype(np.float32)
    return w1, w2, wave[:-1].reshape(20, 1, 1), wave[1:].reshape(20, 1, 1)


def forward(x, h, w1, w2):
    h = np.tanh(np.concatenate([x, h], axis=1) @ w1)
    return h @ w2, h


def with_param_and_back(move, epochs):
    w1, w2, x, y = map(move, start())
    w1, w2 = fl.param(w1), fl.param(w2)
    for _ in range(epochs):
        total, h = 0, move(np.zeros((1, 6), np.float32))
        for j in range(len(x)):
            prediction, h = forward(x[j], h, w1, w2)
            loss = ((prediction - y[j]) ** 2).sum() / 2
            fl.back(loss)
            w1.data -= 0.1 * w1.grad
            w2.data -= 0.1 * w2.grad
            w1.grad[...] = 0
            w2.grad[...] = 0
            total, h = total + loss.data, h.data
    return float(total)


def with_withgradient(move, epochs):
    w1, w2, x, y = (move(array).copy() for array in start())
    for _ in range(epochs):
        total, h = 0, move(np.zeros((1, 6), np.float32))
        for j in range(len(x)):

            def step(w1, w2, j=j, h=h):
                prediction, after = forward(x[j], h, w1, w2)
                return ((prediction - y[j]) ** 2).sum() / 2, after

            (loss, h), (g1, g2) = fl.withgradient(step, w1, w2)
            w1 -= 0.1 * g1
            w2 -= 0.1 * g2
            total = total + loss
    return float(total)


STYLES = [with_param_and_back, with_withgradient]


@pytest.mark.parametrize("style", STYLES)
def test_after_200_epochs_the_loss_is_0_0649_on_the_cpu(style):
    assert style(fl.cpu, 200) == pytest.approx(0.0649, abs=0.0005)


@pytest.mark.parametrize("style", STYLES)
def test_the_simulated_gpu_learns_what_the_cpu_learns(style):
    on_cpu = style(fl.cpu, 20)
    with fl.simulate_gpu():
        assert style(fl.gpu, 20) == pytest.approx(on_cpu, rel=1e-3)


@pytest.mark.cuda
@pytest.mark.parametrize("style", STYLES)
def test_after_200_epochs_the_loss_is_0_0649_on_a_real_gpu(style):
    if not fl.functional("CUDA"):
        pytest.skip(f"no NVIDIA GPU: {fl.functional('CUDA').reason}")
    assert style(fl.gpu, 200) == pytest.approx(0.0649, abs=0.0005)


@pytest.mark.parametrize("style", STYLES)
def test_an_epoch_copies_weights_data_and_memory_to_the_gpu_and_one_number_back(style):
    with fl.simulate_gpu(), fl.receipt() as r:
        style(fl.gpu, 1)
    assert (r.host_to_device.count, r.host_to_device.bytes) == (5, 4 * (42 + 6 + 20 + 20 + 6))
    assert (r.device_to_host.count, r.device_to_host.bytes, r.synchronizations) == (1, 4, 1)


@pytest.mark.slow
def test_on_a_t4_200_epochs_take_1_8_seconds_nearly_all_of_it_launches():
    estimated = fl.estimate(with_withgradient, fl.gpu, 200, like="NVIDIA T4")
    assert estimated.receipt.launches == 26 * 20 * 200 + 4
    assert float(estimated.seconds) == pytest.approx(1.775, rel=0.005)
    assert estimated.receipt.launches * 15e-6 > 0.8 * estimated.seconds
