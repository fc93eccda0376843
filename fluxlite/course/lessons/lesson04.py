"""Lesson 04, gradients and training: checks."""

from __future__ import annotations

from typing import Any

import numpy as np

import fluxlite as fl

from ...autodiff.tracked import TrackedArray
from ..exercises import NotRight, exercise

# -- 04.1 ---------------------------------------------------------------------------------------------------------


_NOTHING = "a gradient is None: the function that you differentiate doesn't use its own argument"


@exercise("04.1", "one step of gradient descent", look_at="section 1: w - 0.05 * g")
def step(step: Any) -> str:
    rng = np.random.default_rng(5)
    w, x, y = (rng.standard_normal(shape).astype(np.float32) for shape in ((3, 1), (8, 3), (8, 1)))
    given, rate = w.copy(), 0.15  # a rate that no learner writes down for the argument
    try:
        new = step(w, x, y, rate)
    except TypeError as error:
        if "multiply sequence" in str(error) or "for -: " in str(error) and "tuple" in str(error):
            raise NotRight("gradient gives a tuple, one for each argument: unpack it", error) from None
        if "NoneType" in str(error):
            raise NotRight(_NOTHING, f"the error says: {error}", "lambda w: mse(x @ w, y)") from None
        raise
    g = fl.gradient(lambda w: fl.mse(x @ w, y), w)[0]
    if not np.array_equal(w, given):
        raise NotRight("your step changed the w that it was given. It should return a new one", "w -= …", "w - …")
    if new is None:
        raise NotRight("step returned None", None, "the new w")
    _check_step(new, w, g, rate, fl.gradient(lambda w: np.sum((x @ w - y) ** 2), w)[0])
    moved = fl.gpu((w, x, y))
    with fl.receipt() as r:
        new = step(*moved, rate)
    if r.device_to_host.count or isinstance(new, np.ndarray):
        raise NotRight("on the GPU your step brings something back to the CPU", f"{r.device_to_host.count} copies back")
    return f"the new w, the old one untouched, and on the GPU nothing comes back ({r.launches} launches)"


def _check_step(new: Any, w: Any, g: Any, rate: float, of_the_sum: Any) -> None:
    slips = {
        "uphill: that is a step along the gradient, and the loss grows": w + rate * g,
        "you subtracted the whole gradient; the rate says how much of it to take": w - g,
        "this is the gradient, not the new w": g,
        "this is the step; the new w is w minus the step": rate * g,
        "w came back unchanged": w,
        **{f"the rate is an argument; yours is always {fixed}": w - fixed * g for fixed in (0.01, 0.05, 0.1)},
        "this is the step for the sum of the squares, but mse is their mean": w - rate * of_the_sum,
    }
    if isinstance(new, tuple):
        raise NotRight("a tuple came back", "(…,)", "the new w, an array like w")
    if hasattr(new, "shape") and not isinstance(new, (np.ndarray, np.generic)):
        raise NotRight("w is on the CPU, and the new w isn't: nothing has to move here", fl.device_of(new), "CPU")
    comparable = isinstance(new, np.ndarray) and new.shape == w.shape and new.dtype.kind == "f"
    if comparable and np.allclose(new, w - rate * g, atol=1e-6):
        return
    for words, slip in slips.items():
        if comparable and np.allclose(new, slip, atol=1e-6):
            raise NotRight(words, new.ravel().round(3), (w - rate * g).ravel().round(3))
    raise NotRight("not the new w", new.ravel().round(3) if comparable else new, (w - rate * g).ravel().round(3))


# -- 04.2 ---------------------------------------------------------------------------------------------------------

_SAID = {  # what an error says -> what it means here
    "the input is on": "model and data are in two places: gpu(model) gives a new model, and you have to keep it",
    "in place of the model": "update takes the optimizer's memory first, then the model, then the gradient",
    "in place of the state": "update takes the optimizer's memory first, then the model, then the gradient",
    "take grads[0]": "gradient gives a tuple, one for each argument: unpack it",
    "move the model first": "setup came before gpu: what Adam remembers is still on the CPU",
}


@exercise("04.2", "a loop that learns", look_at="section 3, and the explicit loop in section 4")
def fit(fit: Any) -> str:
    model, x, y = _product()
    before = float(fl.mse(model(x), y))
    with fl.receipt() as r:
        try:
            trained = fit(model, x, y)
        except TypeError as error:
            for words, meaning in _SAID.items():
                if words in str(error):
                    raise NotRight(meaning, f"the error says: {error}") from None
            raise
    if trained is None:
        raise NotRight("fit returned None", None, "the trained model")
    if not callable(trained):
        raise NotRight("what came back isn't a model", type(trained).__name__, "the trained model")
    if not r.launches:
        raise NotRight("it ran on the CPU, from the first step to the last", "0 launches", "launches at each step")
    after = float(fl.cpu(fl.mse(fl.cpu(trained)(x), y)))
    if after > 0.01 and after != before and np.isclose(after, _forgetful(100), rtol=0.01):
        raise NotRight(
            "setup is inside the loop, so Adam forgets everything at each step: call setup once, before the loop",
            yours=f"loss {after:.4f}",
            expected="less than 0.01",
        )
    if after > 0.95 * before:
        raise NotRight(
            "it runs on the GPU, and learns nothing: does the function that you differentiate use its own argument m? "
            "And do you return the model that you trained?",
            yours=f"loss {before:.4f} before, {after:.4f} after",
            expected="less than 0.01 after 100 steps",
        )
    if after > 0.01:
        raise NotRight("it learns, but less than 100 steps of Adam(0.02) would", f"loss {after:.4f}", "less than 0.01")
    return f"loss {before:.3f} -> {after:.4f} on the GPU, {r.launches:,} launches"


