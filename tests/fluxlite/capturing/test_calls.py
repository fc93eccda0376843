"""Each call in a captured step does what it does eagerly, however it's written: masks, `out`, parts of arguments."""

import numpy as np
import pytest
from two_worlds import as_bytes, stay, to_gpu

import fluxlite as fl

WIDE = np.arange(40, dtype=np.float32).reshape(5, 8)


def dense(i):
    return np.array([0.5 + i, 1.75, 2, 3.25 + i], np.float32)


def with_gaps(i):
    return (WIDE + i)[0, ::2]


def worlds(step, arguments=dense, place=stay, calls=6):
    """What the step gives and what its argument holds then, at each call: eagerly, and captured."""
    found = []
    for run in (step, fl.captured(step)):
        each = []
        for i in range(calls):
            x = place(arguments(i).copy() if arguments is dense else arguments(i))
            result = run(x)
            each.append((type(result), result.dtype, as_bytes([result, x])))
        found.append(each)
    return found


# -- a plain number that's put into an array, and where ----------------------------------------------------------------


def number_where(x):
    y = x * 2
    np.copyto(y, 9, where=y > 4)
    return y


def number_where_by_position(x):
    y = x * 2
    np.copyto(y, True, "unsafe", y > 4)
    return y


def rounded_down(x):
    y = np.floor(x * 2).astype(np.int64)
    np.copyto(y, 9.7, casting="unsafe")
    y[1:] = 2.9
    return y + np.full_like(x, -1.5, dtype=np.int64)


def filled_like(x):
    return np.full_like(x, 2.5, np.float64) + np.full_like(a=x, fill_value=3) + np.full_like(x, 1, None, "C", True, 4)


# -- where a result goes -----------------------------------------------------------------------------------------------


def sum_into(x):
    y = np.zeros_like(x, shape=())
    x.sum(0, None, y)
    return y


def sum_into_and_more(x):
    y = np.zeros_like(x, shape=(2, 1))
    np.sum(x.reshape(2, 2), 1, None, y, True)
    return y


def clip_into(x):
    y = x * 3
    np.clip(x, 1, 2, y)
    return y


# -- an argument of which a part is copied onto itself -----------------------------------------------------------------


def one_element(x):
    x[0] = x[1]
    return x * 1


def shifted(x):
    x[1:] = x[:-1]
    return x * 1


def reversed_in_place(x):
    x[...] = x[::-1]
    return x * 1


def copied_to_the_next(x):
    np.copyto(x[1:], x[:-1])
    return x * 1


def filled(x):
    x[...] = 3
    return x * 1


STEPS = [
    number_where, number_where_by_position, rounded_down, filled_like, sum_into, sum_into_and_more, clip_into,
    one_element, shifted, reversed_in_place, copied_to_the_next, filled,
]  # fmt: skip


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("arguments", [dense, with_gaps])
def test_a_call_is_what_it_is_eagerly(step, arguments):
    eager, captured = worlds(step, arguments)
    assert captured == eager


@pytest.mark.parametrize("step", STEPS)
def test_a_call_is_what_it_is_eagerly_on_a_device(step):
    with fl.simulate_gpu():
        eager, captured = worlds(step, place=to_gpu)
    assert captured == eager


@pytest.mark.parametrize(
    ("value", "error"), [(float("nan"), ValueError), (1j, TypeError), (300, OverflowError)], ids=["nan", "1j", "300"]
)
def test_a_number_that_an_array_refuses_is_refused(value, error):
    def step(x):
        y = np.zeros_like(x, dtype=np.uint8 if value != 1j else np.float32)
        y[...] = value
        return y

    for run in (step, fl.captured(step)):
        with pytest.raises(error):
            run(dense(0))
