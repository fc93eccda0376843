"""Lesson 01's checks: each likely wrong answer gets its own helpful message."""

import numpy as np
import pytest

import fluxlite as fl
from fluxlite import cpu, cu
from fluxlite.course.exercises import judge

# -- 01.2 ------------------------------------------------------------------------------------------------------------


def as_it_was(x, mean, spread):
    return (x - mean) / spread


def half_moved(x, mean, spread):
    return (x - cu(mean)) / spread


def on_the_host(x, mean, spread):
    return (cpu(x) - mean) / spread


def there_and_back(x, mean, spread):
    return cu((cpu(x) - mean) / spread)


def home_at_the_end(x, mean, spread):
    return cpu((x - cu(mean)) / cu(spread))


def row_by_row(x, mean, spread):
    return np.stack([(row - cu(mean)) / cu(spread) for row in x])


def float64(x, mean, spread):
    return (x - fl.gpu(mean, dtype=None)) / fl.gpu(spread, dtype=None)


def not_returned(x, mean, spread):
    mean, spread = cu((mean, spread))


def upside_down(x, mean, spread):
    mean, spread = cu((mean, spread))
    return (x - spread) / mean


# -- 01.3 ------------------------------------------------------------------------------------------------------------


def guides(W, b, x):
    return W @ x + b


def transposed_too_much(W, b, x):
    return (W @ x.T + b).T


def without_transposing(W, b, x):
    return x @ W + b


def one_by_one(W, b, x):
    return W @ x + b if x.ndim == 1 else np.stack([W @ row + b for row in x])


def without_b(W, b, x):
    return x @ W.T


def always_a_batch(W, b, x):
    return np.atleast_2d(x) @ W.T + b


# -- 01.4 ------------------------------------------------------------------------------------------------------------


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


def on_the_cpu(x, W, steps):
    return loop(float, same)(cpu(x), cpu(W), steps)


def last_only(x, W, steps):
    return cpu(np.stack([loop(same, lambda sizes: sizes[-1])(x, W, steps)]))


def without_tanh(x, W, steps):
    return cpu(np.stack([np.sum(x @ W) for _ in range(steps)]))


@pytest.mark.parametrize(
    ("id", "answers", "words"),
    [
        ("01.1", [2, 80_040, 1, 4], "cu converts it to float32"),
        ("01.1", [3, 40_040, 1, 4], "np.tanh(x @ w) + 1 copies nothing"),
        ("01.1", [2, 40_040, 0, 0], "to print total, the host has to read it"),
        ("01.1", [2, 40_040, 2, 4_004], "y stays on the GPU"),
        ("01.1", [2, 40_040, 1, 4_000], "only its sum is printed"),
        ("01.1", [2, 40_040, 1, 8], "float32: 4 bytes"),
        ("01.1", [10_010, 40_040, 1, 4], "an array travels as a whole"),
        ("01.1", [2, 8_080, 1, 4], "x has 1,000 × 10 numbers"),
        ("01.1", [2, 5, 1, 4], "the bytes to the GPU are not"),
        ("01.1", [2, 40_040, 1, 1], "all right except for the bytes that come back"),
        ("01.1", [7, None, 7, 1], "the number of copies isn't right"),
        ("01.1", [2, "40,040", 1, 4], "without quotes"),
        ("01.2", [as_it_was], "still on the host"),
        ("01.2", [lambda x, mean, spread: (x - cu(mean, spread)) / spread], "cu takes one thing"),
        ("01.2", [half_moved], "still on the host"),
        ("01.2", [on_the_host], "x was copied back to the host"),
        ("01.2", [there_and_back], "x was copied back to the host"),
        ("01.2", [home_at_the_end], "the result was copied back to the host"),
        ("01.2", [row_by_row], "2,001 copies to the GPU in one call"),
        ("01.2", [float64], "the result is float64"),
        ("01.2", [not_returned], "returned None"),
        ("01.2", [upside_down], "the values aren't (x - mean) / spread"),
        ("01.2", [lambda x, mean, spread: cu(mean)], "the values aren't"),
        ("01.3", [guides], "it mixes the observations, without any error"),
        ("01.3", [transposed_too_much], "for 4 observations of 4 features the values are wrong"),
        ("01.3", [without_transposing], "for one vector the values are wrong"),
        ("01.3", [one_by_one], "launches for 100 observations"),
        ("01.3", [without_b], "for one vector the values are wrong"),
        ("01.3", [always_a_batch], "for one vector the result has the wrong shape"),
        ("01.3", [lambda W, b, x: None], "returned None"),
        ("01.3", [lambda W, b, x: x @ W[:, :3].T + b], "it raises an error: the shapes don't fit"),
        ("01.3", [lambda W, b, x: cpu(x) @ cpu(W).T + cpu(b)], "the result is on the host"),
        ("01.4", [loop(float, same)], "25 copies back: each float(…) is one"),
        ("01.4", [loop(same, lambda sizes: [float(size) for size in sizes])], "25 copies back: each float(…) is one"),
        ("01.4", [loop(same, cpu)], "a list of 25 arrays is 25 copies"),
        ("01.4", [loop(cpu, same)], "a list of 25 arrays is 25 copies"),
        ("01.4", [loop(same, same)], "the list holds arrays on the GPU"),
        ("01.4", [loop(same, np.stack)], "the numbers are still on the GPU"),
        ("01.4", [loop(same, lambda sizes: None)], "returned None"),
        ("01.4", [on_the_cpu], "it no longer runs on the GPU"),
        ("01.4", [last_only], "aren't the numbers of all steps"),
        ("01.4", [without_tanh], "aren't those of the program above"),
    ],
)
def test_a_wrong_answer_is_not_right_and_told_why(id, answers, words):
    verdict = judge(id, *answers)
    assert verdict.word == "not right" and words in verdict.message, verdict


def one_move(x, mean, spread):
    mean, spread = fl.gpu((mean, spread))
    x = x - mean
    return x / spread


def wherever_x_is(x, mean, spread):
    device = fl.device_of(x)
    return (x - device(mean)) / device(spread)


def by_columns(W, b, x):
    return (W @ x.T).T + b


def by_einsum(W, b, x):
    return np.dot(x, np.transpose(W)) + b


def preallocated(x, W, steps):
    sizes = np.zeros_like(x, shape=steps)
    for step in range(steps):
        x = np.tanh(x @ W)
        sizes[step] = x.sum()
    return cpu(sizes).tolist()


@pytest.mark.parametrize(
    ("id", "answers"),
    [
        ("01.1", [2, np.int64(40_040), 1, 4]),
        ("01.2", [one_move]),
        ("01.2", [wherever_x_is]),
        ("01.3", [by_columns]),
        ("01.3", [by_einsum]),
        ("01.4", [preallocated]),
        ("01.4", [loop(same, lambda sizes: list(cpu(np.stack(sizes))))]),
        ("01.4", [loop(same, lambda sizes: np.stack(sizes).tolist())]),
    ],
)
def test_right_answers_other_than_the_lessons_own(id, answers):
    verdict = judge(id, *answers)
    assert verdict.word == "right", verdict


def test_an_error_of_ones_own_is_told_with_its_line():
    verdict = judge("01.2", lambda x, mean, spread: np.asarray(x))
    assert verdict.word == "stopped" and "Write cpu(x) to do so" in verdict.message
