"""Lesson 05, the sine-wave RNN: checks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

import fluxlite as fl

from ...autodiff.tracked import TrackedArray
from .. import sine_wave
from ..exercises import NotRight, exercise


def _wave() -> tuple[np.ndarray, np.ndarray]:
    """The lesson's inputs and targets."""
    return sine_wave.problem()[:2]


def _weights() -> tuple[np.ndarray, np.ndarray]:
    return sine_wave.problem()[2:]


def _empty() -> np.ndarray:
    return np.zeros((1, 6), np.float32)


def _near(got: Any, wanted: Any) -> bool:
    return np.shape(got) == np.shape(wanted) and np.allclose(got, wanted, rtol=1e-4, atol=1e-5)


# -- 05.1 -----------------------------------------------------------------------------------------------------------


@exercise("05.1", "one step of the network", look_at="the drawing of section 3, from left to right")
def step(step: Any) -> str:
    w1, w2 = _weights()
    h = _empty()
    for number, x in enumerate(_wave()[0][:3], 1):
        given = h.copy()
        out, after = _two(step(x.copy(), given, w1.copy(), w2.copy()))
        _tell_memory(number, x, h, w1, after)
        if not np.array_equal(given, h):
            raise NotRight("step writes into the memory that it's given", expected="a new array: h = np.tanh(…)")
        _tell_out(number, h, after, w2, out)
        h = after
    x, h, w1, w2 = fl.gpu((_wave()[0][0], _empty(), w1, w2))
    for got in step(x, h, w1, w2):
        if fl.device_of(got) != fl.device_of(x):
            raise NotRight(
                "given arrays on the GPU, your step returns one on the CPU",
                expected="NumPy's functions, np.concatenate, np.tanh and @: they compute where the arrays are",
            )
    return "three steps as they should be, and one on the GPU with the same lines"


def _two(returned: Any) -> tuple[Any, Any]:
    """What `step` returned, if it has the right form."""
    if returned is None:
        raise NotRight("step returned None", expected="return out, h")
    if not isinstance(returned, tuple) or len(returned) != 2:
        got = f"{len(returned)} things" if isinstance(returned, tuple) else f"one {type(returned).__name__}"
        raise NotRight(
            "step returns two arrays: the output, and the new memory for the next step", got, "return out, h"
        )
    out, h = returned
    shapes = np.shape(out), np.shape(h)
    if shapes == ((1, 6), (1, 1)):
        raise NotRight("the two are in the other order", "(h, out)", "(out, h)")
    if shapes != ((1, 1), (1, 6)):
        raise NotRight("the shapes aren't the ones in the drawing", "{} and {}".format(*shapes), "(1, 1) and (1, 6)")
    return out, h


def _tell_memory(number: int, x: Any, h: Any, w1: Any, after: Any) -> None:
    joined = np.concatenate([x, h], axis=1)
    if _near(after, np.tanh(joined @ w1)):
        return
    facts = (f"step {number}: h = {_numbers(after)}", f"step {number}: h = {_numbers(np.tanh(joined @ w1))}")
    if _near(after, np.tanh(np.concatenate([h, x], axis=1) @ w1)):
        raise NotRight("row 0 of w1 belongs to the input; yours multiplies it with h[0]", *facts)
    if _near(after, h):
        raise NotRight("you return the memory that you were given", *facts)
    if _near(after, joined @ w1):
        raise NotRight("the memory isn't bent: is a tanh missing?", *facts)
    raise NotRight("the new memory isn't right", *facts)


def _tell_out(number: int, h: Any, after: Any, w2: Any, out: Any) -> None:
    if _near(out, after @ w2):
        return
    facts = (f"step {number}: out = {_numbers(out)}", f"step {number}: out = {_numbers(after @ w2)}")
    if _near(out, np.tanh(after @ w2)):
        raise NotRight("outputs never exceed 1: is there a tanh too many?", *facts)
    if _near(out, h @ w2):
        raise NotRight("the output comes from the old memory; it should come from the new one", *facts)
    raise NotRight("the memory is right, but the output isn't", *facts)


def _numbers(array: Any) -> str:
    return " ".join(f"{float(value):.4f}" for value in np.ravel(array)[:3]) + (" …" if np.size(array) > 3 else "")


# -- 05.2 and 05.3: training ----------------------------------------------------------------------------------------


@exercise("05.2", "a loop that cannot learn", look_at="what survives from one step to the next, and in which line?")
def train_wave(train_wave: Any) -> str:
    loss = _last(train_wave(*_weights(), *_wave()), "train_wave")
    _tell_loss(loss, "do you use each gradient once, then set it to zero?")
    return "0.0649: the memory lasts from step to step, and 4,000 updates have been made"


