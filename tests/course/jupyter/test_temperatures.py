"""Lesson 16's pictures, and the slider of the temperature, moved from Python."""

import numpy as np
import pytest

from fluxlite_course.lesson10.pictures import (
    chances,
    gap_picture,
    gates_picture,
    left_picture,
    next_letter,
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


def test_the_plain_call_says_the_likeliest_two_and_what_is_written():
    picture = next_letter(LETTERS, SCORES, 1.0, "ab\nba", after="x")
    assert picture.png.startswith(b"\x89PNG")
    assert picture.sentence == ("Temperature 1: after 'x', a comes with 66 %, and b with 24 %. It writes: ab / ba")
    assert "new line with 100 %" not in next_letter(["\n"], [1.0], 1.0).sentence
    assert "new line comes with 100 %." in next_letter(["\n"], [1.0], 1.0).sentence
    with pytest.raises(ValueError, match="a score for each letter, got 4 and 1"):
        next_letter(LETTERS, [1.0], 1.0)


def test_the_slider_shows_what_the_plain_call_shows_and_the_text_as_text():
    shown = temperatures(LETTERS, SCORES, WRITTEN, after="x", first=2.0)
    assert shown.now == 2.0 and [label for label, _ in shown.slider.options] == ["0.5", "2"]
    assert repr(shown) == next_letter(LETTERS, SCORES, 2.0, WRITTEN[2.0], "x").sentence
    assert "b &lt;a&gt;\nba" in shown.text.value and "It writes" not in shown.words.value
    before = shown.image.value
    shown.slider.value = 0.5
    assert shown.now == 0.5 and shown.image.value != before and "aaaa" in shown.text.value
    assert "Temperature 0.5" in shown.words.value and shown.page == shown.pictures[0.5]._repr_html_()
    assert 'alt="Temperature 0.5' in shown.image.value


def test_all_pictures_are_drawn_before_anything_moves(monkeypatch):
    shown = temperatures(LETTERS, SCORES, WRITTEN)
    assert shown.now == 0.5, "the lowest comes first"
    monkeypatch.setattr("fluxlite_course.lesson10.pictures.next_letter", None)
    shown.slider.value = 2.0
    assert shown.now == 2.0 and "Temperature 2:" in shown.sentence


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
