"""The pictures and tables of single lessons: what they say is computed, and is what they show."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

import fluxlite as fl
import fluxlite_course
from fluxlite_course.draw import digit_row
from fluxlite_course.draw.falling import falling
from fluxlite_course.lesson04.pictures import POINTS, by_seed, pairs, predicted, reaching_back, trained
from fluxlite_course.lesson06.pictures import phases_figure, program_phases, time_bars
from fluxlite_course.lesson07.pictures import BothSides, Row, _row, both_sides
from fluxlite_course.lesson09.digit_pad import seen
from fluxlite_course.lesson09.pictures import slide, worst_mistakes
from fluxlite_course.sine_wave import train_by_hand

# -- the pictures of lessons 03 and 04, and lesson 04's loop with its mistakes: what they say is computed ------------


def test_the_loop_without_a_mistake_is_the_lessons():
    np.testing.assert_allclose(trained(), train_by_hand().losses, rtol=1e-3)
    assert reaching_back()[0] == pytest.approx(train_by_hand().losses[-1], rel=1e-3)


def test_each_mistake_does_what_the_lesson_says():
    right = trained()
    wiped, same, kept = trained(wipe_memory=True), trained(same_point=True), trained(keep_gradients=True)
    assert wiped[-1] == pytest.approx(train_by_hand(carry=False).losses[-1], rel=1e-3)
    assert wiped[-1] > 10 * right[-1] and same[-1] < right[-1] / 10
    assert kept[0] < right[0] and kept[2] > right[2] and not np.isfinite(kept[-1])


def test_a_longer_reach_visits_more_steps_and_learns_more():
    near, far = reaching_back(1), reaching_back(20)
    assert near[1] == 20 and far[1] == sum(range(1, 21)) and far[0] < near[0] / 10


def test_the_sentences_are_computed():
    wrong = np.sin(POINTS[1:])
    wrong[4] += 0.5
    assert "The worst is 0.50 off, at t = 4.0" in predicted(np.sin(POINTS), wrong).sentence
    assert "2 of them end above the straight line's 0.1." in by_seed([0.2, 0.05, 0.3], 0.1).sentence
    said = falling({"kept": [4, 0.065]}, "epoch", {"straight line": 0.133}).sentence
    assert said == "The loss over 2 epochs. Kept: 4 to 0.065. Grey lines: straight line at 0.13."


def test_no_legend_lies_on_a_point_and_an_axis_without_a_meaning_says_so(monkeypatch):
    drawn = []
    monkeypatch.setattr("fluxlite_course.lesson04.pictures.show", lambda figure, words: drawn.append(figure))
    predicted(np.sin(POINTS), np.sin(POINTS[1:]) + 0.1)
    by_seed([0.2, 0.05, 0.3], 0.1)
    scatter, strip = drawn
    scatter.draw_without_rendering()
    (axes,) = scatter.axes
    box = axes.get_legend().get_window_extent().expanded(1, 1.1)
    assert not any(box.contains(*point) for line in axes.lines for point in axes.transData.transform(line.get_xydata()))
    assert "height means" in strip.axes[0].get_ylabel()


# -- lesson 06's bars: each says its value, and looks like its kind of time ------------------------------------------


KINDS = {
    "published": fl.Seconds(13.6, "published", "2018"),
    "simulated": fl.Seconds(2.05, "simulated", "NVIDIA T4"),
    "recorded": fl.Seconds(0.17, "recorded", "AMD EPYC"),
}


def bars_of(figure):
    (axes,) = figure.axes
    return axes.patches, [text.get_text() for text in axes.texts]


def test_each_bar_says_its_value_and_its_kind():
    scene = time_bars(KINDS, {"recorded": "1/80 of it"})
    markup = scene.picture.markup(0)
    written = ["13.6 s published", "2.05 s simulated", "0.17 s recorded, 1/80 of it"]
    assert [each for each in re.findall(r">([^<]+)</text>", markup) if each in written] == written
    widths = [float(width) for width in re.findall(r'<rect[^>]* width="([\d.]+)"', markup)]
    assert np.array(widths) / widths[0] == pytest.approx([1, 2.05 / 13.6, 0.17 / 13.6], abs=1e-3)
    assert re.findall(r'<rect class="gpu hollow dashed', markup)  # as simulated times look in every lesson


def test_the_bars_zoom_in_until_the_shortest_is_there():
    scene = time_bars(KINDS)
    assert [setting["zoom"] for setting in scene.settings] == ["× 1", "× 10"]
    assert scene.at(zoom="× 10").endswith("Zoomed in 10 times: 2 of 3 bars go on beyond the picture.")
    assert len(time_bars({name: KINDS[name] for name in ("published", "simulated")}).sentences) == 1


def test_phases_stand_one_after_the_other():
    phases = {"load": fl.Seconds(1, "measured"), "train: 1": fl.Seconds(2, "measured")}
    drawn, words = bars_of(phases_figure(phases, "train"))
    assert [(bar.get_x(), bar.get_width()) for bar in drawn] == [(0, 1), (1, 2)]
    assert [word.strip() for word in words] == ["1 s", "2 s"]
    assert drawn[0].get_facecolor() != drawn[1].get_facecolor()


def test_the_program_in_a_fresh_process_has_its_phases():
    pytest.importorskip("matplotlib")
    phases = program_phases()
    assert list(phases)[0].startswith("start Python") and "train: 199 epochs" in phases
    assert all(seconds > 0 and seconds.kind == "measured" for seconds in phases.values())


# -- lesson 07's table of both sides: each row has the CPU's time and the card's, and says who's faster --------------


def row(cpu, gpu, name="a case"):
    return Row(name, 12, fl.Seconds(cpu, "measured"), fl.Seconds(gpu, "simulated", "NVIDIA T4"))


def test_the_head_says_the_kinds_of_both_sides_and_each_row_has_both():
    head, first, second = str(BothSides([row(1e-3, 4e-3), row(2e-3, 1e-3, "another")], "NVIDIA T4")).splitlines()
    assert "this CPU, measured" in head and "NVIDIA T4, simulated" in head
    assert "1 ms" in first and "4 ms" in first and "CPU, 4.0 times" in first
    assert second.startswith("another") and "GPU, 2.0 times" in second
    assert first.index("  CPU,") == second.index("  GPU,")
    assert row(2.0, 1e-3).winner == "GPU, 2,000 times"


def test_the_page_has_the_same_table():
    table = BothSides([row(1e-3, 4e-3, "a < b")], "NVIDIA T4")
    page = table._repr_html_()
    assert "this CPU, measured</th>" in page and "NVIDIA T4, simulated</th>" in page
    assert "a &lt; b</th><td>12</td><td>1 ms</td><td>4 ms</td><td>CPU, 4.0 times</td>" in page


def test_each_case_is_counted_estimated_and_timed():
    calls = []

    def run(x):
        calls.append(isinstance(x, np.ndarray))
        return np.tanh(x) + 1

    (found,) = both_sides({"tanh": (run, (np.ones(8, np.float32),))}, repeats=5).rows
    assert (found.launches, found.cpu.kind, found.gpu.kind, found.gpu.card) == (2, "measured", "simulated", "NVIDIA T4")
    assert calls.count(True) >= 6  # a warm-up and five repeats on the CPU
    assert found.cpu > 0 and found.gpu == fl.estimate(run, np.ones(8, np.float32), like="NVIDIA T4").seconds


def test_a_time_is_the_shortest_of_many(monkeypatch):
    clock = iter(np.cumsum([0, 0.02, 0, 0.001, 0, 0.003, 0, 0.04, 0, 0.05]))  # another program disturbed all but one
    monkeypatch.setattr(
        "fluxlite_course.lesson07.pictures.time", SimpleNamespace(perf_counter=lambda: float(next(clock)))
    )
    row = _row("tanh", np.tanh, (np.ones(2, np.float32),), "NVIDIA T4", 3)
    assert row.cpu == pytest.approx(0.001)
    assert float(next(clock)) == pytest.approx(0.064), "three runs, and one more to have enough seconds"


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


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: reaching_back(0), "reach is a number of steps, 1 or more; got 0"),
        (lambda: pairs(np.zeros(20)), "21 points of the wave, got 20"),
        (lambda: falling({}), "one to three lines of losses, got 0"),
        (lambda: time_bars({}), "at least one time"),
        (lambda: both_sides({}), "at least one case"),
        (lambda: both_sides({"a": (np.tanh, (np.ones(2),))}, "T5"), "no preset for 'T5'"),
        (lambda: digit_row(np.zeros((2, 8, 8)), ["a"], "Two."), "got 2 pictures and 1 titles"),
    ],
)
def test_what_cannot_be_drawn(call, words):
    with pytest.raises(ValueError, match=words):
        call()
