"""The pictures and tables of single lessons: what they say is computed, and is what they show."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

import fluxlite as fl
import fluxlite_course
from fluxlite_course.draw import digit_row
from fluxlite_course.draw.falling import falling
from fluxlite_course.lesson06.pictures import phases_figure, program_phases, time_bars
from fluxlite_course.lesson07.pictures import BothSides, Row, _row, both_sides
from fluxlite_course.lesson09.pictures import filters_at_work, worst_mistakes


def test_the_sentence_of_falling_losses_is_computed():
    said = falling({"kept": [4, 0.065]}, "epoch", {"straight line": 0.133}).sentence
    assert said == "The loss over 2 epochs. Kept: 4 to 0.065. Grey lines: straight line at 0.13."


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


def test_filters_are_named_in_the_sentence():
    layer = fl.CrossCor.of(np.ones((3, 3, 1, 2), np.float32))
    x = np.zeros((1, 8, 8, 1), np.float32)
    picture = filters_at_work(x[0, :, :, 0], layer.weight, layer(x)[0], ["one", "other"])
    assert repr(picture).startswith("A digit, 2 filters of 3 × 3 weights (one, other)")
    with pytest.raises(ValueError, match="2 filters, and results of 1"):
        filters_at_work(x[0, :, :, 0], layer.weight, layer(x)[0, :, :, :1])


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
