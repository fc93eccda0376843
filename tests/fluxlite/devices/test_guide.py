"""The guide's examples of arrays and models on a GPU. Each test's name has the ids of what it shows.

Examples of choosing a device are in `test_choosing.py` and `test_preferences.py`, of several devices in
`test_several_gpus.py`.
"""

import numpy as np
import pytest

import fluxlite as fl


@pytest.fixture(autouse=True)
def on_a_simulated_GPU():
    with fl.simulate_gpu():
        yield


def on_gpu(x):
    return fl.device_of(x) == fl.require_gpu()


def test_S1_7_and_S3_2_the_basic_example():
    """W and b moved, x and y moved: the same predict and loss as on the CPU, and a gradient on the GPU."""
    rng = np.random.default_rng(0)
    W, b, x, y = (rng.random(shape) for shape in ((2, 5), 2, 5, 2))

    def loss(W, b, x, y):
        return np.sum((W @ x + b - y) ** 2)

    on_cpu = loss(W, b, x, y)
    W, b, x, y = map(fl.cu, (W, b, x, y))
    assert W.dtype == np.float32 and on_gpu(loss(W, b, x, y))
    np.testing.assert_allclose(fl.cpu(loss(W, b, x, y)), on_cpu, rtol=1e-5)
    assert all(map(on_gpu, fl.gradient(loss, W, b, x, y)))


def test_S1_8_and_S3_3_fmap_cu_over_a_layer_and_a_chain():
    """S3-3 calls `d` where it means `m`; S1-8 is the corrected version."""
    d = fl.fmap(fl.cu, fl.Dense(10, 5, fl.σ))
    assert on_gpu(d.weight) and on_gpu(d(fl.cu(np.ones(10))))
    m = fl.fmap(fl.cu, fl.Chain(fl.Dense(10, 5, fl.σ), fl.Dense(5, 2), fl.softmax))
    out = m(fl.cu(np.ones(10)))
    assert on_gpu(out) and fl.cpu(out).shape == (2,) and fl.cpu(out).sum() == pytest.approx(1)


def test_S3_R3_cu_converts_as_the_guide_says():
    """F11: Float64 and complex128 become half as wide. Half precision, integers and ranges don't change."""
    kinds = {"f8": "f4", "c16": "c8", "f2": "f2", "i8": "i8", "b1": "b1"}
    assert {kind: fl.cu(np.ones(2, kind)).dtype.str[1:] for kind in kinds} == kinds
    assert fl.cu([range(1, 4), np.ones(1)])[0] == range(1, 4)


def test_S3_R9_time_waits_before_and_after_and_says_what_was_asked_of_the_gpu(capsys):
    """F49: earlier work doesn't count, and the time is that of the sum, not of launching it."""
    device, x = fl.require_gpu(), fl.cu(np.ones((2048, 2048), np.float32))
    earlier = x @ x
    device.synchronize()
    ordered = fl.clock()
    earlier = earlier @ x
    ordered = fl.clock() - ordered
    capsys.readouterr()
    y = fl.cuda.time(lambda: earlier @ x)
    out = capsys.readouterr().out
    assert y.shape == (2048, 2048) and "launches          1: matmul 1" in out and "simulated (NVIDIA T4)" in out
    with fl.receipt() as r:
        fl.cuda.sync(lambda: earlier @ x)
    assert f"{r.seconds}" in out and r.seconds > 100 * ordered


def test_F44_the_same_code_for_any_backend():
    for situation in ({"CUDA": 1}, {"AMDGPU": 1}, {"Metal": 1}, {}):
        with fl.pretend(**situation):
            device = fl.get_device()
            model, x = device((fl.Dense(2, 3), np.ones(2, np.float32)))
            assert fl.device_of(model(x)) == device
