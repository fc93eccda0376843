"""Lesson 04, the sine-wave RNN: checks."""

from collections.abc import Iterable

import numpy as np

import fluxlite as fl
from fluxlite import TrackedArray

from .. import sine_wave
from ..kit.exercises import exercise
from ..kit.vocabulary import called, expect, explained, on_cpu, refuse, returned, same, wrong_if


@exercise("04.1", "one step of the network", look_at="the drawing of section 3, from left to right")
def step(step):
    xs, _, w1, w2 = sine_wave.problem()
    h = empty = np.zeros((1, 6), np.float32)
    for number, x in enumerate(xs[:3], 1):
        given = h.copy()
        found = returned(step(x.copy(), given, w1.copy(), w2.copy()), "step", "return out, h")
        shapes = tuple(map(np.shape, found)) if isinstance(found, tuple) else np.shape(found)
        refuse({
            "step returns two arrays: the output, and the new memory for the next step":
                not isinstance(found, tuple) or len(found) != 2,
            "the two are in the other order": shapes == ((1, 6), (1, 1)),
            "the shapes aren't the ones in the drawing": shapes != ((1, 1), (1, 6)),
        }, f"{type(found).__name__}, shape {shapes}", "shape (1, 1) and (1, 6): return out, h")  # fmt: skip
        out, after = found
        joined = np.concatenate([x, h], axis=1)
        _right(after, np.tanh(joined @ w1), "the new memory isn't right", f"step {number}: h", {
            "row 0 of w1 belongs to the input; yours multiplies it with h[0]":
                np.tanh(np.concatenate([h, x], axis=1) @ w1),
            "you return the memory that you were given": h,
            "the memory isn't bent: is a tanh missing?": joined @ w1,
        })  # fmt: skip
        words = "step writes into the memory that it's given"
        wrong_if(not np.array_equal(given, h), words, expected="a new array: h = np.tanh(…)")
        _right(out, after @ w2, "the memory is right, but the output isn't", f"step {number}: out", {
            "outputs never exceed 1: is there a tanh too many?": np.tanh(after @ w2),
            "the output comes from the old memory; it should come from the new one": h @ w2,
        })  # fmt: skip
        h = after
    there = "NumPy's functions, np.concatenate, np.tanh and @: they compute where the arrays are"
    words = "right on the CPU; the check also runs it on the GPU, where your step makes or needs an array on the CPU"
    with explained({"": words}, there):
        found = step(*fl.gpu((xs[0], empty, w1, w2)))
    wrong_if(any(map(on_cpu, found)), "given arrays on the GPU, your step returns one on the CPU", expected=there)
    return "three steps as they should be, and one on the GPU with the same lines"


def _right(got, wanted, otherwise, what, slips):
    def show(array):
        numbers = " ".join(f"{float(value):.4f}" for value in np.ravel(array)[:3])
        return f"{what} = {numbers}{' …' if np.size(array) > 3 else ''}"

    expect(got if hasattr(got, "shape") else np.asarray(got), wanted, otherwise, slips, show=show, rtol=1e-4)


@exercise("04.2", "a loop that cannot learn", look_at="what survives from one step to the next, and in which line?")
def train_wave(train_wave):
    x, y, w1, w2 = sine_wave.problem()
    _right_loss(_last(train_wave(w1, w2, x, y), "train_wave"), "do you use each gradient once, then set it to zero?")
    return "0.0649: the memory lasts from step to step, and 4,000 updates have been made"


