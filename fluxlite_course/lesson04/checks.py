"""Lesson 04, the sine-wave RNN: checks."""

import functools

import numpy as np

import fluxlite as fl
from fluxlite.words import many

from .. import sine_wave
from ..kit.exercises import NotRight, brief, exercise
from ..kit.vocabulary import (
    call,
    digits,
    expect,
    explaining,
    function,
    listed,
    must_return,
    number,
    on_gpu,
    refuse,
    same,
    wrong_if,
)
from ..kit.watching import calls_of, unchanged

_READY = (sine_wave.step, sine_wave.run, sine_wave.predict, sine_wave.train, sine_wave.train_by_hand)


@exercise("04.1", "one step of the network", look_at="the drawing of section 2, from left to right")
def step(step):
    function(step, "step")
    xs, _, w1, w2 = sine_wave.problem(seed=3)  # not the notebook's weights, which every function there can see
    h = np.zeros((1, 6), np.float32)
    for count, x in enumerate(xs[:3], 1):
        with unchanged("step", x=x, h=h, w1=w1, w2=w2), calls_of(*_READY) as ready:
            out, after = _out_and_h(step(x, h, w1, w2))
        _not_ready_made(ready, "np.concatenate, np.tanh and @")
        words = "its arguments are on the CPU, and its result is on the GPU: compute where the arrays are"
        wrong_if(on_gpu(out) or on_gpu(after), words)
        _one_step(out, after, f"step {count}: ", x, h, w1, w2)
        h = np.asarray(after)
    there = "NumPy's functions, np.concatenate, np.tanh and @: they compute where the arrays are"
    words = "right on the CPU; the check also runs it on the GPU, where your step makes or needs an array on the CPU"
    meanings = {" is on ": words, "does not copy it to the host": words, "": "right on the CPU, but not on the GPU"}
    arrays = fl.gpu((xs[0], np.zeros_like(h), w1, w2))
    with explaining(meanings, there):
        found, r = call(step, *arrays)
    out, after = _out_and_h(found)
    wrong_if(not (on_gpu(out) and on_gpu(after)), words, expected=there)
    back = r.device_to_host
    words = "right on the CPU; on the GPU, it brings something to the host, and it should all stay where it is"
    wrong_if(back.count, words, f"{many(back.count, 'copy')}, {back.bytes:,} bytes back", there)
    _one_step(out, after, "step 1 on the GPU: ", *map(fl.cpu, arrays))
    return "three steps as they should be, and one on the GPU with the same lines"


def _out_and_h(found):
    """The two arrays that a learner's `step` returned. Raises `NotRight` if there aren't two, or in the other order."""
    must_return(found, "step", "return out, h")
    pair = None if hasattr(found, "dtype") else listed(found)
    shapes = tuple(np.shape(part) if hasattr(part, "shape") else None for part in (pair or ())[:3])
    refuse({
        "step returns two arrays: the output, and the new memory for the next step": not pair or len(pair) != 2,
        "the two are in the wrong order": shapes == ((1, 6), (1, 1)),
    }, f"{type(found).__name__}, shape {shapes}" if pair else brief(found),
       "shape (1, 1) and (1, 6): return out, h")  # fmt: skip
    return pair


def _one_step(out, after, before, x, h, w1, w2):
    """Raises `NotRight` unless these are the output and the memory after one step."""
    joined = np.concatenate([x, h], axis=1)
    expect(after, np.tanh(joined @ w1), "the new memory isn't right", {
        "row 0 of w1 belongs to the input; yours multiplies it with h[0]":
            np.tanh(np.concatenate([h, x], axis=1) @ w1),
        "you return the memory that you were given": h,
        "the memory isn't bent: is a tanh missing?": joined @ w1,
    }, shape="the new memory's shape isn't that of the drawing", before=before, rtol=1e-4)  # fmt: skip
    after = np.asarray(fl.cpu(after))
    expect(out, after @ w2, "the memory is right, but the output isn't", {
        "outputs never exceed 1: is there a tanh too many?": np.tanh(after @ w2),
        "the output comes from the old memory; it should come from the new one": h @ w2,
    }, shape="the output's shape isn't that of the drawing", before=before, rtol=1e-4)  # fmt: skip


