"""The pictures and tables of single lessons: what they say is computed, and is what they show."""

import re

import numpy as np
import pytest

import fluxlite as fl
import fluxlite_course
from fluxlite_course.draw import falling
from fluxlite_course.lesson06.pictures import program_phases, time_bars
from fluxlite_course.lesson09.digit_pad import seen
from fluxlite_course.lesson09.pictures import digit_row, slide, worst_mistakes


def test_the_sentence_of_falling_losses_is_computed():
    said = falling({"kept": [4, 0.065]}, "epoch", {"straight line": 0.133}).sentence
    assert said == "The loss over 2 epochs. Kept: 4 to 0.065. Grey lines: straight line at 0.13."


# -- lesson 06's bars: each says its value, and looks like its kind of time ------------------------------------------


KINDS = {
    "published": fl.Seconds(13.6, "published", "2018"),
    "simulated": fl.Seconds(2.05, "simulated", "NVIDIA T4"),
    "recorded": fl.Seconds(0.17, "recorded", "AMD EPYC"),
}


def test_each_bar_says_its_value_and_its_kind():
    scene = time_bars(KINDS, blue="rec")
    markup = scene.picture.markup(0)
    written = ["13.6 s published", "2.05 s simulated", "0.17 s recorded"]
    assert [each for each in re.findall(r">([^<]+)</text>", markup) if each in written] == written
    bars = re.findall(r'<rect class="(\w+) glide"[^>]* width="([\d.]+)"', markup)
    assert [look for look, _ in bars] == ["rest", "gpu", "host"] and scene.knobs == []
    widths = np.array([float(width) for _, width in bars])
    assert widths / widths[0] == pytest.approx([1, 2.05 / 13.6, 0.17 / 13.6], abs=1e-3)
    every = "published: 13.6 s published. simulated: 2.05 s simulated. recorded: 0.17 s recorded."
    assert scene.picture.attributes["aria-label"] == f"Times as bars. {every}"
    assert repr(scene) == "The longest: published, 13.6 s published. The shortest: recorded, 0.17 s recorded."


def test_bars_in_turn_say_what_they_come_to():
    phases = {
        name: fl.Seconds(seconds, "measured") for name, seconds in (("start", 2), ("train: 1", 1), ("train: 2", 1))
    }
    assert repr(time_bars(phases, blue="train", in_turn=True)) == "In all: 4 s measured. Blue, train: 2 s, 50%."


def test_the_button_is_pressed_until_the_shortest_bar_is_there():
    scene = time_bars({"orders": 104_000 * 15e-6, "bytes": 432 / 6e9}, zoom=True)
    assert [setting["zoom"] for setting in scene.settings] == [f"× {10**n:,}" for n in range(8)]
    assert scene.knobs[0].press == "× 10" and "1.56 s simulated" in repr(scene)
    assert scene.at(zoom="× 10,000,000").endswith("Zoomed in 10,000,000 times: the longest bar is 1,600 km long.")
    last = re.findall(r'<rect[^>]* width="([\d.]+)"', scene.picture.markup(7))
    assert 60 < float(last[1]) < 632 < float(last[0])


def test_the_program_in_a_fresh_process_has_its_phases():
    pytest.importorskip("matplotlib")
    phases = program_phases()
    assert list(phases)[0].startswith("start Python") and "train: 199 epochs" in phases
    assert all(seconds > 0 and seconds.kind == "measured" for seconds in phases.values())


def test_where_no_program_can_be_started_its_phases_are_recorded_ones(no_programs):
    phases = program_phases()
    assert list(phases)[0].startswith("start Python") and "train: 199 epochs" in phases
    assert all(seconds > 0 and seconds.kind == "recorded" for seconds in phases.values())
    assert "recorded" in repr(time_bars(phases)) and "measured" not in repr(time_bars(phases))


# -- lesson 09's pictures --------------------------------------------------------------------------------------------


def test_digits_stand_under_their_titles_with_or_without_a_channel():
    pictures = fluxlite_course.digits().images[:2].reshape(2, 8, 8)
    plain, with_channel = (digit_row(x, ["a\nb", "c"], "Two.") for x in (pictures, pictures[..., None]))
    assert plain.png == with_channel.png and repr(plain) == "Two."
    assert plain.png != digit_row(pictures[::-1], ["a\nb", "c"], "Two.").png


def test_a_filter_slides_over_every_place():
    ink = np.zeros((28, 28), np.uint8)
    ink[4:24, 13:15] = 255
    scene = slide(ink, {"upright": [[-1, 0, 1]] * 3, "level": np.transpose([[-1, 0, 1]] * 3)})
    layer = fl.CrossCor.of(np.array([[-1, 0, 1]] * 3, np.float32)[:, :, None, None], pad=1)
    found = layer(seen(ink)[None, :, :, None].astype(np.float32) / 16)[0, :, :, 0]
    assert [float(said.split()[-1][:-1]) for said in scene.sentences[:64]] == pytest.approx(found.ravel(), abs=0.01)
    assert scene.at(filter="level", place="64").startswith("level, row 8, column 8: ")


def test_the_worst_mistakes_are_wrong_and_sure_and_the_surest_comes_first():
    pictures = fluxlite_course.digits().images[:4].reshape(4, 8, 8)
    scores = np.log([[0.1, 0.9], [0.99, 0.01], [0.4, 0.6], [0.7, 0.3]])  # the second is right
    labels = np.array([0, 0, 0, 1])
    told = [repr(worst_mistakes(pictures, scores, labels, count)) for count in (5, 2)]
    assert told[0].endswith("is: a 0 read as 1, 0.90; a 1 read as 0, 0.70; a 0 read as 1, 0.60.")
    assert told[1].endswith("is: a 0 read as 1, 0.90; a 1 read as 0, 0.70.")
    with pytest.raises(ValueError, match="no mistakes"):
        worst_mistakes(pictures, scores, np.array([1, 0, 1, 0]))
