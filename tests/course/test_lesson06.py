"""Lesson 06's checks: each likely wrong answer gets its own helpful message."""

import time

import numpy as np
import pytest

import fluxlite as fl
from fluxlite.course.exercises import judge


def wait_clock_run_wait_clock(f):
    fl.cuda.synchronize()
    start = fl.clock()
    f()
    fl.cuda.synchronize()
    return fl.clock() - start


def no_wait_at_the_end(f):
    fl.cuda.synchronize()
    start = fl.clock()
    f()
    return fl.clock() - start


def no_wait_at_the_start(f):
    start = fl.clock()
    f()
    fl.cuda.synchronize()
    return fl.clock() - start


def pythons_clock(f):
    fl.cuda.synchronize()
    start = time.perf_counter()
    f()
    fl.cuda.synchronize()
    return time.perf_counter() - start


def forgets_to_return(f):
    wait_clock_run_wait_clock(f)


def in_milliseconds(f):
    return wait_clock_run_wait_clock(f) * 1000


def backwards(f):
    return -wait_clock_run_wait_clock(f)


def never_runs_it(f):
    return fl.clock() - fl.clock()


def waits_by_reading(f):
    fl.cuda.synchronize()
    start = fl.clock()
    float(f()[0, 0])
    return fl.clock() - start


def by_a_receipt(f):
    fl.cuda.synchronize()
    with fl.receipt() as r:
        f()
    return r.seconds


def warmed_up(f):
    f()
    return wait_clock_run_wait_clock(f)


def mean_of_two(f):
    return wait_clock_run_wait_clock(lambda: [f() for _ in range(2)]) / 2


def evaluate(
    read_right=False, compare=False, stacked=False, listed=False, on_cpu=False, read=True, last=False, means=False
):
    def evaluate(model, batches):
        if on_cpu:
            model, batches = fl.cpu(model), fl.cpu(batches)
        right, total, worst, losses = 0, 0, 0.0, []
        for x, y in batches:
            out = model(x)
            loss = fl.mse(out, y)
            losses.append(loss)
            if last:
                worst = loss
            elif compare:
                worst = loss if loss > worst else worst
            else:
                worst = np.maximum(worst, loss)
            hits = np.mean((out > 0) == (y > 0)) if means else np.sum((out > 0) == (y > 0))
            right = right + (int(hits) if read_right else hits)
            total += 1 if means else len(y)
        if stacked:
            worst = max(fl.cpu(np.stack(losses)))
        if listed:
            worst = max(fl.cpu(losses))
        return ((float if means else int)(right) / total, float(worst)) if read else (right / total, worst)

    return evaluate


def clip_with_if(g, largest):
    length = np.sqrt(np.sum(g**2))
    if length > largest:
        g = g * (largest / length)
    return g


def clip_always(g, largest):
    return g * (largest / np.sqrt(np.sum(g**2)))


def clip_each_number(g, largest):
    return np.clip(g, -largest, largest)


def clip_on_the_host(g, largest):
    return clip_with_if(fl.cpu(g), largest)


def clip_with_float(g, largest):
    return g * min(1.0, largest / float(np.sqrt(np.sum(g**2))))


@pytest.mark.parametrize(
    ("id", "answers", "words"),
    [
        ("06.1", [3], "how often does the if run?"),
        ("06.1", [4], "one is missing"),
        ("06.1", [6], "one too many: the host knows len(h)"),
        ("06.1", [0], "something has to wait"),
        ("06.1", [1], "so does the text"),
        ("06.1", [2], "the if waits, too"),
        ("06.1", [9], "too many: neither rows nor comparisons wait"),
        ("06.1", ["five"], "that's not a number of waits"),
        ("06.1", [None], "that's not a number of waits"),
        ("06.2", [no_wait_at_the_end], "20 µs: you timed the order, not the meal"),
        ("06.2", [no_wait_at_the_start], "11.4 ms: three earlier products are in it"),
        ("06.2", [pythons_clock], "that's this machine's time to simulate it"),
        ("06.2", [forgets_to_return], "time_it returns the seconds"),
        ("06.2", [in_milliseconds], "fl.clock() gives seconds"),
        ("06.2", [backwards], "a negative time"),
        ("06.2", [never_runs_it], "time_it didn't run f"),
        ("06.2", [lambda f: f], "time_it didn't run f"),
        ("06.2", [warmed_up], "time_it runs f() once"),
        ("06.2", [mean_of_two], "time_it runs f() once"),
        ("06.2", [lambda f: min(wait_clock_run_wait_clock(f) for _ in range(5))], "time_it runs f() once"),
        ("06.3", [evaluate(read_right=True)], "41 waits: you still read a number for each batch"),
        ("06.3", [evaluate(compare=True, read_right=True)], "81 waits: you still read a number for each batch"),
        ("06.3", [evaluate(listed=True)], "make it one array with np.stack"),
        ("06.3", [evaluate(on_cpu=True)], "0 launches: it no longer runs on the GPU"),
        ("06.3", [evaluate(read=False)], "still on the GPU"),
        ("06.3", [evaluate(means=True)], "that's the mean of the batches' shares"),
        ("06.3", [evaluate(last=True)], "not the largest loss of all 40"),
        ("06.3", [lambda model, batches: None], "returns two numbers"),
        ("06.3", [lambda model, batches: (0.5, 1.0)], "the share of right answers has changed"),
        ("06.4", [clip_with_if], "3 waits for three gradients"),
        ("06.4", [clip_with_float], "3 waits for three gradients"),
        ("06.4", [clip_always], "a short gradient should stay as it is"),
        ("06.4", [clip_each_number], "a long gradient should get shorter"),
        ("06.4", [clip_on_the_host], "is on the CPU"),
        ("06.4", [lambda g, largest: None], "gives an array of the gradient's shape"),
        ("06.4", [lambda g, largest: np.ones_like(g) / 12**0.5], "its direction has changed"),
    ],
)
def test_a_wrong_answer_is_not_right_and_told_why(id, answers, words):
    verdict = judge(id, *answers)
    assert verdict.word == "not right" and words in verdict.message


@pytest.mark.parametrize("stopwatch", [wait_clock_run_wait_clock, waits_by_reading, by_a_receipt])
def test_a_stopwatch_may_be_written_in_several_ways(stopwatch):
    assert judge("06.2", stopwatch).word == "right"


def test_one_wait_is_one_wait():
    assert dict(judge("06.1", 1).rows)["yours"] == "1 wait" and dict(judge("06.1", 2).rows)["yours"] == "2 waits"


def test_right_answers_other_than_the_lessons_own():
    def with_where(g, largest):
        length = np.linalg.norm(g)
        return np.where(length > largest, g * (largest / length), g)

    assert judge("06.1", np.int64(5)).word == "right"
    assert "2 waits" in judge("06.3", evaluate()).message
    assert judge("06.3", evaluate(stacked=True)).word == "right"
    assert judge("06.4", with_where).word == "right"
