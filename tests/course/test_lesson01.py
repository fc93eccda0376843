"""Lesson 01's checks: each likely wrong answer gets its own helpful message."""

import numpy as np
from answers import not_right, right

import fluxlite as fl
from fluxlite import cpu, gpu
from fluxlite_course.kit.exercises import judge


def row_by_row(x, mean, spread):
    return np.stack([(row - gpu(mean)) / gpu(spread) for row in x])


def not_returned(x, mean, spread):
    mean, spread = gpu((mean, spread))


def upside_down(x, mean, spread):
    mean, spread = gpu((mean, spread))
    return (x - spread) / mean


def loop(collect, finish):
    def run(x, W, steps):
        sizes = []
        for _ in range(steps):
            x = np.tanh(x @ W)
            sizes.append(collect(np.sum(x)))
        return finish(sizes)

    return run


def same(x):
    return x


def last_only(x, W, steps):
    return cpu(np.stack([loop(same, lambda sizes: sizes[-1])(x, W, steps)]))


def without_tanh(x, W, steps):
    return cpu(np.stack([np.sum(x @ W) for _ in range(steps)]))


test_a_wrong_answer_is_not_right_and_the_reply_says_why = not_right(
    ("01.1", [2, 80_040, 1, 4], "gpu makes it float32"),
    ("01.1", [3, 40_040, 1, 4], "np.tanh(x @ w) + 1 copies nothing"),
    ("01.1", [2, 40_040, 0, 0], "to print total, the host has to read it"),
    ("01.1", [2, 40_040, 2, 4_004], "y stays on the GPU"),
    ("01.1", [2, 40_040, 1, 8], "one number, of float32"),
    ("01.1", [2, 5, 1, 4], "the bytes to the GPU aren't"),
    ("01.1", [2, 40_040, 1, 1], "all right except for the bytes that come back"),
    ("01.1", [7, None, 7, 1], "the number of copies isn't right"),
    ("01.2", [lambda x, mean, spread: (x - mean) / spread], "still on the host"),
    ("01.2", [lambda x, mean, spread: gpu((cpu(x) - mean) / spread)], "x was copied back to the host"),
    ("01.2", [lambda x, mean, spread: cpu((x - gpu(mean)) / gpu(spread))], "the result was copied back to the host"),
    ("01.2", [row_by_row], "2,001 copies to the GPU in one call"),
    ("01.2", [not_returned], "returned None"),
    ("01.2", [upside_down], "the values aren't (x - mean) / spread"),
    ("01.3", [loop(float, same)], "25 copies back: each float(…) is one"),
    ("01.3", [loop(same, cpu)], "a list of 25 arrays is 25 copies"),
    ("01.3", [loop(same, same)], "the list holds arrays on the GPU"),
    ("01.3", [loop(same, np.stack)], "the numbers are still on the GPU"),
    ("01.3", [loop(same, lambda sizes: None)], "returned None"),
    ("01.3", [lambda x, W, steps: loop(float, same)(cpu(x), cpu(W), steps)], "it no longer runs on the GPU"),
    ("01.3", [last_only], "aren't the numbers of all steps"),
    ("01.3", [without_tanh], "aren't those of the program above"),
)


def wherever_x_is(x, mean, spread):
    device = fl.device_of(x)
    return (x - device(mean)) / device(spread)


test_right_answers_other_than_the_lessons_own = right(
    ("01.1", [2, np.int64(40_040), 1, 4]),
    ("01.2", [wherever_x_is]),
    ("01.3", [loop(same, lambda sizes: np.stack(sizes).tolist())]),
)


def test_an_error_of_your_own_is_shown_with_its_line():
    verdict = judge("01.2", lambda x, mean, spread: np.asarray(x))
    assert verdict.word == "stopped" and "Write cpu(x) to do so" in verdict.message
