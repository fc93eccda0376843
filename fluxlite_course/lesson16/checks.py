"""Lesson 16, which backend: checks."""

import io
from itertools import zip_longest

import numpy as np

import fluxlite as fl
from fluxlite.messages import put_aside

from ..kit.exercises import NotDone, NotRight, exercise
from ..kit.vocabulary import described, digits, refuse, returned, same, wrong_if

SIMULATED = False  # this lesson is about what your computer really has, so start leaves the simulated GPU off

# Each with what's wrong with other answers.
_COMPUTERS: dict[str, tuple[dict, str]] = {
    "server": ({"CUDA": "no driver", "AMDGPU": "functional"}, "installed is not enough: without a driver CUDA is not "
               "functional. But that doesn't end the search; what comes after CUDA?"),
    "mac": ({"Metal": "functional", "preference": "CUDA"}, "asking for CUDA doesn't make it appear. But a preference "
            "isn't exclusive: if you can't have it, you get the first that works"),
    "workstation": ({"CUDA": "functional", "AMDGPU": "functional", "preference": "CPU"},
                    "two GPUs are there, but the preference asks for the CPU, which is always functional"),
}  # fmt: skip


@exercise("16.1", "three computers, predicted", look_at="fl.pretend(…) with the values of the table, and get_device()")
def three_computers(server, mac, workstation, warnings):
    given = {"server": server, "mac": mac, "workstation": workstation}
    backends, wanted, lines = fl.supported_devices(), {}, []
    for name, (computer, why) in _COMPUTERS.items():
        with fl.pretend(**computer), put_aside() as said:
            wanted[name] = fl.get_device().backend
        lines += said.getvalue().splitlines()
        word = str(getattr(given[name], "backend", given[name])).strip().lower()  # CUDA in any case, or a device
        refuse({
            f"{name}: one of {', '.join(backends)}, in quotes": word not in map(str.lower, backends),
            f"{name}: {why}": word != wanted[name].lower(),
        }, f"{name} = {given[name]!r}")  # fmt: skip
    expected = sum(line.startswith("┌ Warning") for line in lines)
    few = "one of the three doesn't have what the preference asks for, and says so"
    many = "a warning says that you can't have what you asked for. On how many of the three is that so?"
    wrong_if(warnings != expected, few if warnings == 0 else many, f"warnings = {warnings!r}")
    spelled = [f'"{wanted[name]}"' for name, x in given.items() if isinstance(x, str) and x != wanted[name]]
    written = f". In a program it's written {', '.join(spelled)}" if spelled else ""
    return f"AMDGPU, Metal, CPU; and one warning, on the Mac, which has no CUDA{written}"


# Each with whether to use a GPU there.
_PLACES: tuple[tuple[str, dict, bool], ...] = (
    ("on the laptop without a GPU", {}, False),
    ("on the workstation with CUDA", {"CUDA": "functional"}, True),
    ("on the workstation without a driver", {"CUDA": "no driver"}, False),
    ("on the Mac", {"Metal": "functional"}, True),
    ("on the server with an AMD GPU", {"AMDGPU": "functional"}, True),
    ("where the CPU is preferred although CUDA is there", {"CUDA": "functional", "preference": "CPU"}, False),
)


@exercise("16.2", "one program for every computer",
          look_at="get_device() without a name: what does it give, and where?")  # fmt: skip
def predict_everywhere(predict):
    wrong_if(not callable(predict), "predict should be a function of a model and an array", f"{predict!r}")
    model = fl.Dense(3, 2, np.tanh, rng=np.random.default_rng(0))
    x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
    wanted = model(x)
    for place, computer, uses_gpu in _PLACES:
        result, launches, simulated = _run(predict, model, x, place, computer)
        wrong_if(simulated, f"{place} your function turned a simulated GPU on; here it shouldn't")
        returned(result, "predict", "the model's output")
        yours = f"{described(result)} on {fl.device_of(result)}: {digits(result)}, {launches} launches"
        refuse({
            f"{place} the result isn't a NumPy array, and the caller goes on in NumPy":
                not isinstance(result, np.ndarray),
            f"{place} the values aren't those of model(x)": not same(result, wanted),
            f"{place} there's a GPU, and your function didn't use it": uses_gpu and not launches,
            f"{place} your function used the GPU all the same": launches and not uses_gpu,
        }, yours, f"what fl.cpu gives: {digits(wanted)}, {3 * uses_gpu} launches")  # fmt: skip
    return f"it runs in all {len(_PLACES)} situations, and uses the GPU wherever it should"


def _run(predict, model, x, place, computer):
    """What `predict` returns on that computer, its number of launches, and whether these were simulated."""
    printed = io.StringIO()
    try:
        with fl.pretend(**computer), put_aside() as printed, fl.receipt() as r:
            result = predict(model, x)
            return result, r.launches or 0, fl.gpu_name() == "Simulated"
    except NotDone:
        raise
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        order = ": a backend that you name is an order, not a wish" if "Unavailable backend" in text else ""
        raise NotRight(f"{place} your function raised an error{order}", text) from None
    finally:  # show the learner's own lines, not the library's
        for line in printed.getvalue().splitlines():
            if not line.startswith(("[ ", "┌ ", "│ ", "└ ")):
                print(line)


_CLUSTER = {"CUDA": "hidden", "environment": "CUDA"}
_ARGUMENTS = ("CUDA", "AMDGPU", "Metal", "preference", "environment")


@exercise("16.3", "from the lines to the computer", look_at="line by line: which argument of pretend is it about?")
def from_the_lines(cluster):
    words = 'cluster is a dict, such as {"CUDA": "functional", "preference": "CPU"}'
    wrong_if(not isinstance(cluster, dict), words, f"{cluster!r}")
    others = ", ".join(repr(name) for name in cluster if name not in _ARGUMENTS)
    wrong_if(others, f"pretend has no argument {others}", f"{cluster!r}", f"some of {', '.join(_ARGUMENTS)}")
    try:
        yours = _said(cluster)
    except (TypeError, ValueError) as error:
        raise NotRight(f"pretend doesn't take that: {error}", f"{cluster!r}") from None
    for number, (line, got) in enumerate(zip_longest(_said(_CLUSTER), yours, fillvalue="(nothing)")):
        refuse({} if got == line else {
            "line 1 says that she asked for a backend; on your computer, no one did":
                number == 0 and got.startswith("[ Info: Using backend:"),
            "line 1 says where she asked, and that isn't the preference file": number == 0 and "preferences" in got,
            "line 1 says what she asked for, and where": number == 0,
            "line 2 says why she can't use CUDA. With your arguments there's a different reason, or CUDA works":
                number == 1,
            f"line {number + 1} differs: which GPU is left to use?": True,
        }, got, line)  # fmt: skip
    return "exactly the same four lines: she asked for CUDA in the environment, and its GPUs are hidden"


def _said(computer):
    with fl.pretend(**computer), put_aside() as said:
        fl.get_device(verbose=True)
    return said.getvalue().splitlines()
