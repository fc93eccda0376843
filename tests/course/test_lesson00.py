"""Lesson 00's check and its open question."""

from pathlib import Path

import numpy as np
from answers import not_right, right

from fluxlite_course.kit.guesses import question
from fluxlite_course.lesson00.checks import ONE_EPOCH

test_a_wrong_answer_is_not_right_and_told_why = not_right(
    ("00.1", [520], "the launches of one epoch"),
    ("00.1", [104_000], "the launches of 200 epochs"),
    ("00.1", [(520, 0)], "two numbers"),
    ("00.1", [26_000], "those of one point"),
    ("00.1", [520_001], "not the number"),
    ("00.1", ["520,000"], "your answer is text"),
    ("00.1", [None], "isn't a number"),
)
test_right_answers = right(("00.1", [520e3]), ("00.1", [np.int64(520_000)]))


def test_the_check_expects_what_the_lessons_receipt_shows():
    lesson = next((Path(__file__).parents[2] / "notebooks").glob("00-*.ipynb")).read_text(encoding="utf-8")
    assert f"launches          {ONE_EPOCH}: " in lesson


def test_a_bug_that_only_wastes_time_is_not_ruled_out():
    assert question("00-A").right == "a"
    assert "One that only wastes time, two totals can't rule out." in question("00-A").replies["d"]
