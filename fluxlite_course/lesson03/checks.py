"""Lesson 03, how a model learns: checks."""

from typing import Any

import numpy as np

import fluxlite as fl
from fluxlite.words import many

from ..kit.exercises import NotRight, brief, exercise
from ..kit.vocabulary import expect, explaining, function, must_return, normal, refuse, wrong_if
from ..kit.watching import calls_of, look, unchanged

_FEWEST = 10  # gradients: with fewer, no rule teaches these models anything
_PLAIN = [rule.change for rule in (fl.Descent, fl.Momentum, fl.Nesterov)]  # rules that can take a plain step
_OPTIMIZER: Any = (fl.setup, fl.update, fl.updated, fl.train, *_PLAIN)
_LOSSES = [name for name in fl.__all__ if name.endswith(("_loss", "crossentropy"))]
_READY = [getattr(fl, name) for name in ("mse", "mae", "msle", "kldivergence", *_LOSSES)]


@exercise("03.1", "one step of gradient descent", look_at="section 1: w - 0.05 * g")
def step(step):
    function(step, "step")
    # Rates that no learner would write instead of the argument.
    _one_step(step, 0.15, *normal(5, (3, 1), (8, 3), (8, 1)))
    _one_step(step, 0.6, *normal(6, (4, 1), (5, 4), (5, 1)))
    return "the new w, and the old one untouched"


def _one_step(step, rate, w, x, y):
    pair = "gradient gives a tuple, one for each argument: unpack it"
    nothing = "you multiply None. A gradient is None if the function that you differentiate doesn't use its argument"
    meanings = {"multiply sequence": pair, "'tuple'": pair, "*: 'float' and 'NoneType'": nothing,
                "*: 'NoneType' and 'float'": nothing}  # fmt: skip
    given = unchanged("step", w=w, x=x, y=y)
    with given, explaining(meanings, "lambda w: mse(x @ w, y)"), calls_of(*_OPTIMIZER) as calls:
        new = step(w, x, y, rate)
    words = f"that's an optimizer, {' and '.join(calls)}: here, write the step yourself"
    wrong_if(calls, words, ", ".join(calls), "w, the rate and the gradient")
    g = fl.gradient(lambda w: fl.mse(x @ w, y), w)[0]
    expect(new, w - rate * g, "not the new w", {
        "uphill: that's a step along the gradient, and the loss grows": w + rate * g,
        "you subtracted the whole gradient; the rate says how much of it to take": w - g,
        "that's the gradient, not the new w": g,
        "that's the step, not the new w": rate * g,
        "that's the w that you were given": w,
        "the rate is an argument; yours is always 0.05": w - 0.05 * g,
    }, name="step", gives="the new w", shape="not the new w", show=_rounded, rtol=1e-3, atol=1e-4)  # fmt: skip


def _rounded(w):
    return np.asarray(fl.cpu(w)).ravel().round(3)


_MEANINGS = {  # what an error says -> what it means here
    "the input is on CPU": "model and data are in two places: gpu(x) gives a new array, and you have to keep it",
    "the input is on": "model and data are in two places: gpu(model) gives a new model, and you have to keep it",
    "target is on CPU": "the predictions are on the GPU, and y is still on the CPU: gpu(y) gives a new array",
    "in place of the ": "update takes the optimizer's memory first, then the model, then the gradient",
    "take grads[0]": "gradient gives a tuple, one for each argument: unpack it",
    "move the model first": "setup came before gpu: what Adam remembers is still on the CPU",
}


@exercise("03.2", "a loop that learns", look_at="section 3: the loop, and its trap")
def fit(fit):
    function(fit, "fit")
    rng = np.random.default_rng(7)
    x = rng.uniform(-1, 1, (64, 2)).astype(np.float32)
    where, places, learning = look()
    model = fl.Chain(fl.Dense(2, 16, np.tanh, rng=rng), fl.Dense(16, 1, rng=rng), where)
    y, untrained = x[:, :1] * x[:, 1:], model(x)
    before = _loss(untrained, y)
    places.clear()
    with fl.receipt() as r, explaining(_MEANINGS), calls_of(fl.setup) as calls:
        trained = must_return(fit(model, x, y), "fit", "the trained model")
    steps, gradients = places.count("GPU"), learning.count("GPU")
    predictions = _predictions(trained, x, "fit", places)
    after = _loss(predictions, y)
    learned = after <= 0.01
    same_as_before = np.array_equal(predictions, untrained)
    nothing = "learns nothing: does the function that you differentiate use its own argument m?"
    refuse({
        "it ran on the CPU, from the first step to the last": not r.launches,
        "the GPU was asked for something, but the model that you were given never ran there": not steps,
        _TRAINED_ON_CPU: "CPU" in learning,
        f"it runs on the GPU, and {nothing} And do you return the model that you trained?": same_as_before,
        "setup is in the loop: so at each step, what Adam remembers is thrown away": not learned and calls["setup"] > 3,
        f"in all, the model was called {many(steps, 'time')}; 100 steps call it 100 times": not learned and steps < 90,
        "the loss isn't a number any more: the steps are far too long": not np.isfinite(after),
        "the loss has grown: are the steps too long, or do they go uphill?": after > before,
        "it learns, but less than 100 steps of Adam(0.02) would": not learned,
        f"the loss is small, but {_few(gradients)}": gradients < _FEWEST,
    }, f"loss {before:.4f} before, {after:.4f} after, {r.launches} launches", "less than 0.01")  # fmt: skip
    return f"loss {before:.3f} -> {after:.4f}, with {many(gradients, 'gradient')} on the GPU, {r.launches:,} launches"


