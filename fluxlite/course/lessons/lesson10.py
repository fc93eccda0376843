"""Lesson 10, which backend: checks."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

import fluxlite as fl

from ...messages import put_aside
from ..exercises import NotDone, NotRight, exercise

SIMULATED = False  # this lesson is about what your computer really has, so start leaves the simulated GPU off


# -- 10.1 ---------------------------------------------------------------------------------------------------------

_COMPUTERS: dict[str, dict[str, Any]] = {
    "server": {"CUDA": "no driver", "AMDGPU": "functional"},
    "mac": {"Metal": "functional", "preference": "CUDA"},
    "workstation": {"CUDA": "functional", "AMDGPU": "functional", "preference": "CPU"},
}
_WHY_NOT = {
    ("server", "cuda"): "installed is not enough: without a driver CUDA is not functional",
    ("server", "cpu"): "a CUDA without a driver doesn't end the search; what comes after CUDA?",
    ("server", "metal"): "Metal is for Apple's GPUs, and nothing says that the server is a Mac",
    ("mac", "cuda"): "asking for CUDA doesn't make it appear: a Mac has none",
    ("mac", "cpu"): "a preference isn't exclusive: if you can't have it, you get the first that works",
    ("mac", "amdgpu"): "there's no AMD GPU in it",
    ("workstation", "cuda"): "two GPUs are there, but the preference asks for the CPU, which is always functional",
    ("workstation", "amdgpu"): "two GPUs are there, but the preference asks for the CPU, which is always functional",
}


@exercise("10.1", "three computers, predicted", look_at="fl.pretend(…) with the values of the table, and get_device()")
def three_computers(server: Any, mac: Any, workstation: Any, warnings: Any) -> str:
    given = {"server": server, "mac": mac, "workstation": workstation}
    wanted, lines = {}, []
    for name, computer in _COMPUTERS.items():
        with fl.pretend(**computer), put_aside() as said:
            wanted[name] = fl.get_device().backend
        lines += said.getvalue().splitlines()
    for name, answer in given.items():
        word = _backend_word(answer)
        if word == wanted[name].lower():
            continue
        if word not in [one.lower() for one in fl.supported_devices()]:
            raise NotRight(f"{name}: one of {', '.join(fl.supported_devices())}, in quotes", f"{name} = {answer!r}")
        raise NotRight(f"{name}: {_WHY_NOT.get((name, word), 'not this one')}", f"{name} = {answer!r}")
    expected = sum(line.startswith("┌ Warning") for line in lines)
    if warnings != expected:
        few = "one of the three doesn't have what the preference asks for, and says so"
        many = "a warning says that you can't have what you asked for. On how many of the three is that so?"
        raise NotRight(few if warnings == 0 else many, f"warnings = {warnings!r}")
    return f"AMDGPU, Metal, CPU; and one warning, on the Mac, which has no CUDA{_spelled(given, wanted)}"


def _spelled(given: dict[str, Any], wanted: dict[str, str]) -> str:
    """How to write what was right, but wouldn't be taken by `get_device`."""
    texts = [(name, answer) for name, answer in given.items() if isinstance(answer, str)]
    names = [f'"{wanted[name]}"' for name, answer in texts if answer != wanted[name]]
    return f". In a program it's written {', '.join(names)}" if names else ""


def _backend_word(answer: Any) -> str:
    """The backend that was meant: ``"CUDA"`` in any case, or a device."""
    return str(getattr(answer, "backend", answer)).strip().lower()


# -- 10.2 ---------------------------------------------------------------------------------------------------------

# Each with whether to use a GPU there.
_PLACES: tuple[tuple[str, dict[str, Any], bool], ...] = (
    ("on the laptop without a GPU", {}, False),
    ("on the workstation with CUDA", {"CUDA": "functional"}, True),
    ("on the workstation without a driver", {"CUDA": "no driver"}, False),
    ("on the Mac", {"Metal": "functional"}, True),
    ("on the server with an AMD GPU", {"AMDGPU": "functional"}, True),
    ("where the CPU is preferred although CUDA is there", {"CUDA": "functional", "preference": "CPU"}, False),
)


