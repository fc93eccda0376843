"""`simgpu.cupyx`: what programs use of `cupyx`."""

import numpy as np
import pytest

import simgpu
from simgpu import cupyx
from simgpu.cupyx import profiler


def test_scattered_values():
    i, v = simgpu.asarray(np.array([1, 0, 1])), simgpu.asarray(np.array([5.0, 2.0, 7.0]))
    for scatter, wanted in ((cupyx.scatter_add, [3, 13]), (cupyx.scatter_max, [2, 7]), (cupyx.scatter_min, [1, 1])):
        x = simgpu.asarray(np.ones(2))
        scatter(x, i, v)
        assert x.tolist() == wanted


def test_rsqrt():
    x = simgpu.asarray(np.array([4.0, 16.0], np.float32))
    with simgpu.receipt() as r:
        y = cupyx.rsqrt(x)
    assert (y.tolist(), y.dtype, r.launches) == ([0.5, 0.25], np.float32, 1)


def test_waiting_can_be_forbidden():
    x = simgpu.asarray(np.ones(3))
    with pytest.warns(UserWarning, match="allow_synchronize"), cupyx.allow_synchronize(False):
        y = x + 1
        for wait in (lambda: float(y.sum()), y.get, y.device.synchronize):
            with pytest.raises(cupyx.DeviceSynchronized, match="forbids"):
                wait()
    assert y.get().sum() == 6


def test_singular_matrices_raise_if_asked_for_and_then_the_host_looks():
    x = simgpu.asarray(np.zeros((2, 2)))
    assert np.isnan(np.linalg.inv(x).get()).all()
    with cupyx.errstate(linalg="raise"):
        assert cupyx.geterr()["linalg"] == "raise"
        for function in (np.linalg.inv, np.linalg.cholesky):
            with pytest.raises(np.linalg.LinAlgError):
                function(x)
        with simgpu.receipt() as r:
            np.linalg.inv(simgpu.asarray(np.eye(2)))
        assert r.synchronizations == 1
    assert cupyx.geterr()["linalg"] == "ignore"
    with pytest.raises(NotImplementedError, match="sets only linalg"):
        cupyx.seterr(divide="raise")


def test_benchmark_is_in_simulated_time():
    x = simgpu.asarray(np.ones((512, 512), np.float32))
    times = profiler.benchmark(lambda y: y @ y, (x,), n_repeat=3, name="product")
    np.testing.assert_allclose(times.gpu_times, 64.8e-6, rtol=0.05)
    assert times.cpu_times.shape == (3,) and times.gpu_times.shape == (1, 3) and times.cpu_times.max() < 50e-6
    assert repr(times).startswith("product  ") and repr(times).endswith("simulated (NVIDIA T4)")
    assert len(profiler.benchmark(lambda: x @ x, n_repeat=99, max_duration=1e-4).cpu_times) == 2
    with pytest.raises(ValueError, match="callable"):
        profiler.benchmark(3)


def test_what_is_missing_says_so():
    with pytest.raises(NotImplementedError, match="cupyx.distributed isn't simulated"):
        _ = cupyx.distributed
    assert not hasattr(cupyx, "tools")
    with pytest.raises(NotImplementedError, match="testing.numpy_cupy_equal isn't simulated"):
        _ = simgpu.testing.numpy_cupy_equal


def test_assertions_for_arrays_anywhere():
    x = simgpu.asarray([1.0, 2.0])
    simgpu.testing.assert_array_equal(x, [1.0, 2.0])
    with pytest.raises(AssertionError, match="Mismatched elements: 1 / 2"):
        simgpu.testing.assert_allclose(np.array([1.0, 2.1]), x, rtol=1e-3)
