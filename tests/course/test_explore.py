"""The crossover and the race as scenes: their states are the library's numbers."""

import re

import numpy as np
import pytest

from fluxlite_course import crossing, crossover
from fluxlite_course.lesson00.pictures import race
from fluxlite_course.lesson06.pictures import crossover_explorer
from fluxlite_course.scenes.lanes import RIGHT

XS, YS = crossing.axes_of(crossing.SIZES)


@pytest.fixture(scope="module")
def two_cards():
    return crossover_explorer(cards=["NVIDIA T4", "H200"])


def at_state(scene, state):
    """The moving attributes of a state, by part and name."""
    return {(part, name): values[which[state]] for part, name, values, which in scene.data()["moves"]}


# -- the crossover ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("card", ["NVIDIA T4", "H200"])
@pytest.mark.parametrize("setting", [(1, True, True), (64, False, False), (1024, False, True)])
def test_the_crossovers_states_are_those_of_the_plain_call(two_cards, card, setting):
    batch, copies, wait = setting
    c = crossover(batch, card, copies, wait)
    names = {"card": card, "batch": str(batch), "copies": "x, y in and the loss out" if copies else "none",
             "the GPU": "waited for" if wait else "not waited for"}  # fmt: skip
    assert two_cards.at(**names) == f"{c.caption} {c.conclusion}"
    shown = at_state(two_cards, two_cards.settings.index(names))
    cpu, gpu = (ys for (_, name), ys in shown.items() if name == "ys")
    assert gpu == pytest.approx([YS(float(time)) for time in c.gpu.values()], abs=0.06)
    assert cpu == pytest.approx([YS(float(t)) for t in c.cpu.values()], abs=0.06)
    if not (copies or wait):  # the GPU's line is the time of ordering alone, and isn't compared
        assert not any("they cross" in str(value) for value in shown.values()) and "don't compare" in c.conclusion
        return
    assert f"they cross at {c.crossing:.0f}" in shown.values()
    # Where the lines cross in the picture is where the library says: both logarithmic, so they are straight.
    line = next(value for value in shown.values() if re.match(r"M\S+ \d+V", str(value)))
    xs = [XS(size) for size in crossing.SIZES]
    x = float(re.match(r"M(\S+)", line)[1])
    assert np.interp(x, xs, gpu) == pytest.approx(np.interp(x, xs, cpu), abs=0.3)


def test_a_wrong_number_is_noticed(two_cards):
    c = crossover(64)
    gpu = [ys for (_, name), ys in at_state(two_cards, two_cards.state).items() if name == "ys"][1]
    planted = [YS(float(time) * 1.02) for time in c.gpu.values()]  # 2 % more
    assert gpu != pytest.approx(planted, abs=0.06)


# -- the race ---------------------------------------------------------------------------------------------------------


def test_in_the_race_what_is_seen_is_what_is_done():
    scene = race([1, 64])
    groups = [part for part in scene.picture.parts() if "data-n" in part.attributes]
    ends = [
        [[box.attributes["x"] + box.attributes["width"] for box in part.inside] for lane in group.inside
         for part in lane.inside if part.attributes.get("class") in ("op host", "op compute")]
        for group in groups
    ]  # fmt: skip
    for state, sentence in enumerate(scene.sentences):
        if scene.along[state] > RIGHT - 20:
            continue  # zoomed out
        seen = ends[state * 2 // len(scene.sentences)]
        cpu, host, gpu = (sum(end <= scene.along[state] + 0.2 for end in lane) for lane in seen)
        said = re.search(r"has done (?:all )?(\d+).* given (?:all )?(\d+).* carried out (?:all )?(\d+)", sentence)
        assert [cpu, host, gpu] == [int(number) for number in said.groups()]
