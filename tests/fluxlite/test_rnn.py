"""The notebooks' sine-wave RNN with fixed weights: the same result for both styles and both kinds of device."""

import pytest
from sine_wave_styles import STYLES, with_withgradient

import fluxlite as fl


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
