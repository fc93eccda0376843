"""Lesson 05's checks: each likely wrong answer gets its own helpful message; and its picture of two programs."""

import re
import time

import numpy as np
from answers import not_right, right

import fluxlite as fl
from fluxlite_course.kit.exercises import judge
from fluxlite_course.lesson05 import schedules


def stopwatch(before=True, after=True, clock=fl.clock, times=lambda seconds: seconds, warm_up=False):
    """A `time_it` with some details that can be wrong."""

    def time_it(f):
        if warm_up:
            f()
        if before:
            fl.cuda.synchronize()
        start = clock()
        f()
        if after:
            fl.cuda.synchronize()
        return times(clock() - start)

    return time_it


def by_pythons_clock(f):
    begin = time.perf_counter()
    f()
    fl.cuda.synchronize()
    return time.perf_counter() - begin


def by_a_receipt(f):
    fl.cuda.synchronize()
    with fl.receipt() as r:
        f()
    return r.seconds


test_a_wrong_answer_is_not_right_and_the_reply_says_why = not_right(
    ("05.1", [3], "how often does the if run?"),
    ("05.1", [4], "one is missing"),
    ("05.1", [6], "one too many: the host knows len(h)"),
    ("05.1", [9], "rows and comparisons don't wait"),
    ("05.2", [stopwatch(after=False)], "you timed the order, not the meal"),
    ("05.2", [stopwatch(before=False)], "three earlier products are in it"),
    ("05.2", [by_pythons_clock], "that's this machine's time to simulate it"),
    ("05.2", [stopwatch(times=lambda seconds: 1000 * seconds)], "fl.clock() gives seconds"),
    ("05.2", [lambda f: fl.clock() - fl.clock()], "time_it didn't run f"),
    ("05.2", [stopwatch(warm_up=True)], "time_it runs f() once"),
)
test_right_answers_other_than_the_lessons_own = right(("05.1", [np.int64(5)]), ("05.2", [by_a_receipt]))


def test_the_program_of_the_exercise_waits_as_often_as_the_check_says():
    def program(x, W):
        h = np.tanh(x @ W)
        first = h[0]
        for row in h[:3]:
            if np.any(row > first + 0.5):
                row[...] = 0
        print(h.shape, len(h), f"{np.mean(h):.3f}")
        return fl.cpu(h)

    waits = fl.estimate(program, np.ones((8, 4), np.float32), np.ones((4, 4), np.float32)).receipt.synchronizations
    assert waits == 5 and dict(judge("05.1", 1).rows)["yours"] == "1"


def test_two_programs_have_one_axis_and_their_gaps_are_drawn():
    def loop(x, each):
        total = 0.0
        for _ in range(3):
            total = total + (float((x @ x).sum()) if each else (x @ x).sum())
        return float(total)

    x = np.ones((900, 900), np.float32)
    each, once = (fl.estimate(loop, x, each).receipt for each in (True, False))
    scene = schedules({"each": each, "once": once})
    waits = re.findall(r"(\w+): [\d.]+ [mµ]s, (\d) waits? of the host", repr(scene))
    assert waits == [("each", "3"), ("once", "1")]
    lanes = re.findall(r'<path class="(host|gpu|wait)" style="stroke: none" d="([^"]*)"', scene.picture.markup(0))
    assert [look for look, _ in lanes] == ["host", "wait", "gpu", "wait"] * 2
    assert lanes[3][1].count("M") > lanes[7][1].count("M")  # the GPU of the first one waits more often
