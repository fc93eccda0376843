"""Lesson 03, how a model learns: checks."""

import numpy as np

import fluxlite as fl

from ..kit.exercises import exercise
from ..kit.vocabulary import call, expect, explaining, must_return, normal, refuse, wrong_if


@exercise("03.1", "one step of gradient descent", look_at="section 1: w - 0.05 * g")
def step(step):
    w, x, y = normal(5, (3, 1), (8, 3), (8, 1))
    given, rate = w.copy(), 0.15  # a rate that no learner would write instead of the argument
    pair = "gradient gives a tuple, one for each argument: unpack it"
    nothing = "a gradient is None: the function that you differentiate doesn't use its own argument"
    with explaining({"multiply sequence": pair, "'tuple'": pair, "NoneType": nothing}, "lambda w: mse(x @ w, y)"):
        new = step(w, x, y, rate)
    changed = not np.array_equal(w, given)
    wrong_if(changed, "your step changed the w that it was given. It should return a new one", "w -= …", "w - …")
    g = fl.gradient(lambda w: fl.mse(x @ w, y), w)[0]
    expect(new, w - rate * g, "not the new w", {
        "uphill: that's a step along the gradient, and the loss grows": w + rate * g,
        "you subtracted the whole gradient; the rate says how much of it to take": w - g,
        "that's the gradient, not the new w": g,
        "the rate is an argument; yours is always 0.05": w - 0.05 * g,
    }, name="step", gives="the new w", shape="not the new w", show=lambda w: w.ravel().round(3), atol=1e-6)  # fmt: skip
    return "the new w, and the old one untouched"


_MEANINGS = {  # what an error says -> what it means here
    "the input is on": "model and data are in two places: gpu(model) gives a new model, and you have to keep it",
    "in place of the ": "update takes the optimizer's memory first, then the model, then the gradient",
    "take grads[0]": "gradient gives a tuple, one for each argument: unpack it",
    "move the model first": "setup came before gpu: what Adam remembers is still on the CPU",
}


@exercise("03.2", "a loop that learns", look_at="section 3: the loop, and its trap")
def fit(fit):
    rng = np.random.default_rng(7)
    x = rng.uniform(-1, 1, (64, 2)).astype(np.float32)
    model, y = fl.Chain(fl.Dense(2, 16, np.tanh, rng=rng), fl.Dense(16, 1, rng=rng)), x[:, :1] * x[:, 1:]
    before = float(fl.mse(model(x), y))
    with fl.receipt() as r, explaining(_MEANINGS):
        trained = must_return(fit(model, x, y), "fit", "the trained model")
    after = float(fl.cpu(fl.mse(fl.cpu(trained)(x), y)))
    nothing = "learns nothing: does the function that you differentiate use its own argument m?"
    refuse({
        "it ran on the CPU, from the first step to the last": not r.launches,
        f"it runs on the GPU, and {nothing} And do you return the model that you trained?": after > 0.95 * before,
        "it learns, but less than 100 steps of Adam(0.02) would. Is setup before the loop?": after > 0.01,
    }, f"loss {before:.4f} before, {after:.4f} after, {r.launches} launches", "less than 0.01")  # fmt: skip
    return f"loss {before:.3f} -> {after:.4f} on the GPU, {r.launches:,} launches"


@exercise("03.3", "a loss of your own", "a loss is one number, smallest when every answer is right")
def learn_xor(learn_xor):
    rng = np.random.default_rng(6)
    model = fl.Chain(fl.Dense(2, 8, np.tanh, rng=rng), fl.Dense(8, 1, rng=rng))
    x = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]], np.float32)
    y = np.array([[0], [1], [1], [0]], np.float32)
    trained, r = call(learn_xor, model, x, y)
    must_return(trained, "learn_xor", "the trained model")
    wrong_if(not r.launches, "it was trained on the CPU", "0 launches", "the model and the four points on the GPU")
    guesses = fl.cpu(trained)(x)
    worst = float(np.max(np.abs(guesses - y)))
    words = f"it isn't there yet: {worst:.2f} off at one point"
    wrong_if(not worst <= 0.1, words, guesses.ravel().round(2), y.ravel())
    return f"at most {worst:.2f} off at each of the four points, trained on the GPU with {r.launches:,} launches"
