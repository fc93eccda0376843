"""Lesson 04, the sine-wave RNN: checks."""

import numpy as np

import fluxlite as fl

from .. import sine_wave
from ..kit.exercises import exercise
from ..kit.vocabulary import digits, expect, explaining, must_return, number, on_cpu, refuse, same, wrong_if


@exercise("04.1", "one step of the network", look_at="the drawing of section 2, from left to right")
def step(step):
    xs, _, w1, w2 = sine_wave.problem()
    h = empty = np.zeros((1, 6), np.float32)
    for count, x in enumerate(xs[:3], 1):
        found = must_return(step(x.copy(), h.copy(), w1.copy(), w2.copy()), "step", "return out, h")
        shapes = tuple(map(np.shape, found)) if isinstance(found, tuple) else np.shape(found)
        refuse({
            "step returns two arrays: the output, and the new memory for the next step":
                not isinstance(found, tuple) or len(found) != 2,
            "the two are in the wrong order": shapes == ((1, 6), (1, 1)),
        }, f"{type(found).__name__}, shape {shapes}", "shape (1, 1) and (1, 6): return out, h")  # fmt: skip
        out, after = found
        joined = np.concatenate([x, h], axis=1)
        expect(after, np.tanh(joined @ w1), "the new memory isn't right", {
            "row 0 of w1 belongs to the input; yours multiplies it with h[0]":
                np.tanh(np.concatenate([h, x], axis=1) @ w1),
            "you return the memory that you were given": h,
            "the memory isn't bent: is a tanh missing?": joined @ w1,
        }, shape="the new memory's shape isn't that of the drawing", before=f"step {count}: ", rtol=1e-4)  # fmt: skip
        expect(out, after @ w2, "the memory is right, but the output isn't", {
            "outputs never exceed 1: is there a tanh too many?": np.tanh(after @ w2),
            "the output comes from the old memory; it should come from the new one": h @ w2,
        }, before=f"step {count}: ", rtol=1e-4)  # fmt: skip
        h = after
    there = "NumPy's functions, np.concatenate, np.tanh and @: they compute where the arrays are"
    words = "right on the CPU; the check also runs it on the GPU, where your step makes or needs an array on the CPU"
    with explaining({"": words}, there):
        found = step(*fl.gpu((xs[0], empty, w1, w2)))
    wrong_if(any(map(on_cpu, found)), words, expected=there)
    return "three steps as they should be, and one on the GPU with the same lines"


@exercise("04.2", "a loop that can't learn", look_at="what survives from one step to the next, and in which line?")
def train_wave(train_wave):
    x, y, *weights = sine_wave.problem()
    loss = number(fl.cpu(must_return(train_wave(*weights, x, y), "train_wave", "return total")), "train_wave's result")
    uphill = "the weights grew without limit: does each step go against the gradient, as in w1 -= …?"
    wrong_if(not np.isfinite(loss) or loss > 100, uphill, f"a loss of {loss:.4f}", "a loss of 0.0649")
    expect(loss, 0.0649, "it learns something else", {
        '0.839: as good as "same value as now". What survives from step to step?': 0.8393,
        "0.193: one update in each epoch, 200 updates instead of 4,000": 0.1925,
        "0.0245: one gradient for a whole epoch, and 200 updates in all": 0.0245,
        "the memory of one epoch goes on into the next: each epoch should begin with an empty one": 0.0365,
    }, show="a loss of {:.4f}".format, rtol=0.01, atol=0)  # fmt: skip
    changed = not all(map(np.array_equal, weights, sine_wave.problem()[2:]))
    wrong_if(changed, "it changes the w1 and w2 that it's given, so a second call goes on from there")
    return "0.0649: the memory lasts from step to step, and 4,000 updates have been made"


@exercise("04.3", "its own wave", look_at="what is the input of the second step, and what is its memory?")
def continue_wave(continue_wave):
    w1, w2, _ = sine_wave.train_by_hand()
    xs = sine_wave.problem()[0]
    given = must_return(continue_wave(xs[0].copy(), 6, w1.copy(), w2.copy()), "continue_wave", "a list of n values")
    values = np.array([np.ravel(fl.cpu(value))[0] for value in given], float)
    wanted = sine_wave.run(xs[:6], w1, w2, own=True)[0].ravel()
    true = sine_wave.run(xs[:2], w1, w2)[0][1].item()
    forgotten = sine_wave.run(wanted[:1, None, None], w1, w2)[0].item()
    wrong_if(len(values) != 6, "there should be n values, one for each step", f"{len(values)} values", 6)
    refuse({
        "the first value is x0 itself; it should be the prediction from it": same(values[0], xs[0].item(), 1e-4),
        "step 1 already differs: it's given x0 and an empty memory": not same(values[0], wanted[0], 1e-4),
        f"step 2: {true:.3f} is the answer to a true input": same(values[1], true, 1e-4),
        "step 2 has forgotten step 1: its memory is empty again": same(values[1], forgotten, 1e-4),
        "it begins well, then goes another way": not same(values, wanted, 1e-4),
    }, digits(values), digits(wanted))  # fmt: skip
    return "six points, each from the one before, and the memory goes along"
