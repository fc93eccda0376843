"""The conformance suite runs on every device that is present.

``@pytest.mark.on("Simulated", "CUDA")`` names the devices for which a test holds; it gets each as `device`. A rule
that holds on CUDA and Simulated and not on CPU is one that a learner on a laptop would not meet otherwise. The
devices are in `kinds.py`.
"""

import pytest
from kinds import DEVICE, simulated_device

from fluxlite.devices import simulate_gpu
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
    return DEVICE[request.param]()


@pytest.fixture
def simulated():
    """One simulated GPU that is in use."""
    return simulated_device()