@exercise("04.3", "the loop with withgradient", look_at="section 11: what goes into withgradient, and what comes out?")
def train_again(train_again):
    x, y, *weights = sine_wave.problem()
    arrays = (*weights, x, y)
    on_gpu = w1, w2, x, y = fl.gpu(arrays)
    wanted = called(sine_wave.train, x, y, w1.copy(), w2.copy(), epochs=[1])[1]
    losses, paid = called(train_again, *on_gpu, epochs=1)
    _last(losses, "train_again")
    extra, tanh = round((paid.launches - wanted.launches) / 20), paid.launched["tanh"]
    yours = f"{paid.launches} launches in an epoch of 20 steps, {tanh} of them tanh"
    out = "the new memory comes out of withgradient, beside the loss: return loss, memory"
    wrong_if(tanh > 20, f"{extra} launches per step too many: forward ran twice", yours, out)
    _right_loss(_last(train_again(*arrays), "train_again"), "does each step go against the gradient, as in w1 -= …?")
    words = "it changes the w1 and w2 that it's given, so a second call goes on from there"
    kept = all(map(np.array_equal, weights, sine_wave.problem()[2:]))
    wrong_if(not kept, words, "w1 -= …", "copies to train: w1, w2 = w1.copy(), w2.copy()")
    wrong_if(extra > 4, f"the loss is right, with {extra} launches per step too many", yours)
    return f"0.0649, with {round(paid.launches / 20)} launches per step, and nothing is tracked after it"


def _last(losses, name):
    """The last epoch's loss, whether that or a list of all losses was returned."""
    last = losses[-1] if isinstance(losses, list) and losses else returned(losses, name, "return total")
    words = "the loss that you return is still tracked, with all its steps"
    wrong_if(isinstance(last, TrackedArray), words, expected="total + loss.data")
    words = f"{name} returns one number"
    wrong_if(np.size(fl.cpu(last)) != 1, words, type(last).__name__, "the loss of the last epoch")
    return float(np.ravel(fl.cpu(last))[0])


def _right_loss(loss: float, runaway: str) -> None:
    known = {
        '0.839: as good as "same value as now". What survives from step to step?': 0.8393,
        "0.193: one update in each epoch, 200 updates instead of 4,000": 0.1925,
        "0.0245: one gradient for a whole epoch: 20 steps are tracked at its end, 200 updates in all": 0.0245,
        "the loss is the sum of the 20 steps; yours is their mean": 0.0649 / 20,
        "the memory of one epoch goes on into the next: each epoch should begin with an empty one": 0.0365,
        "3.916 is the loss of the first epoch, not of the last": 3.9155,
        "the weights are what they were at the start: no step changed them": 5.4925,
    }
    refuse({
        f"the weights grew without limit: {runaway}": not np.isfinite(loss) or loss > 100,
        **{words: abs(loss - number) <= 0.01 * number for words, number in known.items()},
        "it learns something else": abs(loss - 0.0649) > 0.0005,
    }, f"a loss of {loss:.4f}", "a loss of 0.0649")  # fmt: skip


@exercise("04.4", "its own wave", look_at="what is the input of the second step, and what is its memory?")
def continue_wave(continue_wave):
    w1, w2, _ = sine_wave.train_by_hand()
    xs = sine_wave.problem()[0]
    given = returned(continue_wave(xs[0].copy(), 6, w1.copy(), w2.copy()), "continue_wave", "a list of n values")
    one = f"continue_wave returned one {type(given).__name__}"
    wrong_if(not isinstance(given, Iterable), one, expected="a list of n values")
    values = np.concatenate([np.zeros(0), *(np.ravel(fl.cpu(value)) for value in given)])
    six = np.resize(np.append(values, np.nan), 6)
    wanted = sine_wave.run(xs[:6], w1, w2, own=True)[0].ravel()
    yours, expected = (" ".join(f"{float(value):.3f}" for value in some) for some in (values[:7], wanted))
    true = sine_wave.run(xs[:2], w1, w2)[0][1].item()
    forgotten = sine_wave.run(np.full((1, 1, 1), six[0], np.float32), w1, w2)[0].item()
    refuse({
        "the first value is x0 itself; it should be the prediction from it": same(six[0], xs[0].item(), 1e-4),
        "there should be n values, one for each step": len(values) != 6,
        "step 1 already differs: it is given x0 and an empty memory": not same(six[0], wanted[0], 1e-4),
        f"step 2: {true:.3f} is the answer to a true input": same(six[1], true, 1e-4),
        "step 2 has forgotten step 1: its memory is empty again": same(six[1], forgotten, 1e-4),
        "it begins well, then goes another way": not same(six, wanted, 1e-4),
    }, yours, expected)  # fmt: skip
    return f"it goes on by itself: {expected}"
