"""Moving to a GPU: ``gpu(x)`` uses the one that's there, ``get_device("CUDA", 1)`` finds one by name."""

import math
import sys
from typing import Any

from ..arguments import check_whole, explained
from ..messages import formatted, notice, say, warn, was_said
from ..tensors import refuse_tensor
from . import preferences, simulation
from .base import CHOICE, CPU, DEFAULT, Device, DeviceList, current
from .choosing import backends, choose, find_backend
from .choosing import functional as functional
from .choosing import gpu_backend as gpu_backend
from .choosing import supported_devices as supported_devices
from .moving import moved
from .simulation import simulate_gpu as simulate_gpu


@explained()
def gpu(x: Any, dtype: Any = DEFAULT) -> Any:
    """`x` with its arrays on the GPU. Without one, it returns `x` and says why, once (Flux: ``gpu``).

    Takes arrays, containers and registered models. Float64 becomes Float32; ``dtype=None`` keeps it. `x` itself
    stays where it is, so write ``model = gpu(model)``. Raises `TypeError` for what can't move.

    >>> with simulate_gpu():
    ...     gpu({"W": np.ones((1, 2), np.float32), "name": "first"})
    [ Info: Simulated:0, a simulated NVIDIA T4, stands in for a GPU.
    {'W': array([[1., 1.]], dtype=float32)  # Simulated:0, 'name': 'first'}
    """
    device = gpu_device()
    if device is not None:
        return moved(device, x, dtype)
    if not was_said("no GPU"):
        notice("no GPU", f"arrays stay on the CPU. {why_no_gpu()} doctor() says more.")
    refuse_tensor("gpu", x)
    return x


@explained()
def cpu(x: Any, dtype: Any = DEFAULT) -> Any:
    """`x` with its arrays on the CPU; an array that's there already is the same object, no copy (Flux: ``cpu``)."""
    return moved(CPU, x, dtype)


@explained()
def cu(x: Any, dtype: Any = DEFAULT) -> Any:
    """`x` with its arrays on the NVIDIA GPU, or the simulated one (CUDA.jl: ``cu``). Without either, `RuntimeError`."""
    return moved(cuda_device(), x, dtype)


def require_gpu() -> Device:
    """The device that `gpu` moves to. Raises `RuntimeError`, with the reason, instead of computing on the CPU."""
    device = gpu_device()
    if device is None:
        raise RuntimeError(f"there is no GPU to use. {why_no_gpu()}")
    return device


CHOICE.require_gpu = require_gpu


def gpu_device() -> Device | None:
    """The GPU in use, or None: inside a ``with device:`` block that device, otherwise the first."""
    return current(devices())


def gpu_name() -> str:
    """The backend that `gpu` uses: ``"CUDA"``, ``"AMDGPU"``, ``"Metal"``, ``"Simulated"``, or else ``"CPU"``."""
    choice = choose()
    for level, text in choice.lines:
        if level == "Warning":  # once: `gpu` is called all the time
            warn(("choice", text), text)
    return choice.backend


def devices() -> list[Device]:
    """All GPUs of the kind that `gpu` uses. ``devices()[1](x)`` moves to the second one (CUDA.jl: ``devices``)."""
    simulated = CHOICE.simulation()
    if simulated is not None:
        return list(simulated)
    backend = gpu_name()
    return [] if backend == "CPU" else backends()[backend].devices()


def get_device(backend: str | None = None, idx: int = 0, *, verbose: bool = False) -> Device:
    """The device to use, or the one with this backend and number, counted from 0 (Flux: ``get_device``).

    Without `backend`, it's what `simulate_gpu` or else `gpu_backend` asked for, if it can be used, otherwise the first
    usable one of CUDA, AMDGPU, Metal and the CPU; ``verbose=True`` says why. Raises `ValueError` for an unknown
    backend, `RuntimeError` for one that can't be used here, and `IndexError` for a device that doesn't exist.

    >>> with fl.pretend(CUDA="functional", preference="AMDGPU"):
    ...     get_device(verbose=True)
    [ Info: Using backend set in preferences: AMDGPU.
    ┌ Warning: Trying to use backend: AMDGPU, but CuPy is not installed: pip install cupy-rocm-7-0, if this computer ...
    └ Install what is missing to have the wish in preferences respected. Choosing automatically.
    [ Info: Using backend: CUDA.
    CUDA:0 (pretended)
    """
    if backend is not None:
        check_whole("get_device(backend, idx): idx", idx, -math.inf)
        found = devices_of(backend)
        if not found:
            raise RuntimeError(f"Unavailable backend: {backend}. {found.reason}.{_simulated_instead()}")
        if backend == "CPU":
            return CPU
        if not 0 <= idx < len(found):
            there = f"are {len(found)}, numbers 0 to {len(found) - 1}" if len(found) > 1 else "is 1, number 0"
            raise IndexError(f"there is no {backend} device {idx}: there {there}")
        return found[idx]
    choice = choose()
    for level, text in choice.lines:
        if verbose or level == "Warning":
            say(formatted(level, text))
    return current(backends()[choice.backend].devices()) or CPU


def devices_of(backend: str) -> DeviceList:
    """All devices of this kind; if there are none, it says why."""
    found = find_backend(backend)
    return DeviceList(found.devices(), found.functional().reason)


def cuda_devices() -> DeviceList:
    """The devices for `cu` and `fluxlite.cuda`: the simulated GPUs if they're asked for, otherwise the NVIDIA GPUs."""
    return devices_of("Simulated" if simulation.is_meant() else "CUDA")


def cuda_device() -> Device:
    """The current one of `cuda_devices`. Raises `RuntimeError`, with the reason, if there's none."""
    found = cuda_devices()
    if not found:
        raise RuntimeError(f"there is no NVIDIA GPU to use. {found.reason}.{_simulated_instead()}")
    return current(found) or CPU


def why_no_gpu() -> str:
    """Why `gpu` moves nothing, and what to do about it."""
    wish = preferences.wish()
    if wish is not None and wish.backend == "CPU":
        return f"The backend set in {wish.source} is CPU; gpu_backend(None) deletes a preference."
    names = ("Simulated",) if simulation.is_meant() else ("Metal",) if sys.platform == "darwin" else ("CUDA", "AMDGPU")
    answers = [functional(name) for name in names]
    installed = [answer for answer in answers if answer.installed]
    return f"{(installed or answers)[0].reason}.{_simulated_instead()}"


def _simulated_instead() -> str:
    return "" if simulation.is_meant() else " simulate_gpu() puts a simulated one in its place."