@exercise("05.3", "the loop with withgradient", look_at="section 11: what goes into withgradient, and what comes out?")
def train_again(train_again: Any) -> str:
    arrays = (*_weights(), *_wave())
    on_gpu = w1, w2, x, y = fl.gpu(arrays)
    wanted, paid = fl.receipt(), fl.receipt()
    with wanted:
        sine_wave.train(x, y, w1.copy(), w2.copy(), epochs=[1])
    with paid:
        _last(train_again(*on_gpu, epochs=1), "train_again")
    extra = round(((paid.launches or 0) - (wanted.launches or 0)) / 20)
    if paid.launched["tanh"] > 20:
        raise NotRight(
            f"{extra} launches per step too many: forward ran twice",
            yours=f"{paid.launched['tanh']} tanh in an epoch of 20 steps",
            expected="the new memory comes out of withgradient, beside the loss: return loss, memory",
        )
    _tell_loss(_last(train_again(*arrays), "train_again"), "does each step go against the gradient, as in w1 -= …?")
    if not all(map(np.array_equal, arrays, _weights())):
        raise NotRight("it changes the w1 and w2 that it's given, so a second call goes on from there", "w1 -= …",
                       "copies to train: w1, w2 = w1.copy(), w2.copy()")  # fmt: skip
    if extra > 4:
        raise NotRight(f"the loss is right, with {extra} launches per step too many", f"{paid.launches} in an epoch")
    return f"0.0649, with {round((paid.launches or 0) / 20)} launches per step, and nothing is tracked after it"


def _last(returned: Any, name: str) -> float:
    """The last epoch's loss, whether that or a list of all losses was returned."""
    if returned is None:
        raise NotRight(f"{name} returned None", expected="return total")
    if isinstance(returned, list) and returned:
        returned = returned[-1]
    if isinstance(returned, TrackedArray):
        raise NotRight("the loss that you return is still tracked, with all its steps", expected="total + loss.data")
    returned = fl.cpu(returned)
    if np.size(returned) != 1:
        raise NotRight(f"{name} returns one number", type(returned).__name__, "the loss of the last epoch")
    return float(np.ravel(returned)[0])


def _tell_loss(loss: float, runaway: str) -> None:
    if abs(loss - 0.0649) <= 0.0005:
        return
    facts = (f"a loss of {loss:.4f}", "a loss of 0.0649")
    known: dict[float, str] = {
        0.8393: '0.839: as good as "same value as now". What survives from step to step?',
        0.1925: "0.193: one update in each epoch, 200 updates instead of 4,000",
        0.0245: "0.0245: one gradient for a whole epoch: 20 steps are tracked at its end, 200 updates in all",
        0.0649 / 20: "the loss is the sum of the 20 steps; yours is their mean",
        0.0365: "the memory of one epoch goes on into the next: each epoch should begin with an empty one",
        3.9155: "3.916 is the loss of the first epoch, not of the last",
        5.4925: "the weights are what they were at the start: no step changed them",
    }
    if not np.isfinite(loss) or loss > 100:
        raise NotRight(f"the weights grew without limit: {runaway}", *facts)
    for number, message in known.items():
        if abs(loss - number) <= 0.01 * number:
            raise NotRight(message, *facts)
    raise NotRight("it learns something else", *facts)


# -- 05.4 -----------------------------------------------------------------------------------------------------------


@exercise("05.4", "its own wave", look_at="what is the input of the second step, and what is its memory?")
def continue_wave(continue_wave: Any) -> str:
    w1, w2, _ = sine_wave.train_by_hand()
    xs = _wave()[0]
    given = continue_wave(xs[0].copy(), 6, w1.copy(), w2.copy())
    if given is None or not isinstance(given, Iterable):
        got = "None" if given is None else f"one {type(given).__name__}"
        raise NotRight(f"continue_wave returned {got}", expected="a list of n values")
    values = np.concatenate([np.zeros(0), *(np.ravel(fl.cpu(value)) for value in given)])
    wanted = sine_wave.run(xs[:6], w1, w2, own=True)[0].ravel()
    yours, expected = _six(values), _six(wanted)
    if len(values) and _near(values[0], xs[0].item()):
        raise NotRight("the first value is x0 itself; it should be the prediction from it", yours, expected)
    if len(values) != 6:
        raise NotRight("there should be n values, one for each step", f"{len(values)} values for n = 6", "6 values")
    if _near(values, wanted):
        return f"it goes on by itself: {expected}"
    if not _near(values[0], wanted[0]):
        raise NotRight("step 1 already differs: it is given x0 and an empty memory", yours, expected)
    true = sine_wave.run(xs[:2], w1, w2)[0][1].item()
    if _near(values[1], true):
        raise NotRight(f"step 2: {true:.3f} is the answer to a true input", yours, expected)
    if _near(values[1], sine_wave.run(np.full((1, 1, 1), values[0], np.float32), w1, w2)[0].item()):
        raise NotRight("step 2 has forgotten step 1: its memory is empty again", yours, expected)
    raise NotRight("it begins well, then goes another way", yours, expected)


def _six(values: Any) -> str:
    return " ".join(f"{float(value):.3f}" for value in values[:6])
