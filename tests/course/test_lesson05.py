"""Lesson 05's checks: each likely wrong answer gets its own helpful message; and its picture of two programs."""

import re
import time
import timeit

import numpy as np
import pytest
from answers import not_right, played, right

import fluxlite as fl
from fluxlite_course.kit.exercises import judge
from fluxlite_course.kit.puzzles import play
from fluxlite_course.lesson05 import lanes, matrix
from fluxlite_course.scenes.receipts import launches


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


def by_timeit(f):
    return timeit.timeit(f, number=1)


def by_a_clock_for_show(f):
    time.perf_counter()
    return stopwatch(after=False)(f)


def by_a_formula(f):
    """The time of a product of this size, whatever `f` does."""
    return 0.00289 * (len(f()) / 2048) ** 3


def constant(f):
    f()
    return 0.00289


test_a_wrong_answer_is_not_right_and_the_reply_says_why = not_right(
    ("05.1", [3], "how often does the if run?"),
    ("05.1", [4], "one is missing"),
    ("05.1", [6], "one too many: the host knows len(h)"),
    ("05.1", [9], "rows and comparisons don't wait"),
    ("05.1", ["5"], "waits is text"),
    ("05.1", [(5,)], "the comma behind the number makes one"),
    ("05.1", [True], "a truth value"),
    ("05.2", [constant], "that's not the time of two products, with matrices of 1,536 × 1,536"),
    ("05.2", [by_a_formula], "that's not the time of two products, with matrices of 1,536 × 1,536"),
    ("05.2", [lambda f: fl.estimate(f, like="NVIDIA T4").seconds], "that's not the time of the product"),
    ("05.2", [lambda f: (fl.cuda.synchronize(), fl.clock(), f())[1]], "that's not the time of the product"),
    ("05.2", [lambda f: -stopwatch()(f)], "subtract the first reading from the second"),
    ("05.2", [lambda f: stopwatch()(lambda: fl.cpu(f()))], "the copy of the result is in it"),
    ("05.2", [lambda f: stopwatch(before=False)(lambda: fl.cpu(f()))], "the copy of the result is in it"),
    ("05.2", [by_timeit], "that's this machine's time to simulate it"),
    ("05.2", [by_a_clock_for_show], "you timed the order, not the meal"),
    ("05.2", [lambda f: f() is None], "a truth value"),
    ("05.2", [lambda f: stopwatch()(f) and None], "time_it returned None"),
    ("05.2", [lambda f: fl.cuda.time(f)], "isn't a number"),
    ("05.2", [0.00289], "time_it isn't a function"),
    ("05.2", [stopwatch(after=False)], "you timed the order, not the meal"),
    ("05.2", [stopwatch(before=False)], "three earlier products are in it"),
    ("05.2", [by_pythons_clock], "that's this machine's time to simulate it"),
    ("05.2", [stopwatch(times=lambda seconds: 1000 * seconds)], "but in another unit: fl.clock() gives seconds"),
    ("05.2", [lambda f: fl.clock() - fl.clock()], "time_it didn't run f"),
    ("05.2", [stopwatch(warm_up=True)], "time_it runs f() once"),
)


class Stopwatch:
    def __call__(self, f):
        device = fl.gpu_device()
        device.synchronize()
        begin = fl.clock()
        fl.cuda.sync(f)
        return np.float64(fl.clock()) - begin


def with_another_clock(f):
    """Python's clock is read, too, but not returned."""
    print(time.perf_counter())
    return stopwatch()(f)


test_right_answers_other_than_the_lessons_own = right(
    ("05.1", [np.int64(5)]),
    ("05.1", [5.0]),
    ("05.2", [by_a_receipt]),
    ("05.2", [Stopwatch()]),
    ("05.2", [with_another_clock]),
)


def steps(x, W, finish=lambda total, largest: (float(total), float(largest))):
    """The puzzle's program, at par."""
    total, largest = 0.0, 0.0
    for _ in range(20):
        x = np.tanh(x @ W)
        total = total + np.mean(x**2)
        largest = np.maximum(largest, np.max(x))
    return finish(total, largest)


