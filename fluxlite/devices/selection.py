"""Which GPU is used: what `simulate_gpu`, the environment or the preference file say, then what's there (`choose`)."""

import functools
import os
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from ..annotations import DType, T
from ..arrays import refuse_tensor
from ..messages import notice, said, warn
from ..words import explained
from .base import CPU, DEFAULT, SETTINGS, Device, Functional, current
from .cupy.device import cupy_devices
from .cupy.usable import PARTS, cupy_part, usable
from .moving import moved

VARIABLE = "FLUXLITE_GPU_BACKEND"
FOLDER_VARIABLE = "FLUXLITE_PROJECT"
FILE = "LocalPreferences.toml"


@explained()
def gpu(x: T, dtype: DType | None = DEFAULT) -> T:
    """`x` with its arrays on the GPU. Without one, it returns `x` and says why, once (Flux: ``gpu``).

    float64 becomes float32; ``dtype=None`` keeps it. `x` itself stays where it is: write ``model = gpu(model)``.

    >>> with fl.simulate_gpu():
    ...     gpu({"W": np.ones((1, 2), np.float32), "name": "first"})
    [ Info: Simulated:0, a simulated NVIDIA T4, stands in for a GPU.
    {'W': array([[1., 1.]], dtype=float32)  # Simulated:0, 'name': 'first'}
    """
    device = gpu_device()
    if device is not None:
        return moved(device, x, dtype)
    refuse_tensor("gpu", x)
    if "no GPU" not in said:
        notice("no GPU", f"arrays stay on the CPU. {why_no_gpu()} doctor() says more.")
    return x


@explained()
def cpu(x: T, dtype: DType | None = DEFAULT) -> T:
    """`x` with its arrays on the CPU; an array that's there already is the same object, not a copy (Flux: ``cpu``)."""
    return moved(CPU, x, dtype)


def require_gpu() -> Device:
    """The device that `gpu` moves to. Raises `RuntimeError`, with the reason, instead of computing on the CPU."""
    device = gpu_device()
    if device is None:
        raise RuntimeError(f"there is no GPU to use. {why_no_gpu()}")
    return device


SETTINGS.require_gpu = require_gpu


def gpu_device() -> Device | None:
    """The GPU in use, or None: inside a ``with device:`` block that device, otherwise the first."""
    return current(devices())


def gpu_name() -> str:
    """The backend that `gpu` uses: ``"CUDA"``, ``"AMDGPU"``, ``"Metal"``, ``"Simulated"``, or else ``"CPU"``."""
    choice = choose()
    if choice.warning:
        warn(("choice", choice.warning), choice.warning)  # once: `gpu` is called all the time
    return choice.backend


def devices() -> list[Device]:
    """All GPUs of the kind that `gpu` uses. ``devices()[1](x)`` moves to the second one (CUDA.jl: ``devices``)."""
    simulated = SETTINGS.simulation()
    if simulated is not None:
        return list(simulated)
    backend = gpu_name()
    if backend == "CPU":
        return []
    return backends()[backend].devices()


def supported_devices() -> tuple[str, ...]:
    """The kinds of devices that can be chosen automatically, present or not, in order (Flux: ``supported_devices``)."""
    return tuple(name for name in backends() if name != "Simulated")


def why_no_gpu() -> str:
    """Why `gpu` moves nothing, and what to do about it."""
    wanted, source = wish()
    if wanted == "CPU":
        return f"The backend set in {source} is CPU; gpu_backend(None) deletes a preference."
    if wanted == "Simulated":
        names = ["Simulated"]
    elif sys.platform == "darwin":
        names = ["Metal"]
    else:
        names = ["CUDA", "AMDGPU"]
    answers = [backends()[name].functional() for name in names]
    answer = next((answer for answer in answers if answer.installed), answers[0])
    return f"{answer.reason}.{simulated_instead()}"


def simulated_instead() -> str:
    if wish()[0] == "Simulated":
        return ""
    return " simulate_gpu() puts a simulated one in its place."


class Backend(NamedTuple):
    """One kind of device: whether it can be used, which there are, its libraries, and whether one of them is there."""

    functional: Callable[[], Functional]
    devices: Callable[[], list[Device]]
    parts: tuple[str, ...] = ()
    part: Callable[[str], Functional] = cupy_part


def _metal_module() -> Any:
    from . import metal  # not needed before we ask

    return metal


