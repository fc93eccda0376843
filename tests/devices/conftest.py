"""The conformance suite runs on every device that is present.

``@pytest.mark.on("Simulated", "CUDA")`` names the devices for which a test holds; it gets each as `device`. A rule
that holds on CUDA and Simulated and not on CPU is one that a learner on a laptop would not meet otherwise.
"""

import pytest

from fluxlite.devices import CPU, simulate_gpu
from fluxlite.devices.cuda import cuda_devices, cuda_functional
from fluxlite.devices.metal import MetalDevice
from fluxlite.notices import reset_notices


def pytest_configure(config):
    config.addinivalue_line("markers", "on(*devices): the devices for which a test holds")


def pytest_generate_tests(metafunc):
    marker = metafunc.definition.get_closest_marker("on")
    if marker is not None:
        params = [pytest.param(name, marks=pytest.mark.cuda if name == "CUDA" else ()) for name in marker.args]
        metafunc.parametrize("device", params, indirect=True)


@pytest.fixture(autouse=True)
def fresh():
    """No simulation is on, nothing was said yet."""
    reset_notices()
    yield
    simulate_gpu(False)
    reset_notices()


@pytest.fixture
def device(request):
    if request.param == "Metal":
        pytest.importorskip("mlx.core")
        return MetalDevice()
    if request.param == "CUDA":
        if not cuda_functional():
            pytest.skip(cuda_functional().reason)
        return cuda_devices()[0]
    return CPU if request.param == "CPU" else simulated_device()


def simulated_device(memory=None):
    simulate_gpu(memory=memory)
    reset_notices()
    from fluxlite.devices import gpu_device

    return gpu_device()


@pytest.fixture
def simulated():
    """One simulated GPU that is in use."""
    return simulated_device()