def _forgetful(steps: int) -> float:
    """The loss after a training with a new memory for Adam at each step."""
    model, x, y = _product()
    for _ in range(steps):
        (grads,) = fl.gradient(lambda m: fl.mse(m(x), y), model)
        fl.update(fl.setup(fl.Adam(0.02), model), model, grads)
    return float(fl.mse(model(x), y))


def _product() -> tuple[fl.Chain, np.ndarray, np.ndarray]:
    """A small network, and its task: to multiply."""
    rng = np.random.default_rng(7)
    x = rng.uniform(-1, 1, (64, 2)).astype(np.float32)
    return fl.Chain(fl.Dense(2, 16, np.tanh, rng=rng), fl.Dense(16, 1, rng=rng)), x, x[:, :1] * x[:, 1:]


# -- 04.3 ---------------------------------------------------------------------------------------------------------


MOST_STEPS = 200


@exercise(
    "04.3",
    "a loss of your own",
    look_at="section 6: train; and a loss is one number, smallest when every answer is right",
)
def learn_xor(learn_xor: Any) -> str:
    rng = np.random.default_rng(6)
    steps: set[int] = set()  # the gradient calls in which the model was used

    def seen(x: Any) -> Any:
        steps.update([x.level.number] if isinstance(x, TrackedArray) else [])
        return x

    model = fl.Chain(fl.Dense(2, 8, np.tanh, rng=rng), fl.Dense(8, 1, seen, rng=rng))
    x = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]], np.float32)
    y = np.array([[0], [1], [1], [0]], np.float32)
    with fl.receipt() as r:
        trained = learn_xor(model, x, y)
    if trained is None:
        raise NotRight("learn_xor returned None", None, "the trained model")
    if not callable(trained):
        raise NotRight("what came back isn't a model", type(trained).__name__, "the trained model")
    if not r.launches:
        raise NotRight("it was trained on the CPU", "0 launches", "the model and the four points on the GPU")
    if len(steps) > MOST_STEPS:
        raise NotRight("it takes too many steps", f"{len(steps):,} steps", f"at most {MOST_STEPS} steps")
    guesses = fl.cpu(trained)(x)
    worst = float(np.max(np.abs(guesses - y)))
    if not worst <= 0.1:
        what = "always the same answer, whatever goes in" if np.ptp(guesses) < 0.1 else "it isn't there yet"
        raise NotRight(f"{what}: {worst:.2f} off at one point", guesses.ravel().round(2), y.ravel())
    return f"at most {worst:.2f} off at each of the four points, trained on the GPU with {r.launches:,} launches"


# -- 04.4 ---------------------------------------------------------------------------------------------------------


@exercise("04.4", "a loop that waits once", look_at="with fl.receipt() as r: …, then r.synchronizations")
def fit_quietly(fit_quietly: Any) -> str:
    model, x, y = fl.gpu(_product())
    wanted = _losses(fl.gpu(model), x, y, 50)
    model = fl.gpu(_product()[0])
    with fl.receipt() as r:
        losses = fit_quietly(model, x, y, 50)
    if losses is None:
        raise NotRight("fit_quietly returned None", None, "an array of 50 losses")
    if not isinstance(losses, np.ndarray):
        raise NotRight("the losses aren't in a NumPy array", type(losses).__name__, "ndarray, on the CPU")
    if losses.shape != (50,):
        raise NotRight("there's one loss for each of the 50 steps", f"shape {losses.shape}", "shape (50,)")
    if not np.allclose(losses, wanted, rtol=1e-4, atol=1e-6):
        raise NotRight("these aren't the losses of this training", losses[:3], wanted[:3])
    waits = r.synchronizations
    if not r.launches:
        raise NotRight("it ran on the CPU", "0 launches", "the same training on the GPU")
    if waits >= 50:
        raise NotRight(
            "it still waits for each number, somewhere in the program: first make one array of them, on the GPU",
            f"{waits} waits",
            "1 wait",
        )
    if waits > 2:
        raise NotRight("fewer waits, but one is enough", f"{waits} waits", "1 wait, after the last step")
    return f"50 losses, {waits} wait{'' if waits == 1 else 's'}, {r.launches:,} launches"


def _losses(model: Any, x: Any, y: Any, steps: int) -> np.ndarray:
    opt_state, values = fl.setup(fl.Momentum(0.1), model), []
    for _ in range(steps):
        value, (grads,) = fl.withgradient(lambda m: fl.mse(m(x), y), model)
        fl.update(opt_state, model, grads)
        values.append(value)
    return fl.cpu(np.stack(values))
