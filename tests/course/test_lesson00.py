"""Lesson 00's check and its open question."""

from pathlib import Path

import numpy as np
import pytest

from fluxlite.course.exercises import judge
from fluxlite.course.guesses import question
from fluxlite.course.lessons.lesson00 import ONE_EPOCH


@pytest.mark.parametrize(
    ("launches", "words"),
    [
        (520, "the launches of one epoch"),
        (104_000, "the launches of 200 epochs"),
        (104_000_000, "the launches of 200 epochs"),
        ((520, 0), "two numbers"),
        (26_000, "those of one point"),
        (26, "those of one point"),
        (520_001, "not the number"),
        ("520,000", "your answer is text"),
        (None, "isn't a number"),
        ([520_000], "isn't a number"),
    ],
)
def test_a_wrong_answer_is_not_right_and_told_why(launches, words):
    verdict = judge("00.1", launches)
    assert verdict.word == "not right" and words in verdict.message


def test_right_answers():
    for launches in (520_000, 520e3, np.int64(520_000)):
        assert judge("00.1", launches).word == "right"


def test_the_check_expects_what_the_lessons_receipt_shows():
    lesson = next((Path(__file__).parents[2] / "notebooks").glob("00-*.ipynb")).read_text(encoding="utf-8")
    assert f"launches          {ONE_EPOCH}: " in lesson


def test_a_bug_that_only_wastes_time_is_not_ruled_out():
    assert "One that only wastes time, two totals can't rule out." in question("00-A").replies["d"]


def test_the_open_question_has_the_four_options_of_the_lesson():
    assert list(question("00-A").replies) == ["a", "b", "c", "d"]
    assert question("00-A").right == "a"
