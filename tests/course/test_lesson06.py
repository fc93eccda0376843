"""Lesson 06's checks: each likely wrong answer gets its own helpful message."""

import time

import numpy as np
import pytest
from answers import not_right, right

import fluxlite as fl
from fluxlite_course import crossover
from fluxlite_course.kit.exercises import judge
from fluxlite_course.sine_wave import training_step
from fluxlite_course.timing import bench
from simgpu.presets import preset


def own_bench(f, device, warm_up=True, before=True, after=True, clock=fl.clock):
    if warm_up:
        f()
    if before:
        device.synchronize()
    start = clock()
    f()
    if after:
        device.synchronize()
    return clock() - start


def train(x, y, w1, w2, epochs=200, read=lambda total: total, report=10, keep=True, kept=float):
    w1, w2, history = w1.copy(), w2.copy(), []
    for epoch in range(1, epochs + 1):
        memory, total = np.zeros_like(w2.T), 0
        for point, target in zip(x, y):
            error, memory = training_step(point, target, memory, w1, w2)
            total = total + read(error)
        if keep and epoch % report == 0:
            history.append(kept(total))
    return history


def on_the_cpu(x, y, w1, w2, epochs=200):
    return train(*fl.cpu((x, y, w1, w2)), epochs)


def memory_lost(x, y, w1, w2, epochs=200):
    w1, w2, history = w1.copy(), w2.copy(), []
    for epoch in range(1, epochs + 1):
        total = sum(training_step(point, target, np.zeros_like(w2.T), w1, w2)[0] for point, target in zip(x, y))
        if epoch % 10 == 0:
            history.append(total)
    return history


# The tables that a learner may read: of one wave, of 64, and the right one, of 1,024.
ONE, SIXTY_FOUR, WAVES = crossover(1), crossover(64), crossover(1024)
AT_4096 = WAVES.faster[4096]
LAUNCH_TIME = crossover(1024, copies=False, wait=False).faster[4096]


test_a_wrong_answer_is_not_right_and_told_why = not_right(
    ("06.1", [72e-9], "you charged the copies, not the 112,000 launches"),
    ("06.1", [112_000 * 18e-6], "2.02 s: host and GPU work at the same time"),
    ("06.1", [112_000 * 3e-6], "how long the GPU works"),
    ("06.1", [4_000 * 15e-6], "one launch for each step; there are 28"),
    ("06.1", [28 * 15e-6], "a single step; there are 4,000 of them"),
    ("06.1", [104_000 * 15e-6], "26 launches for each step"),
    ("06.1", [1680], "the unit isn't: give seconds"),
    ("06.1", ["1.7"], "seconds is text"),
    ("06.1", [[1.7, 1]], "seconds isn't a number"),
    ("06.1", [5], "not what the receipt"),
    ("06.2", [lambda f, device: own_bench(f, device, after=False)], "20 µs: you timed the order, not the meal"),
    ("06.2", [lambda f, device: own_bench(f, device, before=False)], "4 earlier products are in it"),
    ("06.2", [lambda f, device: own_bench(f, device, warm_up=False)], "for the first product of a program"),
    ("06.2", [lambda f, device: own_bench(f, device, clock=time.perf_counter)], "your clock is that of this machine"),
    ("06.2", [lambda f, device: f()], "bench returns isn't a number"),
    ("06.2", [lambda f, device: None], "your bench returns None"),
    ("06.2", [lambda f, device: [1.0]], "your bench returns several times"),
    ("06.2", [lambda f, device: 0.0], "no time has passed"),
    ("06.2", [lambda f, device: 0.00289], "but not for one of 1024 × 1024"),
    ("06.2", [lambda f, device: 1e3 * own_bench(f, device)], "the unit isn't"),
    ("06.3", [lambda *data: train(*data, read=float)], "400 waits in 20 epochs: something is read at every step"),
    ("06.3", [lambda *data: train(*data, report=1)], "the history has 200 losses"),
    ("06.3", [lambda *data: train(*data, keep=False)], "no loss is reported any more"),
    ("06.3", [lambda *data: None], "train returns no list"),
    ("06.3", [on_the_cpu], "0 launches: it no longer runs on the GPU"),
    ("06.3", [memory_lost], "the last loss is 0.83"),
    ("06.4", [WAVES.smallest, LAUNCH_TIME], "the time of the launches alone"),
    ("06.4", [SIXTY_FOUR.smallest, SIXTY_FOUR.faster[4096]], "with a batch of 64"),
    ("06.4", [WAVES.crossing, AT_4096], "where the lines cross"),
    ("06.4", [16, AT_4096], "at 16 the CPU is still faster"),
    ("06.4", [2048, AT_4096], "from a smaller size on"),
    ("06.4", [100, AT_4096], "the table has no such size"),
    ("06.4", [WAVES.smallest, 1 / AT_4096], "upside down"),
    ("06.4", [WAVES.smallest, WAVES.faster[WAVES.smallest]], f"the ratio is the one at {WAVES.smallest}"),
    ("06.4", [WAVES.smallest, 5], "the ratio isn't"),
    ("06.4", [WAVES.smallest, "many"], "times is text"),
)


def one_wait(*data):
    return fl.cpu(np.stack(train(*data, kept=lambda total: total))).tolist()


test_right_answers_other_than_the_lessons_own = right(
    ("06.1", [1.68]),
    ("06.1", [fl.Seconds(1.68, "simulated", "NVIDIA T4")]),
    ("06.2", [lambda f, device: bench(f)]),
    ("06.3", [lambda *data: np.array(train(*data))]),
    ("06.3", [one_wait], "1 wait in 20 epochs"),
    ("06.4", [np.int64(WAVES.smallest), round(AT_4096)]),
)


def test_what_is_still_to_be_done_is_not_yet():
    assert judge("06.4", ..., ...).word == "not yet"
    assert judge("06.1", ...).word == "not yet"


def test_the_figures_that_the_lesson_names_are_the_cards():
    t4 = preset("NVIDIA T4")
    assert (t4.launch, t4.floor, t4.latency, t4.pageable) == (15e-6, 3e-6, 13e-6, 6e9)
    assert t4.float32 == pytest.approx(6e12, rel=0.01)
