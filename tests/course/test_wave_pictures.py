"""The pictures of lessons 04 and 05, and lesson 05's loop with its mistakes: what they say is computed."""

import numpy as np
import pytest

from fluxlite.course.falling import falling
from fluxlite.course.traps import reaching_back, trained
from fluxlite.course.wave_pictures import TIMES, by_seed, pairs, predicted
from fluxlite.jupyter import playground


def test_the_loop_without_a_mistake_is_the_lessons():
    np.testing.assert_allclose(trained(), playground.train().losses, rtol=1e-3)
    assert reaching_back()[0] == pytest.approx(playground.train().losses[-1], rel=1e-3)


def test_each_mistake_does_what_the_lesson_says():
    right = trained()
    wiped, same, kept = trained(wipe_memory=True), trained(same_point=True), trained(keep_gradients=True)
    assert wiped[-1] == pytest.approx(playground.train(carry=False).losses[-1], rel=1e-3)
    assert wiped[-1] > 10 * right[-1] and same[-1] < right[-1] / 10
    assert kept[0] < right[0] and kept[2] > right[2] and not np.isfinite(kept[-1])


def test_a_longer_reach_visits_more_steps_and_learns_more():
    near, far = reaching_back(1), reaching_back(20)
    assert near[1] == 20 and far[1] == sum(range(1, 21)) and far[0] < near[0] / 10
    with pytest.raises(ValueError, match="reach is a number of steps, 1 or more; got 0"):
        reaching_back(0)


def test_the_sentences_are_computed():
    wrong = np.sin(TIMES[1:])
    wrong[4] += 0.5
    assert "The worst is 0.50 off, at t = 4.0" in predicted(np.sin(TIMES), wrong).sentence
    assert "2 of them end above the straight line's 0.1." in by_seed([0.2, 0.05, 0.3], 0.1).sentence
    said = falling({"kept": [4, 0.065]}, "epoch", {"straight line": 0.133}).sentence
    assert said == "The loss over 2 epochs. Kept: 4 to 0.065. Grey lines: straight line at 0.13."


def test_no_legend_lies_on_a_point_and_an_axis_without_a_meaning_says_so(monkeypatch):
    drawn = []
    monkeypatch.setattr("fluxlite.course.wave_pictures.show", lambda figure, words: drawn.append(figure))
    predicted(np.sin(TIMES), np.sin(TIMES[1:]) + 0.1)
    by_seed([0.2, 0.05, 0.3], 0.1)
    scatter, strip = drawn
    scatter.draw_without_rendering()
    (axes,) = scatter.axes
    box = axes.get_legend().get_window_extent().expanded(1, 1.1)
    assert not any(box.contains(*point) for line in axes.lines for point in axes.transData.transform(line.get_xydata()))
    assert "height means" in strip.axes[0].get_ylabel()


def test_a_picture_takes_as_many_points_as_it_has():
    with pytest.raises(ValueError, match="21 points of the wave, got 20"):
        pairs(np.zeros(20))
    with pytest.raises(ValueError, match="one to three lines of losses, got 0"):
        falling({})