def _simulated() -> list[Device]:
    found = SETTINGS.simulation()
    if found is None and wish()[0] == "Simulated":
        from .simulated import standing_in

        found = standing_in()
    return list(found or ())


_HIDDEN = "CUDA_VISIBLE_DEVICES hides the simulated GPUs too"


def _simulated_functional() -> Functional:
    if _simulated():
        return Functional()
    if SETTINGS.simulated is None:
        return Functional("the simulated GPU is off: simulate_gpu()")
    return Functional(_HIDDEN)


# In the order in which we try them, but for the last. A kind counts if its library is installed and finds a GPU.
BACKENDS = {
    "CUDA": Backend(lambda: usable("CUDA"), lambda: cupy_devices("CUDA"), tuple(PARTS["CUDA"])),
    "AMDGPU": Backend(lambda: usable("AMDGPU"), lambda: cupy_devices("AMDGPU"), tuple(PARTS["AMDGPU"])),
    "Metal": Backend(lambda: _metal_module().metal_functional(), lambda: _metal_module().metal_devices()),
    "CPU": Backend(Functional, lambda: [CPU]),
    "Simulated": Backend(_simulated_functional, _simulated),
}


def backends() -> dict[str, Backend]:
    """`BACKENDS`, or what `pretend` says instead."""
    if SETTINGS.pretended:
        return SETTINGS.pretended.backends
    return BACKENDS


class Choice(NamedTuple):
    """A backend and why it's used; what was asked for, and what's wrong with that."""

    backend: str
    why: str
    asked: str = ""
    warning: str = ""


def choose() -> Choice:
    """The backend to use: `simulate_gpu` comes first, then a preference, then the first backend that works."""
    wanted, source = wish()
    if SETTINGS.simulation() is not None:  # even if all of them are hidden: then it's the CPU, and no real GPU
        if _simulated():
            return Choice("Simulated", f"{source} was called")
        return Choice("CPU", _HIDDEN)
    asked = ""
    warning = ""
    if wanted in backends():
        answer = backends()[wanted].functional()
        asked = f"Using backend set in {source}: {wanted}."
        if answer:
            return Choice(wanted, f"set in {source}", asked)
        warning = f"Backend: {wanted}, set in {source}, isn't functional: {answer.reason}.\nChoosing automatically."
        if not answer.installed:
            missing = f"Install what is missing to have the wish in {source} respected. Choosing automatically."
            warning = f"Trying to use backend: {wanted}, but {answer.reason}.\n{missing}"
    elif wanted:
        allowed = f"which isn't allowed: {', '.join(backends())} are. Choosing automatically."
        warning = f"The backend in {source} is set to {wanted}, {allowed}"
    backend = next(name for name in supported_devices() if backends()[name].functional())
    why = "it is the first that is functional"
    if backend == "CPU":
        why = "no GPU is functional"
    return Choice(backend, why, asked, warning)


def wish() -> tuple[str, str]:
    """The backend that was asked for, as it's written, and where. We look at the environment and the file each time."""
    if SETTINGS.simulation() is not None:
        return "Simulated", "simulate_gpu()"
    environment = os.environ.get(VARIABLE)
    if SETTINGS.pretended:
        environment = SETTINGS.pretended.environment
    if environment:
        return environment, VARIABLE
    return stored_backend() or "", "preferences"


def stored_backend() -> str | None:
    """The backend in the preference file, ``gpu_backend = …`` in its table ``[fluxlite]``; None if it isn't there."""
    if SETTINGS.pretended:
        return SETTINGS.pretended.stored
    import tomllib

    try:
        with open(preference_file(), "rb") as file:
            value = tomllib.load(file).get("fluxlite", {}).get("gpu_backend")
        if value is None:
            return None
        return str(value)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        warn(("preferences", str(error)), f"{FILE} can't be read, so there is no preference: {error}")
        return None


def preference_file() -> str:
    """In the folder FLUXLITE_PROJECT, or the nearest one above with a ``pyproject.toml``, or the working directory."""
    working = os.getcwd()
    return os.path.join(working, os.environ.get(FOLDER_VARIABLE) or _project(working), FILE)


@functools.cache  # every move to a GPU asks
def _project(working: str) -> str:
    from pathlib import Path

    folders = (Path(working), *Path(working).parents)
    return str(next((folder for folder in folders if (folder / "pyproject.toml").is_file()), working))
