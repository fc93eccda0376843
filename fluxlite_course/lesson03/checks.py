"""Lesson 03, gradients and training: checks."""

import numpy as np

import fluxlite as fl
from fluxlite import TrackedArray
from fluxlite.messages import many

from ..kit.exercises import exercise
from ..kit.vocabulary import called, expect, explained, normal, on_gpu, quiet, refuse, returned, same, wrong_if


@exercise("03.1", "one step of gradient descent", look_at="section 1: w - 0.05 * g")
def step(step):
    w, x, y = normal(5, (3, 1), (8, 3), (8, 1))
    given, rate = w.copy(), 0.15  # a rate that no learner writes down for the argument
    pair = "gradient gives a tuple, one for each argument: unpack it"
    nothing = "a gradient is None: the function that you differentiate doesn't use its own argument"
    with explained({"multiply sequence": pair, "'tuple'": pair, "NoneType": nothing}, "lambda w: mse(x @ w, y)"):
        new = step(w, x, y, rate)
    changed = not np.array_equal(w, given)
    wrong_if(changed, "your step changed the w that it was given. It should return a new one", "w -= …", "w - …")
    wrong_if(isinstance(new, tuple), "a tuple came back", "(…,)", "the new w, an array like w")
    wrong_if(on_gpu(new), "w is on the CPU, and the new w isn't: nothing has to move here", fl.device_of(new), "CPU")
    g = fl.gradient(lambda w: fl.mse(x @ w, y), w)[0]
    of_the_sum = fl.gradient(lambda w: np.sum((x @ w - y) ** 2), w)[0]
    expect(new, w - rate * g, "not the new w", {
        "uphill: that is a step along the gradient, and the loss grows": w + rate * g,
        "you subtracted the whole gradient; the rate says how much of it to take": w - g,
        "this is the gradient, not the new w": g,
        "this is the step; the new w is w minus the step": rate * g,
        "w came back unchanged": w,
        **{f"the rate is an argument; yours is always {fixed}": w - fixed * g for fixed in (0.01, 0.05, 0.1)},
        "this is the step for the sum of the squares, but mse is their mean": w - rate * of_the_sum,
    }, name="step", gives="the new w", shape="not the new w", show=lambda w: w.ravel().round(3), atol=1e-6)  # fmt: skip
    new, r = called(step, *fl.gpu((w, x, y)), rate)
    quiet(r, "on the GPU your step brings something back to the CPU", new)
    return f"the new w, the old one untouched, and on the GPU nothing comes back ({r.launches} launches)"


_SAID = {  # what an error says -> what it means here
    "the input is on": "model and data are in two places: gpu(model) gives a new model, and you have to keep it",
    "in place of the model": "update takes the optimizer's memory first, then the model, then the gradient",
    "in place of the state": "update takes the optimizer's memory first, then the model, then the gradient",
    "take grads[0]": "gradient gives a tuple, one for each argument: unpack it",
    "move the model first": "setup came before gpu: what Adam remembers is still on the CPU",
}


@exercise("03.2", "a loop that learns", look_at="section 3, and the explicit loop in section 4")
def fit(fit):
    model, x, y = _product()
    before = float(fl.mse(model(x), y))
    with fl.receipt() as r, explained(_SAID):
        trained = fit(model, x, y)
    _model(trained, "fit")
    after = float(fl.cpu(fl.mse(fl.cpu(trained)(x), y)))
    forgets = after != before and same(after, _losses(*_product(), fl.Adam(0.02), 101, forgets=True)[-1], 0.01, 0)
    nothing = "learns nothing: does the function that you differentiate use its own argument m?"
    refuse({
        "it ran on the CPU, from the first step to the last": not r.launches,
        "setup is inside the loop, so Adam forgets everything at each step: call setup once, before the loop":
            after > 0.01 and forgets,
        f"it runs on the GPU, and {nothing} And do you return the model that you trained?": after > 0.95 * before,
        "it learns, but less than 100 steps of Adam(0.02) would": after > 0.01,
    }, f"loss {before:.4f} before, {after:.4f} after, {r.launches} launches", "less than 0.01")  # fmt: skip
    return f"loss {before:.3f} -> {after:.4f} on the GPU, {r.launches:,} launches"


