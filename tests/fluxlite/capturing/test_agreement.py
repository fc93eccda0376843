"""Two runs agree only if they compute alike: each constant that a replay would repeat is compared, of whatever kind."""

import os

import numpy as np
import pytest

import fluxlite as fl

X = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
NUMBERS = np.arange(12.0)


def factor():
    return int(os.environ["FACTOR"])


def scaled(x):
    k = factor()
    return np.apply_along_axis(lambda row: row * k, 0, x)


def scaled_by_a_default(x):
    return np.apply_along_axis(lambda row, k=factor(): row * k, 0, x)  # noqa: B008  (each call has another)


def sign():
    return -0.0 if factor() % 2 else 0.0


OTHER = {
    "a complex number": lambda x: x * complex(0, factor()),
    "a range": lambda x: x[0, 0] + np.take(NUMBERS, range(factor(), factor() + 2)),
    "a function's variable": scaled,
    "a function's default": scaled_by_a_default,
    "the sign of zero": lambda x: np.copysign(x, sign()),
    "the sign of zero, of NumPy's": lambda x: np.copysign(x, np.float32(sign())),
    "the sign of zero, in an array": lambda x: np.copysign(x, np.full(3, sign())),
    "a number's type": lambda x: x * (True, 1, 1.0)[factor() % 3],
    "a method of the same name": lambda x: (np.add, np.multiply)[factor() % 2].reduce(x),
    "a function of the same name": lambda x: (np, np.linalg)[factor() % 2].cross(x, x[::-1].copy()),
}


@pytest.mark.parametrize("name", OTHER)
def test_a_constant_that_is_another_one_in_each_run_is_refused(name, monkeypatch):
    step = fl.captured(OTHER[name])
    with pytest.raises(fl.CaptureError, match=r"test_agreement.py, line \d+"):
        for number in range(1, 5):
            monkeypatch.setenv("FACTOR", str(number))
            step(X)


def recursive(x):
    def power(row, times):
        return row if times == 0 else power(row, times - 1) * 2

    return np.apply_along_axis(power, 0, x, 3)


SAME = {
    "a function made again": scaled,
    "a function that calls itself": recursive,
    "NaN": lambda x: x * (np.float32("nan"), float("nan"))[0] + float("nan"),
    "NaN in an array": lambda x: x * np.array([1, np.nan, 2]),
    "complex": lambda x: x * complex(0, 2),
    "slices": lambda x: x[slice(0, 2), range(2)],
}


@pytest.mark.parametrize("name", SAME)
def test_constants_that_are_made_anew_but_the_same_are_replayed(name, monkeypatch):
    monkeypatch.setenv("FACTOR", "3")
    step = fl.captured(SAME[name])
    for number in range(4):
        np.testing.assert_array_equal(step(X + number), SAME[name](X + number))
    assert step.plans


# -- what a step gives back --------------------------------------------------------------------------------------------


@fl.functor(children=("y",))
class Labelled:
    def __init__(self, y, n):
        self.y, self.n = y, n


class Relabelled(Labelled):
    pass


def closure():
    k = factor()
    return lambda x: x * k


FUNCTIONS = [np.sin, np.cos]
MODELS = [fl.Dense(1, 1), fl.Dense(1, 1)]
OTHER_RESULTS = {
    "a function": lambda x: (x, FUNCTIONS[factor() % 2]),
    "a function's variable": lambda x: (x, closure()),
    "a found object": lambda x: (x, MODELS[factor() % 2]),
    "what's no part": lambda x: Labelled(x * 2, factor()),
    "the class": lambda x: (Labelled, Relabelled)[factor() % 2](x * 2, 1),
    "the type of a key": lambda x: {(1, True)[factor() % 2]: x * 2},
    "the type in a set": lambda x: (x * 2, frozenset([(1, True)[factor() % 2]])),
}


@pytest.mark.parametrize("name", OTHER_RESULTS)
def test_a_result_that_is_another_one_in_each_run_is_refused(name, monkeypatch):
    step = fl.captured(OTHER_RESULTS[name])
    with pytest.raises(fl.CaptureError, match="returns another .* than the time before"):
        for number in range(1, 5):
            monkeypatch.setenv("FACTOR", str(number))
            step(X)


@pytest.mark.parametrize("name", OTHER_RESULTS)
def test_a_result_that_is_the_same_in_each_run_is_replayed(name, monkeypatch):
    monkeypatch.setenv("FACTOR", "1")
    step = fl.captured(OTHER_RESULTS[name])
    for _ in range(4):
        made = step(X)
    assert step.plans
    assert type(made) is type(OTHER_RESULTS[name](X))
