"""Lesson 00's check and its open question."""

from fractions import Fraction

import numpy as np
import pytest
from answers import not_right, right

from fluxlite_course.kit.guesses import question
from fluxlite_course.lesson00.pictures import race
from fluxlite_course.scenes.lanes import LEFT, RIGHT

test_a_wrong_answer_is_not_right_and_the_reply_says_why = not_right(
    ("00.1", [65_536], "but it already does with fewer waves"),
    ("00.1", [4096], "the CPU still wins there"),
    ("00.1", [1], "the CPU still wins there"),
    ("00.1", [(16, 384)], "two numbers"),
    ("00.1", [10_000], "the slider doesn't have that number"),
    ("00.1", ["16,384"], "your answer is text"),
    ("00.1", [None], "isn't a number"),
    ("00.1", [(16_384,)], "the comma behind the number makes one"),
    ("00.1", [b"16384"], "your answer is text"),
    ("00.1", [True], "a truth value"),
    ("00.1", [16_384.5], "the slider doesn't have that number"),
    ("00.1", [float("nan")], "the slider doesn't have that number"),
    ("00.1", [[4096, 16_384]], "isn't a number"),
    ("00.1", [lambda: 16_384], "isn't a number"),
)
test_right_answers = right(
    ("00.1", [16_384.0]),
    ("00.1", [np.int64(16_384)]),
    ("00.1", [np.array([2**14])]),
    ("00.1", [Fraction(2**15, 2)]),
)


def test_the_check_expects_what_the_race_shows():
    scene = race()
    ends = {waves: scene.at(time="435 µs", **{"waves trained at once": waves}) for waves in ("4,096", "16,384")}
    assert "the CPU has done all 23 " in ends["4,096"]
    assert "the CPU has done 9 of 24 " in ends["16,384"] and "carried out all 24" in ends["16,384"]


def test_the_black_line_moves_as_evenly_as_the_slider_until_a_race_is_over_and_the_time_shown_is_its_own():
    scene = race([1, 65_536])
    count = len(scene.sentences) // 2
    for along, shown in ((scene.along[:count], scene.shown[:count]), (scene.along[count:], scene.shown[count:])):
        moving = [at for at in range(count) if at == 0 or along[at] > along[at - 1]]
        assert moving == list(range(len(moving)))
        for at in moving[:-1]:  # the last one may be the finish, somewhere on the way
            assert (along[at] - LEFT) / (RIGHT - LEFT) == pytest.approx(at / (count - 1), abs=0.01)
        assert set(shown[len(moving) - 1 :]) == {shown[-1]}
    assert (scene.shown[count - 1], scene.shown[-1]) == ("431 µs", "4.16 ms")


def test_a_bug_that_only_wastes_time_is_not_ruled_out():
    assert "Two totals can't rule out one that only wastes time." in question("00-A").replies["d"]
