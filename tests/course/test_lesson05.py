"""Lesson 05's checks: each likely wrong answer gets its own helpful message."""

import time

import numpy as np
from answers import not_right, right

import fluxlite as fl
from fluxlite_course.kit.exercises import judge


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


def by_a_receipt(f):
    fl.cuda.synchronize()
    with fl.receipt() as r:
        f()
    return r.seconds


def evaluate(read_right=False, stacked=False, listed=False, on_cpu=False, read=True, last=False, means=False):
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


test_a_wrong_answer_is_not_right_and_told_why = not_right(
    ("05.1", [3], "how often does the if run?"),
    ("05.1", [4], "one is missing"),
    ("05.1", [6], "one too many: the host knows len(h)"),
    ("05.1", [0], "something has to wait"),
    ("05.1", [1], "so does the text"),
    ("05.1", [9], "too many: neither rows nor comparisons wait"),
    ("05.1", ["five"], "that's not a number of waits"),
    ("05.2", [stopwatch(after=False)], "20 µs: you timed the order, not the meal"),
    ("05.2", [stopwatch(before=False)], "11.4 ms: three earlier products are in it"),
    ("05.2", [lambda f: stopwatch(clock=time.perf_counter)(f)], "that's this machine's time to simulate it"),
    ("05.2", [stopwatch(times=lambda seconds: None)], "time_it returns the seconds"),
    ("05.2", [stopwatch(times=lambda seconds: 1000 * seconds)], "fl.clock() gives seconds"),
    ("05.2", [stopwatch(times=lambda seconds: -seconds)], "a negative time"),
    ("05.2", [lambda f: fl.clock() - fl.clock()], "time_it didn't run f"),
    ("05.2", [stopwatch(warm_up=True)], "time_it runs f() once"),
    ("05.3", [evaluate(read_right=True)], "41 waits: you still read a number for each batch"),
    ("05.3", [evaluate(listed=True)], "make it one array with np.stack"),
    ("05.3", [evaluate(on_cpu=True)], "0 launches: it no longer runs on the GPU"),
    ("05.3", [evaluate(read=False)], "still on the GPU"),
    ("05.3", [evaluate(means=True)], "that's the mean of the batches' shares"),
    ("05.3", [evaluate(last=True)], "not the largest loss of all 40"),
    ("05.3", [lambda model, batches: None], "returns two numbers"),
    ("05.3", [lambda model, batches: (0.5, 1.0)], "the share of right answers has changed"),
    ("05.4", [clip_with_if], "3 waits for three gradients"),
    ("05.4", [lambda g, largest: g * (largest / np.sqrt(np.sum(g**2)))], "a short gradient should stay as it is"),
    ("05.4", [lambda g, largest: np.clip(g, -largest, largest)], "a long gradient should get shorter"),
    ("05.4", [lambda g, largest: clip_with_if(fl.cpu(g), largest)], "is on the CPU"),
    ("05.4", [lambda g, largest: None], "gives an array of the gradient's shape"),
    ("05.4", [lambda g, largest: np.ones_like(g) / 12**0.5], "its direction has changed"),
)


def test_one_wait_is_one_wait():
    assert dict(judge("05.1", 1).rows)["yours"] == "1 wait" and dict(judge("05.1", 2).rows)["yours"] == "2 waits"


def with_where(g, largest):
    length = np.linalg.norm(g)
    return np.where(length > largest, g * (largest / length), g)


test_right_answers_other_than_the_lessons_own = right(
    ("05.1", [np.int64(5)]),
    ("05.2", [by_a_receipt]),
    ("05.3", [evaluate()], "2 waits"),
    ("05.3", [evaluate(stacked=True)]),
    ("05.4", [with_where]),
)
