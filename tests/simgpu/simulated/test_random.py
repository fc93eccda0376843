"""Numbers that are drawn on a simulated GPU: their range, their type, and what drawing them takes."""

import numpy as np
import pytest
from inside import SimulatedGenerator, preset

from fluxlite import receipt, simulate_gpu
from fluxlite.devices import cpu, devices

MANY = (100, 200)


@pytest.fixture
def rng(simulated):
    return SimulatedGenerator(simulated, 0)


@pytest.mark.parametrize(("draw", "low", "high"), [
    (lambda rng: rng.random(MANY), 0, 1),
    (lambda rng: rng.uniform(2.0, 5.0, MANY), 2, 5),
    (lambda rng: rng.uniform(4.0, size=MANY), 4, 1),
])  # fmt: skip
def test_uniform_numbers_fill_their_range(rng, draw, low, high):
    x = cpu(draw(rng), dtype=None)
    share = (x - low) / (high - low)
    assert x.shape == MANY and share.min() >= 0 and share.max() <= 1
    quarters = np.histogram(share, 4, (0, 1))[0] / x.size
    np.testing.assert_allclose(quarters, 0.25, atol=0.02)


def test_normal_numbers(rng):
    x = cpu(rng.standard_normal(MANY), dtype=None)
    assert abs(x.mean()) < 0.03 and x.std() == pytest.approx(1, rel=0.03)


@pytest.mark.parametrize("bounds, values", [((4,), [0, 1, 2, 3]), ((2, 5), [2, 3, 4]), ((-1, 1), [-1, 0])])
def test_whole_numbers(rng, bounds, values):
    assert np.unique(cpu(rng.integers(*bounds, size=MANY))).tolist() == values


@pytest.mark.parametrize("name", ["random", "standard_normal", "uniform"])
def test_types(rng, name):
    draw = getattr(rng, name)
    assert draw(size=3).dtype == np.float64 and draw(size=3, dtype=np.float32).dtype == np.float32
    assert draw().shape == () and rng.integers(3).dtype == np.int64


def test_each_number_takes_ten_operations():
    card = preset("NVIDIA T4")._replace(float64=1e9, floor=1e-9)
    simulate_gpu(like=card)
    rng = devices()[0].rng
    rng.random(10**5)
    with receipt() as r:
        rng.random(10**5)
    start, moment = r.timeline()
    assert (start.kind, start.bytes) == ("memset", 8 * 256 * 64 * 40)  # the state of a Philox generator for each thread
    assert (moment.name, moment.kind) == ("random", "launch")
    assert moment.end - moment.start == pytest.approx(1e-3, rel=2e-2)
