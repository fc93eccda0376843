"""Lesson 07's bars: each says its value, and looks like its kind of time."""

import pytest

import fluxlite as fl
from fluxlite.course.time_bars import phases_figure, program_phases, time_bars

TIMES = {
    "published": fl.Seconds(13.6, "published", "2018"),
    "simulated": fl.Seconds(2.05, "simulated", "NVIDIA T4"),
    "recorded": fl.Seconds(0.17, "recorded", "AMD EPYC"),
}


def bars(figure):
    (axes,) = figure.axes
    return axes.patches, [text.get_text() for text in axes.texts]


@pytest.mark.parametrize("log", [False, True])
def test_each_bar_says_its_value_and_its_kind(log):
    drawn, words = bars(time_bars(TIMES, log, {"recorded": "1/80 of it"}))
    assert words == ["13.6 s published", "2.05 s simulated", "0.17 s recorded, 1/80 of it"]
    assert [bar.get_width() for bar in drawn] == pytest.approx([13.6, 2.05, 0.17])
    hollow = [bar.get_facecolor()[:3] == (1, 1, 1) and bar.get_linestyle() in ("--", "dashed") for bar in drawn]
    assert hollow == [False, True, False]  # as simulated times look in every lesson
    figure = time_bars(TIMES, log)
    figure.draw_without_rendering()
    (axes,) = figure.axes
    assert all(text.get_window_extent().x1 <= figure.bbox.x1 for text in axes.texts)


def test_bars_of_nothing():
    with pytest.raises(ValueError, match="at least one time"):
        time_bars({})


def test_phases_stand_one_after_the_other():
    phases = {"load": fl.Seconds(1, "measured"), "train: 1": fl.Seconds(2, "measured")}
    drawn, words = bars(phases_figure(phases, "train"))
    assert [(bar.get_x(), bar.get_width()) for bar in drawn] == [(0, 1), (1, 2)]
    assert [word.strip() for word in words] == ["1 s", "2 s"]
    assert drawn[0].get_facecolor() != drawn[1].get_facecolor()


def test_the_program_in_a_fresh_process_has_its_phases():
    pytest.importorskip("matplotlib")
    phases = program_phases()
    assert list(phases)[0].startswith("start Python") and "train: 199 epochs" in phases
    assert all(seconds > 0 and seconds.kind == "measured" for seconds in phases.values())