@exercise(
    "10.2", "one program for every computer", look_at="get_device() without a name: what does it give, and where?"
)
def predict_everywhere(predict: Any) -> str:
    if not callable(predict):
        raise NotRight("predict should be a function of a model and an array", f"{predict!r}")
    model = fl.Dense(3, 2, np.tanh, rng=np.random.default_rng(0))
    x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
    wanted = model(x)
    for place, computer, uses_gpu in _PLACES:
        result, launches, simulated = _run(predict, model, x, place, computer)
        if simulated:
            raise NotRight(f"{place} your function turned a simulated GPU on; here it shouldn't")
        if result is None:
            raise NotRight("predict returned None", None, "the model's output")
        if not isinstance(result, np.ndarray):
            raise NotRight(
                f"{place} the result isn't a NumPy array, and the caller goes on in NumPy",
                f"{type(result).__name__} on {fl.device_of(result)}",
                "what fl.cpu gives",
            )
        if result.shape != wanted.shape or not np.allclose(result, wanted, atol=1e-5):
            raise NotRight(
                f"{place} the values aren't those of model(x)", f"{result.ravel()[:3]} …", f"{wanted.ravel()[:3]} …"
            )
        if uses_gpu and not launches:
            raise NotRight(f"{place} there's a GPU, and your function didn't use it", "0 launches", "3 launches")
        if launches and not uses_gpu:
            raise NotRight(
                f"{place} your function used the GPU all the same",
                f"{launches} launches",
                "0 launches: the preference counts",
            )
    return f"it runs in all {len(_PLACES)} situations, and uses the GPU wherever it should"


def _run(predict: Any, model: Any, x: Any, place: str, computer: dict[str, Any]) -> tuple[Any, int, bool]:
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
        if "Unavailable backend" in text:
            message = f"{place} your function raised an error: a backend that you name is an order, not a wish"
        else:
            message = f"{place} your function raised an error"
        raise NotRight(message, text) from None
    finally:  # show the learner's own lines, not the library's
        for line in printed.getvalue().splitlines():
            if not line.startswith(("[ ", "┌ ", "│ ", "└ ")):
                print(line)


# -- 10.3 ---------------------------------------------------------------------------------------------------------

_CLUSTER = {"CUDA": "hidden", "environment": "CUDA"}
_ARGUMENTS = ("CUDA", "AMDGPU", "Metal", "preference", "environment")


@exercise("10.3", "from the lines to the computer", look_at="line by line: which argument of pretend is it about?")
def from_the_lines(cluster: Any) -> str:
    if not isinstance(cluster, dict):
        raise NotRight('cluster is a dict, such as {"CUDA": "functional", "preference": "CPU"}', f"{cluster!r}")
    unknown = [name for name in cluster if name not in _ARGUMENTS]
    if unknown:
        raise NotRight(f"pretend has no argument {unknown[0]!r}", f"{cluster!r}", f"some of {', '.join(_ARGUMENTS)}")
    try:
        yours = _said(cluster)
    except (TypeError, ValueError) as error:
        raise NotRight(f"pretend doesn't take that: {error}", f"{cluster!r}") from None
    wanted = _said(_CLUSTER)
    for number, line in enumerate(wanted):
        got = yours[number] if number < len(yours) else "(nothing)"
        if got != line:
            raise NotRight(_about(number, got), got, line)
    if len(yours) > len(wanted):
        raise NotRight("your computer says more than that", yours[len(wanted)], "(nothing)")
    return "exactly the same four lines: she asked for CUDA in the environment, and its GPUs are hidden"


def _said(computer: dict[str, Any]) -> list[str]:
    with fl.pretend(**computer), put_aside() as said:
        fl.get_device(verbose=True)
    return said.getvalue().splitlines()


def _about(number: int, got: str) -> str:
    if number == 0:
        if got.startswith("[ Info: Using backend:"):
            return "line 1 says that she asked for a backend; on your computer, no one did"
        if "preferences" in got:
            return "line 1 says where she asked, and that isn't the preference file"
        return "line 1 says what she asked for, and where"
    if number == 1:
        return "line 2 says why she can't use CUDA. With your arguments there's a different reason, or CUDA works"
    return f"line {number + 1} differs: which GPU is left to use?"