def _few(gradients):
    return f"only {many(gradients, 'gradient')} went through the model on the GPU: where has it learned the rest?"


_TRAINED_ON_CPU = "gradients went through the model on the CPU: train the one that's on the GPU"


def _loss(predictions, y):
    return float(np.mean((predictions - y) ** 2))


def _predictions(trained, x, name, places):
    """What a learner's trained model says, where `places` notes each call of the model that it was given.

    Raises `NotRight` for what isn't this model.
    """
    wrong_if(isinstance(trained, (tuple, list)), f"{name} returns the trained model, and nothing else", brief(trained))
    if not callable(trained):
        raise NotRight(f"{name} returns the trained model", brief(trained), "the model")
    places.clear()
    predictions = fl.cpu(fl.cpu(trained)(x))
    words = f"what {name} returned isn't the model that it was given"
    wrong_if(not places or not isinstance(trained, fl.Chain), words, brief(trained),
             "the same model, with other weights")  # fmt: skip
    shape = getattr(predictions, "shape", None)
    wrong_if(shape != (len(x), 1), f"what {name} returned isn't the model: it gives something else for each x",
             f"shape {shape}" if shape else brief(predictions), f"shape {(len(x), 1)}")  # fmt: skip
    return np.asarray(predictions, np.float64)


@exercise("03.3", "a loss of your own", "a loss is one number, smallest when every answer is right")
def learn_xor(learn_xor):
    function(learn_xor, "learn_xor")
    rng = np.random.default_rng(6)
    where, places, learning = look()
    model = fl.Chain(fl.Dense(2, 8, np.tanh, rng=rng), fl.Dense(8, 1, rng=rng), where)
    x = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]], np.float32)
    y = np.array([[0], [1], [1], [0]], np.float32)
    untrained = model(x)
    places.clear()
    with fl.receipt() as r, calls_of(*_READY, in_gradients=True) as ready:
        trained = learn_xor(model, x, y)
    must_return(trained, "learn_xor", "the trained model")
    wrong_if(not r.launches, "it was trained on the CPU", "0 launches", "the model and the four points on the GPU")
    tries = places.count("GPU")
    rarely = "the GPU was asked for something, but the model that you were given was hardly ever tried there"
    wrong_if(tries < 3, rarely, many(tries, "time"), "in each step of its training")
    wrong_if("CPU" in learning, _TRAINED_ON_CPU)
    # Other ways to train it there, such as random tries, need many.
    gradients, is_tried = len(learning), tries >= 100
    words = "the GPU was asked for something, but the model wasn't trained there"
    wrong_if(not gradients and not is_tried, words, "0 gradients on the GPU")
    loss = ", ".join(ready)
    wrong_if(ready, f"{loss} is ready-made: write a loss of your own, of NumPy's functions", loss, "a def or a lambda")
    guesses = _predictions(trained, x, "learn_xor", places)
    worst = float(np.max(np.abs(guesses - y)))
    yours, wanted = guesses.ravel().round(2), y.ravel()
    refuse({
        "the model that you return says what it said before: has it been trained?":
            np.array_equal(guesses, untrained),
        "its answers aren't numbers any more: the steps are too long": not np.isfinite(worst),
        f"it isn't there yet: {worst:.2f} off at one point": worst > 0.1,
        f"it's right, but {_few(gradients)}": gradients < _FEWEST and not is_tried,
    }, yours, wanted)  # fmt: skip
    with_them = f"with {many(gradients, 'gradient')} on the GPU, {r.launches:,} launches"
    return f"at most {worst:.2f} off at each of the four points, {with_them}"
