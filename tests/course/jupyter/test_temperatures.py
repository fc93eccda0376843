"""Lesson 10's pictures, and its scene: the temperature."""

import numpy as np
import pytest

from fluxlite_course.lesson10.pictures import (
    chances,
    gap_picture,
    gates_picture,
    left_picture,
    temperatures,
)

LETTERS, SCORES = ["\n", " ", "a", "b"], np.array([-3.0, 0.0, 2.0, 1.0], np.float32)
WRITTEN = {2.0: "b <a>\nba", 0.5: "aaaa"}


def test_low_temperatures_sharpen_and_high_ones_flatten():
    cold, warm, hot = (chances(SCORES, t) for t in (0.1, 1.0, 100.0))
    assert cold[2] > 0.9999 and abs(hot - 0.25).max() < 0.02
    np.testing.assert_allclose(warm, np.exp(SCORES) / np.exp(SCORES).sum(), rtol=1e-6)
    assert chances([1000.0, 0.0], 0.01).tolist() == [1, 0], "no overflow"
    for wrong in (0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="a temperature is above 0"):
            chances(SCORES, wrong)


def test_each_temperature_says_the_likeliest_two_and_what_is_written():
    scene = temperatures(LETTERS, SCORES, WRITTEN | {1.0: "ab\nba"}, after="x", first=1.0)
    assert scene.at() == "Temperature 1: after 'x', a comes with 66 %, and b with 24 %. It writes: ab / ba"
    assert list(scene.knobs[0].options) == ["0.5", "1", "2"] and "It writes: aaaa" in scene.at(temperature="0.5")
    html = temperatures(LETTERS, SCORES, WRITTEN, first=2.0).html()
    assert ">b &lt;a&gt;</text>" in html and ">↵</text>" in html
    assert "new line comes with 100 %." in temperatures(["\n"], [1.0], {1.0: ""}).at()
    with pytest.raises(ValueError, match="a score for each letter, got 4 and 1"):
        temperatures(LETTERS, [1.0], WRITTEN)


def test_a_bar_is_as_high_as_its_letter_is_likely():
    scene = temperatures(LETTERS, SCORES, WRITTEN)
    bars = [part.attributes["height"] for part in scene.picture.parts() if part.tag == "rect"]
    for state, heat in enumerate((0.5, 2.0)):
        np.testing.assert_allclose([bar[state] / 152 for bar in bars], chances(SCORES, heat), atol=1e-3)


def test_a_temperature_without_a_text_is_refused():
    with pytest.raises(ValueError, match=r"one of those with a text \(0.5, 2\), got 1.0"):
        temperatures(LETTERS, SCORES, WRITTEN, first=1.0)
    with pytest.raises(ValueError, match=r"\(none\)"):
        temperatures(LETTERS, SCORES, {})


def test_the_lessons_pictures_say_what_they_show():
    x = np.array([[0.1, 1], [0.5, 1], [-0.7, 0], [0.2, 0]])
    assert gap_picture(x).sentence.startswith("2 points of a wave, and then 2 steps of noise. ")
    effects = {"a": [1e-12, 1], "b": [1e-7, 1], "c": [1e-4, 1], "d": [0.02, 1]}
    said = left_picture({name: np.array(effect) for name, effect in effects.items()}).sentence
    for words in ("a: 1 step later less than a billionth", "b: 1 step later less than a millionth",
                  "c: 1 step later less than 0.1 %", "d: 1 step later 2 %"):  # fmt: skip
        assert words in said
    assert "as much or more" in left_picture({"e": np.array([2.0, 1.0])}).sentence
    gate = np.array([[0.0, 0.2], [0.1, 0.1], [1, 1], [0.9, 0.9]])
    assert gates_picture(x, {"GRU": gate}).sentence.endswith("on average 10 % while the wave comes, 95 % in the noise.")
