"""A preset never changes: a saved estimate names the card and the version. New figures make a new version."""

import pytest

from fluxlite.simulated.presets import PRESETS

# bytes, multiprocessors; 10⁹ bytes and 10¹² operations (float16, float32, float64) per second; the links
FIRST = {
    "NVIDIA T4": (16 * 2**30, 40, 240, 26, 5.994, 0.2278125, 6, 12),
    "GTX 1650": (4 * 2**30, 14, 102.4, 4.776, 2.384, 0.0838125, 6, 12),
    "RTX 2080 Ti": (11 * 2**30, 68, 492.8, 32.28, 10.72, 0.376875, 6, 12),
    "A100": (40 * 2**30, 108, 1321.75, 187.2, 16.575, 8.245, 10, 24),
    "H200": (141 * 10**9, 132, 4080, 593.4, 50.25, 28.9, 12, 48),
}


@pytest.mark.parametrize("name", PRESETS)
def test_the_figures_of_version_1(name):
    card = PRESETS[name]
    memory, multiprocessors, bandwidth, float16, float32, float64, pageable, pinned = FIRST[name]
    assert (card.memory, card.multiprocessors, card.version) == (memory, multiprocessors, 1)
    rates = [rate / 1e9 for rate in (card.bandwidth, card.pageable, card.pinned)]
    assert rates == pytest.approx([bandwidth, pageable, pinned])
    rates = [rate / 1e12 for rate in (card.float16, card.float32, card.float64)]
    assert rates == pytest.approx([float16, float32, float64])
    assert (card.launch, card.floor, card.latency, card.first_use) == pytest.approx((8e-6, 3e-6, 13e-6, 20e-3))