def _product() -> tuple[fl.Chain, np.ndarray, np.ndarray]:
    """A small network, and its task: to multiply."""
    rng = np.random.default_rng(7)
    x = rng.uniform(-1, 1, (64, 2)).astype(np.float32)
    return fl.Chain(fl.Dense(2, 16, np.tanh, rng=rng), fl.Dense(16, 1, rng=rng)), x, x[:, :1] * x[:, 1:]


def _model(trained, name):
    returned(trained, name, "the trained model")
    wrong_if(not callable(trained), "what came back isn't a model", type(trained).__name__, "the trained model")


@exercise("03.3", "a loss of your own",
          "section 6: train; and a loss is one number, smallest when every answer is right")  # fmt: skip
def learn_xor(learn_xor):
    rng = np.random.default_rng(6)
    steps: set[int] = set()  # the gradient calls in which the model was used

    def seen(x):
        steps.update([x.level.number] if isinstance(x, TrackedArray) else [])
        return x

    model = fl.Chain(fl.Dense(2, 8, np.tanh, rng=rng), fl.Dense(8, 1, seen, rng=rng))
    x = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]], np.float32)
    y = np.array([[0], [1], [1], [0]], np.float32)
    trained, r = called(learn_xor, model, x, y)
    _model(trained, "learn_xor")
    wrong_if(not r.launches, "it was trained on the CPU", "0 launches", "the model and the four points on the GPU")
    wrong_if(len(steps) > 200, "it takes too many steps", f"{len(steps):,} steps", "at most 200 steps")
    guesses = fl.cpu(trained)(x)
    worst = float(np.max(np.abs(guesses - y)))
    what = "always the same answer, whatever goes in" if np.ptp(guesses) < 0.1 else "it isn't there yet"
    wrong_if(not worst <= 0.1, f"{what}: {worst:.2f} off at one point", guesses.ravel().round(2), y.ravel())
    return f"at most {worst:.2f} off at each of the four points, trained on the GPU with {r.launches:,} launches"


@exercise("03.4", "a loop that waits once", look_at="with fl.receipt() as r: …, then r.synchronizations")
def fit_quietly(fit_quietly):
    model, x, y = fl.gpu(_product())
    wanted = _losses(fl.gpu(model), x, y, fl.Momentum(0.1), 50)
    losses, r = called(fit_quietly, fl.gpu(_product()[0]), x, y, 50)
    returned(losses, "fit_quietly", "an array of 50 losses")
    kind = type(losses).__name__
    wrong_if(not isinstance(losses, np.ndarray), "the losses aren't in a NumPy array", kind, "ndarray, on the CPU")
    expect(losses, wanted, "these aren't the losses of this training", show=lambda x: x[:3], rtol=1e-4, atol=1e-6,
           shape="there's one loss for each of the 50 steps")  # fmt: skip
    waits = many(r.synchronizations, "wait")
    refuse({
        "it ran on the CPU": not r.launches,
        "it still waits for each number, somewhere in the program: first make one array of them, on the GPU":
            r.synchronizations >= 50,
        "fewer waits, but one is enough": r.synchronizations > 2,
    }, f"{waits}, {r.launches} launches", "1 wait, after the last step")  # fmt: skip
    return f"50 losses, {waits}, {r.launches:,} launches"


def _losses(model, x, y, rule, steps, forgets=False):
    """The loss before each step of a training, in which the rule's memory may be set up again at each step."""
    opt_state, values = fl.setup(rule, model), []
    for _ in range(steps):
        value, (grads,) = fl.withgradient(lambda m: fl.mse(m(x), y), model)
        fl.update(fl.setup(rule, model) if forgets else opt_state, model, grads)
        values.append(value)
    return fl.cpu(np.stack(values))
