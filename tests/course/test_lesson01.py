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


run = loop(same, lambda sizes: cpu(np.stack(sizes)))


def with_the_notebooks_numbers(x, mean, spread):
    return (x - gpu(np.array([1.0, 2.0, 4.0]))) / gpu(np.array([2.0, 2.0, 8.0]))


def in_place(x, mean, spread):
    x -= gpu(mean)
    x /= gpu(spread)
    return x


def looks_at_it(x, mean, spread):
    print(x)
    return (x - gpu(mean)) / gpu(spread)


def with_a_launch_for_show(x, mean, spread):
    _ = x + 1
    return gpu((cpu(x) - mean) / spread)


def by_its_own_mean(x, mean, spread):
    return (x - x.mean(0)) / x.std(0)


class Looks:
    """It has a shape and the right values, but it isn't an array."""

    def __init__(self, array):
        self.array, self.shape = array, array.shape

    def __array__(self, dtype=None, copy=None):
        return cpu(self.array)


def on_the_host(x, W, steps):
    both = cpu(np.concatenate([x, W]))
    return loop(float, same)(both[: len(x)], both[len(x) :], steps)


def each_step_waits(x, W, steps):
    def size(number):
        fl.cuda.synchronize()
        return number

    return loop(size, lambda sizes: cpu(np.stack(sizes)))(x, W, steps)


def step_by_step(x, W, steps):
    for _ in range(steps):
        x = np.tanh(x @ W)
        yield float(np.sum(x))


def in_two_halves(x, W, steps):
    sizes = loop(same, same)(x, W, steps)
    return [*cpu(np.stack(sizes[:5])), *cpu(np.stack(sizes[5:]))]


def writes_into_x(x, W, steps):
    sizes = []
    for _ in range(steps):
        x[...] = np.tanh(x @ W)
        sizes.append(np.sum(x))
    return cpu(np.stack(sizes))


test_a_wrong_answer_is_not_right_and_the_reply_says_why = not_right(
    ("01.1", [2, 80_040, 1, 4], "gpu makes it float32"),
    ("01.1", [3, 40_040, 1, 4], "np.tanh(x @ w) + 1 copies nothing"),
    ("01.1", [2, 40_040, 0, 0], "to print total, the host has to read it"),
    ("01.1", [2, 40_040, 2, 4_004], "y stays on the GPU"),
    ("01.1", [2, 40_040, 1, 8], "one number, of float32"),
    ("01.1", [2, 5, 1, 4], "the bytes to the GPU aren't"),
    ("01.1", [2, 40_040, 1, 1], "all right except for the bytes that come back"),
    ("01.1", [7, 5, 7, 1], "the number of copies isn't right"),
    ("01.1", [2, None, 1, 4], "to_gpu_bytes isn't a number"),
    ("01.1", [2, "40,040", 1, 4], "to_gpu_bytes is text"),
    ("01.1", [40_040, 2, 4, 1], "copies and bytes have changed places"),
    ("01.1", [2, 10_010, 1, 4], "how many bytes does each have?"),
    ("01.2", [lambda x, mean, spread: (x - mean) / spread], "still on the host"),
    ("01.2", [lambda x, mean, spread: gpu((cpu(x) - mean) / spread)], "x was copied back to the host"),
    ("01.2", [lambda x, mean, spread: cpu((x - gpu(mean)) / gpu(spread))], "the result was copied back to the host"),
    ("01.2", [row_by_row], "2,001 copies to the GPU in one call"),
    ("01.2", [not_returned], "returned None"),
    ("01.2", [upside_down], "the values aren't (x - mean) / spread"),
    ("01.2", [with_the_notebooks_numbers], "the values aren't (x - mean) / spread"),
    ("01.2", [by_its_own_mean], "mean and spread are arguments"),
    ("01.2", [lambda x, mean, spread: x - gpu(mean) / gpu(spread)], "the difference needs parentheses"),
    ("01.2", [in_place], "changed the x that it was given"),
    ("01.2", [looks_at_it], "1 copy, 12,000 bytes came back to the host"),
    ("01.2", [with_a_launch_for_show], "came back to the host"),
    ("01.2", [lambda x, mean, spread: list((x - gpu(mean)) / gpu(spread))], "isn't an array of the shape of x"),
    ("01.2", [lambda x, mean, spread: Looks((x - gpu(mean)) / gpu(spread))], "the result is on the host"),
    ("01.2", [gpu(np.ones(3))], "standardize isn't a function"),
    ("01.3", [loop(float, same)], "25 copies back: each float(…) is one"),
    ("01.3", [loop(same, cpu)], "25 arrays are 25 copies"),
    ("01.3", [loop(same, same)], "the list holds arrays on the GPU"),
    ("01.3", [loop(same, np.stack)], "the numbers are still on the GPU"),
    ("01.3", [loop(same, lambda sizes: None)], "returned None"),
    ("01.3", [lambda x, W, steps: loop(float, same)(cpu(x), cpu(W), steps)], "it no longer runs on the GPU"),
    ("01.3", [last_only], "aren't the numbers of all steps"),
    ("01.3", [without_tanh], "aren't those of the program above"),
    ("01.3", [lambda x, W, steps: run(x, W, 25)], "aren't the numbers of all steps"),
    ("01.3", [on_the_host], "only the 25 numbers should come home"),
    ("01.3", [each_step_waits], "the host waits 26 times"),
    ("01.3", [step_by_step], "25 copies back: each float(…) is one"),
    ("01.3", [in_two_halves], "2 copies back: whatever makes the host look"),
    ("01.3", [writes_into_x], "changed the x that it was given"),
    ("01.3", [loop(same, lambda sizes: 7.0)], "isn't a list of numbers"),
)


