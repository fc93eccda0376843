"""What each card's figures are, and where they come from. That they never change, tests/frozen sees to."""

import pytest
from inside import PRESETS, preset

import fluxlite as fl


@pytest.mark.parametrize("name", PRESETS)
def test_a_cards_figures_are_of_the_right_size(name):
    """A slip in a power of ten. Which figures they are, tests/frozen holds; that they have a source, the next test."""
    card = PRESETS[name]
    assert 2**30 <= card.memory <= 2**40 and 1 <= card.multiprocessors <= 1000
    assert 1e10 < card.pinned <= 1e11 and card.pageable <= card.pinned < card.bandwidth < 1e14
    assert card.float64 > 1e10 and 1e11 < card.float32 <= card.float16 < 1e16


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


@pytest.mark.parametrize("name", PRESETS)
def test_a_card_is_found_by_the_names_that_drivers_give_it(name):
    short = name.removeprefix("NVIDIA ")
    for called in (short, f"NVIDIA {short}", f"GeForce {short}", f"NVIDIA GeForce {short}"):
        with fl.simulate_gpu(like=called) as device:
            assert device.name == f"simulated {name}"
    for unknown in ("", "NVIDIA ", f"{short} Super", short.lower()):
        with pytest.raises(ValueError, match=f"there's no preset for {unknown!r}"):
            preset(unknown)


def test_a_preset_prints_its_figures_with_their_kinds():
    lines = repr(preset("NVIDIA T4")).splitlines()
    assert lines[0] == "NVIDIA T4, version 3"
    assert "bandwidth              240 GB/s  datasheet x guess" in lines
    assert "launch                    15 µs  published" in lines
    assert "start                    500 ms  guessed" in lines
    assert "graph                      5 µs  guessed" in lines and "node                     1.5 µs  guessed" in lines
    assert "peers                        no  guessed" in lines and preset("H100").peers
    mine = preset("NVIDIA T4")._replace(name="mine", source="")
    assert "bandwidth              240 GB/s  given" in repr(mine).splitlines()
    with fl.simulate_gpu(like=mine) as device:
        assert preset(mine) is mine and device.name == "simulated mine"
