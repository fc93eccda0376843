"""Lesson 16, coming from Flux: checks."""

import numpy as np

import fluxlite as fl
from fluxlite.messages import put_aside

from ..kit.exercises import brief, exercise
from ..kit.vocabulary import digits, explaining, function, must_return, on_cpu, refuse, same, wrong_if

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
        yours = f"{brief(result)} on {fl.device_of(result)}: {digits(result)}, {launches} launches"
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