def wherever_x_is(x, mean, spread):
    device = fl.device_of(x)
    return (x - device(mean)) / device(spread)


def in_float64(x, mean, spread):
    return (x - gpu(mean, dtype=None)) / gpu(spread, dtype=None)


def by_columns(x, mean, spread):
    return np.stack([(x[:, i] - float(mean[i])) / float(spread[i]) for i in range(len(mean))], axis=1)


def with_a_mean_for_each_row(x, mean, spread):
    """Copies more than it has to, and nothing back: the reply says how much."""
    return (x - gpu(np.broadcast_to(mean, x.shape).copy())) / gpu(spread)


class Standardize:
    def __call__(self, x, mean, spread):
        mean, spread = gpu(np.stack([mean, spread]))
        return np.divide(np.subtract(x, mean), spread)


def into_one_array(x, W, steps):
    sizes = np.zeros_like(x, shape=steps)
    for step in range(steps):
        x = np.tanh(x @ W)
        sizes[step] = np.sum(x)
    return tuple(cpu(sizes))


test_right_answers_other_than_the_lessons_own = right(
    ("01.1", [2, np.int64(40_040), 1, 4]),
    ("01.1", [2.0, np.float32(40_040), np.array([1]), 4]),
    ("01.2", [wherever_x_is]),
    ("01.2", [in_float64]),
    ("01.2", [by_columns]),
    ("01.2", [with_a_mean_for_each_row], "2 copies, 12,012 bytes to the GPU"),
    ("01.2", [Standardize()]),
    ("01.3", [loop(same, lambda sizes: np.stack(sizes).tolist())]),
    ("01.3", [into_one_array]),
    ("01.3", [lambda *args: (float(size) for size in run(*args))]),
    ("01.3", [lambda *args: run(*args)[:, None]]),
    ("01.3", [lambda x, W, steps: run(x, W, 2 * steps)[:steps]]),
)


def test_an_error_of_your_own_is_shown_with_its_line():
    verdict = judge("01.2", lambda x, mean, spread: np.asarray(x))
    assert verdict.word == "stopped" and "Write cpu(x) to do so" in verdict.message
