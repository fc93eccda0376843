"""Lesson 16, coming from Flux: checks."""

import copy

import numpy as np

import fluxlite as fl
from fluxlite.messages import put_aside
from fluxlite.words import many

from ..kit.exercises import brief, exercise
from ..kit.vocabulary import (
    digits,
    expect,
    explaining,
    function,
    must_return,
    normal,
    number,
    on_cpu,
    refuse,
    same,
    wrong_if,
)  # fmt: skip
from ..kit.watching import look

SIMULATED = False  # this lesson is about what your computer really has, so start leaves the simulated GPU off

# Each with whether it should use a GPU there.
_PLACES: tuple[tuple[str, dict, bool], ...] = (
    ("on the laptop without a GPU", {}, False),
    ("on the workstation with CUDA", {"CUDA": "functional"}, True),
    ("on the workstation without a driver", {"CUDA": "no driver"}, False),
    ("on the Mac", {"Metal": "functional"}, True),
    ("on the server with an AMD GPU", {"AMDGPU": "functional"}, True),
    ("where the CPU is preferred although CUDA is there", {"CUDA": "functional", "preference": "CPU"}, False),
)


@exercise("16.1", "one program for every computer",
          look_at="get_device() without a name: what does it give, and where?")  # fmt: skip
def predict_everywhere(predict):
    function(predict, "predict")
    rng = np.random.default_rng(0)
    for place, computer, uses_gpu in _PLACES:
        model, x = fl.Dense(3, 2, np.tanh, rng=rng), rng.standard_normal((4, 3)).astype(np.float32)
        wanted = model(x)
        places: list[str] = []
        model.activation = _noting(places)
        result, launches = _run(predict, model, x.copy(), place, computer)
        must_return(result, "predict", "the model's output")
        words = f"{place} the result isn't a NumPy array, and the caller goes on in NumPy"
        wrong_if(not isinstance(result, np.ndarray), words, brief(result), f"what fl.cpu gives: {digits(wanted)}")
        yours = f"{brief(result)} on {fl.device_of(result)}: {digits(result)}, {many(launches, 'launch', 'launches')}"
        refuse({
            f"{place} the values aren't those of model(x)": not same(result, wanted),
            f"{place} there's a GPU, and your function didn't use it": uses_gpu and not launches,
            f"{place} there's a GPU, and the model was called with an x on the CPU": uses_gpu and "CPU" in places,
            f"{place} the values are right, but they don't come from the model: it was never called": not places,
            f"{place} your function used the GPU all the same": launches and not uses_gpu,
        }, yours, f"what fl.cpu gives: {digits(wanted)}, {3 * uses_gpu} launches")  # fmt: skip
    return f"it runs in all {len(_PLACES)} situations, and uses the GPU wherever it should"


def _noting(places):
    """tanh, which notes the backend that it's called on."""

    def tanh(x):
        places.append("CPU" if on_cpu(x) else "GPU")
        return np.tanh(x)

    return tanh


def _run(predict, model, x, place, computer):
    """What `predict` returns on that computer, and its number of launches."""
    failed = f"{place} your function raised an error"
    meanings = {"Unavailable backend": f"{failed}: a backend that you name is an order, not a wish", "": failed}
    try:
        with explaining(meanings), fl.pretend(**computer), put_aside() as printed, fl.receipt() as r:
            return predict(model, x), r.launches or 0
    finally:  # show the learner's own lines, not the library's
        for line in printed.getvalue().splitlines():
            if not line.startswith(("[ ", "┌ ", "│ ", "└ ")):
                print(line)


_MEANS = {
    "the observations are its rows": "x has a column for each observation, as in Julia; here it's a row: x.T",
    "tuple index out of range": "gradients come as a tuple, and Python counts from 0: grads[0]",
    "shape": "y has a column for each observation, as in Julia; here it's a row: y.T",
}


@exercise("16.2", "a step, translated", look_at="the table at the beginning")
def step(step):
    function(step, "step")
    for count in (5, 3):  # with as many observations as inputs, a forgotten .T raises no error
        where, _, learning = look()
        rng = np.random.default_rng(count)
        made = fl.Chain(fl.Dense(3, 4, np.tanh, rng=rng), fl.Dense(4, 2, rng=rng), where)
        x, y = normal(count, (count, 3), (count, 2))
        model, mine = fl.gpu(made), copy.deepcopy(made)
        opt_state, my_state = (fl.setup(fl.Momentum(0.1), each) for each in (model, mine))
        for number_of_step in (1, 2):
            what = f"with {count} observations, step {number_of_step}: "
            learning.clear()
            with explaining(_MEANS):
                got = step(model, opt_state, fl.gpu(x.T.copy()), fl.gpu(y.T.copy()))
            wrong_if("CPU" in learning, f"{what}gradients went through a model on the CPU: train the one on the GPU")
            _compare(what, got, fl.cpu(model), mine, my_state, x, y)
    return "two steps in a row, with 5 observations and with 3: the losses, and the weights"


def _compare(what, got, model, mine, my_state, x, y):
    """Take the step with `mine`, too. Raises `NotRight` unless the loss and the weights are the same."""
    before, forgetful = fl.destructure(mine)[0].copy(), copy.deepcopy(mine)
    turned = fl.mse(mine(x.T), y) if x.shape[0] == x.shape[1] else np.nan
    wanted, grads = fl.withgradient(lambda m: fl.mse(m(x), y), mine)
    fl.update(my_state, mine, grads[0])
    fl.update(fl.setup(fl.Momentum(0.1), forgetful), forgetful, grads[0])
    got = number(must_return(got, "step", "the loss, as the last line does"), "the loss")
    expect(got, float(wanted), f"{what}the loss is wrong", {
        f"{what}x has a column for each observation, as in Julia; here it's a row: x.T": float(turned),
        f"{what}that's the loss after the update; withgradient gives the one before": float(fl.mse(mine(x), y)),
    }, show=lambda value: f"{value:.4g}")  # fmt: skip
    expect(fl.destructure(model)[0], fl.destructure(mine)[0], f"{what}the weights are wrong", {
        f"{what}the loss is right, but the model hasn't learned: update changes it": before,
        f"{what}opt_state is forgotten: pass it on, it remembers the steps before": fl.destructure(forgetful)[0],
    }, yours="", expected="")  # fmt: skip
