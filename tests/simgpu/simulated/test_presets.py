"""A preset never changes: a saved estimate names the card. New figures make a new version."""

import pytest
from inside import PRESETS, preset

import fluxlite as fl

# bytes, multiprocessors; 10⁹ bytes and 10¹² operations (float16, float32, float64) per second; the links
FIGURES = {
    "NVIDIA T4": (16 * 2**30, 40, 240, 26, 5.994, 0.2278125, 6, 12),
    "GTX 1650": (4 * 2**30, 14, 102.4, 4.776, 2.384, 0.0838125, 6, 12),
    "RTX 2080 Ti": (11 * 2**30, 68, 492.8, 32.28, 10.72, 0.376875, 6, 12),
    "L4": (24 * 10**9, 58, 240, 48.4, 15.15, 0.42609375, 10, 24),
    "RTX 4090": (24 * 10**9, 128, 856.8, 99.12, 57.82, 1.1615625, 10, 24),
    "A100": (40 * 2**30, 108, 1321.75, 187.2, 16.575, 16.575, 10, 24),
    "H100": (80 * 10**9, 132, 2847.5, 593.4, 50.25, 56.95, 12, 48),
    "H200": (141 * 10**9, 132, 4080, 593.4, 50.25, 56.95, 12, 48),
}


@pytest.mark.parametrize("name", PRESETS)
def test_a_cards_figures_stay_as_they_are(name):
    card = PRESETS[name]
    memory, multiprocessors, bandwidth, float16, float32, float64, pageable, pinned = FIGURES[name]
    assert (card.memory, card.multiprocessors) == (memory, multiprocessors)
    rates = [rate / 1e9 for rate in (card.bandwidth, card.pageable, card.pinned)]
    assert rates == pytest.approx([bandwidth, pageable, pinned])
    rates = [rate / 1e12 for rate in (card.float16, card.float32, card.float64)]
    assert rates == pytest.approx([float16, float32, float64])
    assert (card.version, card.launch, card.library, card.tape) == (2, 15e-6, 20e-6, 4e-6)
    assert (card.floor, card.latency, card.first_use, card.start) == pytest.approx((3e-6, 13e-6, 20e-3, 0.5))
    assert card.queue == 1024


@pytest.mark.parametrize("name", PRESETS)
def test_each_figure_says_what_kind_it_is_and_where_it_comes_from(name):
    figures = {figure.name: figure for figure in PRESETS[name].figures}
    assert set(figures) == set(PRESETS[name]._fields) - {"name", "version", "source"}
    kinds = {"published", "datasheet", "datasheet x guess", "guessed", "measured"}
    assert {figure.kind for figure in figures.values()} == kinds
    assert all(figure.source for figure in figures.values())
    assert figures["memory"].kind == "datasheet" and name.removeprefix("NVIDIA ") in figures["memory"].source
    assert figures["launch"].kind == "published" and "8457" in figures["launch"].source
    assert figures["floor"].kind == figures["start"].kind == "guessed"


def test_a_preset_prints_its_figures_with_their_kinds():
    lines = repr(preset("NVIDIA T4")).splitlines()
    assert lines[0] == "NVIDIA T4, version 2"
    assert "bandwidth              240 GB/s  datasheet x guess" in lines
    assert "launch                    15 µs  published" in lines
    assert "start                    500 ms  guessed" in lines
    assert "peers                        no  guessed" in lines and preset("H100").peers
    mine = preset("NVIDIA T4")._replace(name="mine", source="")
    assert "bandwidth              240 GB/s  given" in repr(mine).splitlines()
    with fl.simulate_gpu(like=mine) as device:
        assert preset(mine) is mine and device.name == "simulated mine"