def _not_ready_made(ready, yours="a loop of your own, with forward from above"):
    words = "that calls the course's own function, which is ready-made: write yours"
    wrong_if(ready, words, ", ".join(ready), yours)


@functools.cache
def _by_hand(seed):
    return sine_wave.train_by_hand(seed=seed)


@exercise("04.2", "a loop that can't learn", look_at="what survives from one step to the next, and in which line?")
def train_wave(train_wave):
    function(train_wave, "train_wave")
    expect(_trained(train_wave, seed=1), 0.0649, "it learns something else", {
        '0.839: as good as "same value as now". What survives from step to step?': 0.8393,
        "0.193: one update in each epoch, 200 updates instead of 4,000": 0.1925,
        "0.0245: one gradient for a whole epoch, and 200 updates in all": 0.0245,
        "the memory of one epoch goes on into the next: each epoch should begin with an empty one": 0.0365,
    }, show="a loss of {:.4f}".format, rtol=0.01, atol=0)  # fmt: skip
    other = _by_hand(5)[2][-1]
    expect(_trained(train_wave, seed=5), other, "0.0649 is right, but from other weights it ends with a wrong loss", {
        "0.0649 is right for the weights above. From others, it should end elsewhere: use the w1 and w2 you're given":
            0.0649,
    }, show="a loss of {:.4f}".format, rtol=0.01, atol=0)  # fmt: skip
    return f"0.0649, and {other:.2f} from other weights: the memory lasts from step to step"


def _trained(train_wave, seed):
    """The loss at the end of a learner's training, from these weights. Raises `NotRight` if it isn't a small number."""
    x, y, w1, w2 = sine_wave.problem(seed=seed)
    with unchanged("train_wave", x=x, y=y), calls_of(*_READY) as ready:
        found = train_wave(w1, w2, x, y)
    loss = number(must_return(found, "train_wave", "return total"), "train_wave's result")
    uphill = "the weights grew without limit: does each step go against the gradient, as in w1 -= …?"
    wrong_if(not np.isfinite(loss) or loss > 1e6, uphill, f"a loss of {loss:.4g}", "a loss of 0.0649")
    _not_ready_made(ready)
    changed = not all(map(np.array_equal, (w1, w2), sine_wave.problem(seed=seed)[2:]))
    wrong_if(changed, "it changes the w1 and w2 that it's given, so a second call goes on from there")
    return loss


@exercise("04.3", "its own wave", look_at="what is the input of the second step, and what is its memory?")
def continue_wave(continue_wave):
    function(continue_wave, "continue_wave")
    _continued(continue_wave, 6, seed=1)
    _continued(continue_wave, 9, seed=14)  # not the notebook's weights, which every function there can see
    return "six points, each from the one before, and the memory goes along"


def _continued(continue_wave, n, seed):
    """Raises `NotRight` unless these are the first n outputs of a network that's fed with its own."""
    w1, w2 = (weight.copy() for weight in _by_hand(seed)[:2])
    xs = sine_wave.problem()[0]
    x0 = xs[0].copy()
    with unchanged("continue_wave", x0=x0, w1=w1, w2=w2), calls_of(*_READY) as ready:
        given = must_return(continue_wave(x0, n, w1, w2), "continue_wave", "a list of n values")
        values = listed(given)
    _not_ready_made(ready)
    if values is None:
        raise NotRight("continue_wave returns a list of n values", brief(given), "a list of n values")
    wrong_if(len(values) != n, "there should be n values, one for each step", f"{len(values)} values", n)
    values = np.array([number(value, "a value") for value in values])
    wanted = sine_wave.run(xs[:n], w1, w2, own=True)[0].ravel()
    true = sine_wave.run(xs[:2], w1, w2)[0][1].item()
    forgotten = sine_wave.run(wanted[:1, None, None], w1, w2)[0].item()
    refuse({
        "the first value is x0 itself; it should be the prediction from it": same(values[0], xs[0].item(), 1e-4),
        "step 1 already differs: it's given x0 and an empty memory": not same(values[0], wanted[0], 1e-4),
        f"step 2: {true:.3f} is the answer to a true input": same(values[1], true, 1e-4),
        "step 2 has forgotten step 1: its memory is empty again": same(values[1], forgotten, 1e-4),
        "it begins well, then goes another way": not same(values, wanted, 1e-3, 1e-3),
    }, digits(values), digits(wanted))  # fmt: skip