class ReadsLater:
    """A number that waits for the GPU when nobody counts any more."""

    def __init__(self, array):
        self.array = array

    def __float__(self):
        return float(self.array)


test_a_puzzle_counts_only_for_the_two_numbers_of_any_matrix = played(
    ("05-1", "steps", lambda x, W: (1.8659729957580566, 0.9999282956123352), "the sum isn't what it was"),
    ("05-1", "steps", lambda x, W: [1.0004 * number for number in steps(x, W)], "isn't what it was"),
    ("05-1", "steps", lambda x, W: steps(x, W, finish=lambda *both: both), "they're still on the GPU"),
    ("05-1", "steps", lambda x, W: steps(x[::2], W), "the sum isn't what it was"),
    ("05-1", "steps", lambda x, W: steps(x.astype(np.float16), W.astype(np.float16)), "isn't what it was"),
    ("05-1", "steps", lambda x, W: steps(x, W)[:1], "steps returns two numbers"),
    ("05-1", "steps", lambda x, W: steps(fl.cpu(x), fl.cpu(W)), "whole arrays came back to the host"),
    ("05-1", "steps", lambda x, W: fl.cpu(steps(x, W, finish=lambda *both: np.stack(both))), "1 copy, 1 wait"),
    ("05-1", "steps", lambda x, W: map(ReadsLater, steps(x, W, finish=lambda *both: both)), "2 copies, 2 waits"),
)


@pytest.mark.usefixtures("own_progress")
def test_a_puzzle_has_other_numbers_in_each_run(capsys):
    earlier = {}

    def remembers(x, W):
        if x.shape not in earlier:
            earlier[x.shape] = steps(x, W)
        return earlier[x.shape]

    play("05-1", {"steps": remembers})
    play("05-1", {"steps": remembers})
    first, second = capsys.readouterr().out.split("05-1  ")[1:]
    assert first.startswith("at par") and second.startswith("not right   the sum isn't what it was")


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


def test_at_par_the_schedule_shows_the_two_waits_that_the_puzzle_counts():
    fl.simulate_gpu(like="NVIDIA T4")
    x, W = fl.gpu((np.ones((4096, 8), np.float32), np.ones((8, 8), np.float32) / 9))
    steps(x, W)  # the first time, operations are loaded
    fl.cuda.synchronize()
    with fl.receipt() as r:
        steps(x, W)
    assert r.synchronizations == 2
    assert "with 2 waits of the host, 56 µs" in lanes({"yours": r}).sentences[-1]


def test_the_first_pictures_host_is_done_long_before_the_gpu_and_the_queue_is_never_empty():
    large = matrix(1536)
    with fl.receipt() as r:
        for _ in range(8):
            large + large
        fl.cuda.synchronize()
    moments = launches(r)
    assert 5 * moments[-1].went_on < moments[-1].end
    assert all(after.start == before.end for before, after in zip(moments, moments[1:]))


def test_two_programs_have_one_axis_and_their_gaps_are_drawn():
    def loop(x, each):
        total = 0.0
        for _ in range(3):
            total = total + (float((x @ x).sum()) if each else (x @ x).sum())
        return float(total)

    x = np.ones((900, 900), np.float32)
    each, once = (fl.estimate(loop, x, each).receipt for each in (True, False))
    scene = lanes({"each": each, "once": once})
    waits = re.findall(r"(\w+) is done, with (\d) waits? of the host", scene.sentences[-1])
    assert waits == [("each", "3"), ("once", "1")]
    drawn = {part.attributes["data-lane"]: part for part in scene.picture.parts() if "data-lane" in part.attributes}
    assert list(drawn) == ["0 host", "0 copies back", "0 compute", "1 host", "1 copies back", "1 compute"]
    idle = {lane: sum(part.attributes.get("aria-label", "").startswith("the GPU has no order") for part in row.parts())
            for lane, row in drawn.items()}  # fmt: skip
    assert idle["0 compute"] > idle["1 compute"]  # the GPU of the first one waits more often
