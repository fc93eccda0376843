"""Moving to a GPU: ``gpu(x)`` uses the one that's there, ``get_device("CUDA", 1)`` finds one by name."""

import math
import sys
from typing import Any

from ..arguments import check_whole, explained
from ..messages import formatted, notice, say, warn, was_said
from ..tensors import refuse_tensor
from . import preferences, simulation
from .base import CHOICE, CPU, DEFAULT, Device, current
from .choosing import backends, choose, find_backend
from .choosing import functional as functional
from .choosing import gpu_backend as gpu_backend
from .choosing import supported_devices as supported_devices
from .simulation import simulate_gpu as simulate_gpu


@explained()
def gpu(x: Any, dtype: Any = DEFAULT) -> Any:
    """`x` with its arrays on the GPU. Without one, it returns `x` and says why, once (Flux: ``gpu``).

    Takes arrays, containers and registered models. Float64 becomes Float32; ``dtype=None`` keeps it. `x` itself
    stays where it is, so write ``model = gpu(model)``. A bare ``gpu(model)`` makes copies and drops them, which a
    receipt shows. Raises `TypeError` for what can't move. A program that mustn't run on the CPU by mistake says
    `require_gpu` first.

    >>> with simulate_gpu():
    ...     gpu({"W": np.ones((1, 2), np.float32), "name": "first"})
    [ Info: Simulated:0, a simulated NVIDIA T4, stands in for a GPU.
    {'W': array([[1., 1.]], dtype=float32)  # Simulated:0, 'name': 'first'}
    """
    device = gpu_device()
    if device is not None:
        return device(x, dtype)
    if not was_said("no GPU"):
        notice("no GPU", f"arrays stay on the CPU. {why_no_gpu()} doctor() says more.")
    refuse_tensor("gpu", x)
    return x


@explained()
def cpu(x: Any, dtype: Any = DEFAULT) -> Any:
    """`x` with its arrays on the CPU; an array that's there already is the same object (Flux: ``cpu``).

    It can't restore the precision that `gpu` reduced. On the CPU it's no copy: the best model so far is kept by
    ``copy.deepcopy(model)``.
    """
    return CPU(x, dtype)


@explained()
def cu(x: Any, dtype: Any = DEFAULT) -> Any:
    """`x` with its arrays on the NVIDIA GPU, or the simulated one (CUDA.jl: ``cu``). Without either, `RuntimeError`."""
    return cuda_device()(x, dtype)


def require_gpu() -> Device:
    """The device that `gpu` moves to. Raises `RuntimeError`, with the reason, if there's none.

    >>> with fl.pretend(CUDA="no driver"):
    ...     require_gpu()
    Traceback (most recent call last):
    RuntimeError: there is no GPU to use. CuPy is installed, but there is no NVIDIA driver that it can use. ...
    """
    device = gpu_device()
    if device is None:
        raise RuntimeError(f"there is no GPU to use. {why_no_gpu()}")
    return device


CHOICE.require_gpu = require_gpu


def gpu_device() -> Device | None:
    """The GPU in use, or None: inside a ``with device:`` block that device, otherwise the first.

    >>> with simulate_gpu(2, like="GTX 1650"):
    ...     with devices()[1]:
    ...         gpu_device()
    [ Info: Simulated:0 to Simulated:1, simulated GTX 1650, stand in for GPUs.
    Simulated:1
    """
    return current(devices())


def gpu_name() -> str:
    """The backend that `gpu` uses: ``"CUDA"``, ``"AMDGPU"``, ``"Metal"``, ``"Simulated"``, or ``"CPU"`` without a GPU.

    `fluxlite.GPU_BACKEND` is the preferred one, whether or not it can be used.
    """
    choice = choose()
    for level, text in choice.lines:
        if level == "Warning":  # once: `gpu` is called all the time
            warn(("choice", text), text)
    return choice.backend


def devices() -> list[Device]:
    """All GPUs of the kind that `gpu` uses. ``devices()[1](x)`` moves to the second one (CUDA.jl: ``devices``)."""
    if simulation.is_on():
        return simulation.devices()
    backend = gpu_name()
    return [] if backend == "CPU" else backends()[backend].devices()


def get_device(backend: str | None = None, idx: int = 0, *, verbose: bool = False) -> Device:
    """The device to use, or the one with this backend and number, counted from 0 (Flux: ``get_device``).

    Without `backend`, it's the preferred one, set by `gpu_backend`, if it can be used. Otherwise it's the first usable
    one of CUDA, AMDGPU, Metal, and finally the CPU. ``verbose=True`` says how it was chosen; you always hear if the
    preferred one is missing. `simulate_gpu` overrides any preference.

    Raises `ValueError` for an unknown backend, `RuntimeError` for one that can't be used here, and `IndexError` for
    a device that doesn't exist. There's only one CPU, so its `idx` doesn't matter.

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
        return _numbered(backend, idx)
    choice = choose()
    for level, text in choice.lines:
        if verbose or level == "Warning":
            say(formatted(level, text))
    return current(backends()[choice.backend].devices()) or CPU


def _numbered(name: str, idx: int) -> Device:
    backend = find_backend(name)
    found = backend.devices()
    if name == "CPU":
        return CPU
    if not found:
        reason = _end(backend.functional().reason)
        raise RuntimeError(f"Unavailable backend: {name}. {reason}{_simulated_instead()}")
    if not 0 <= idx < len(found):
        there = "there is 1, number 0" if len(found) == 1 else f"there are {len(found)}, numbers 0 to {len(found) - 1}"
        raise IndexError(f"there is no {name} device {idx}: {there}")
    return found[idx]


def cuda_device() -> Device:
    """The NVIDIA GPU in use, or the simulated one. Raises `RuntimeError`, with the reason, if there's none."""
    device = current(cuda_or_simulated())
    if device is None:
        raise RuntimeError(f"there is no NVIDIA GPU to use. {_end(why_no_cuda())}{_simulated_instead()}")
    return device


def cuda_or_simulated() -> list[Device]:
    """The devices for `cu` and `fluxlite.cuda`: the simulated GPUs if they're on, otherwise the NVIDIA GPUs."""
    return backends()[_cuda_or_simulated()].devices()


def why_no_cuda() -> str:
    """Why `cuda_or_simulated` is empty."""
    return functional(_cuda_or_simulated()).reason


def _cuda_or_simulated() -> str:
    return "Simulated" if simulation.is_on() or simulation.is_preferred() else "CUDA"


def why_no_gpu() -> str:
    """Why `gpu` moves nothing, and what to do about it."""
    wish = preferences.wish()
    if simulation.is_on():
        return _end(functional("Simulated").reason)
    if wish is not None and wish.backend == "CPU":
        return f"The backend set in {wish.source} is CPU; gpu_backend(None) deletes a preference."
    reasons = [functional(name) for name in (("Metal",) if sys.platform == "darwin" else ("CUDA", "AMDGPU"))]
    installed = [answer for answer in reasons if answer.installed]
    return f"{_end((installed or reasons)[0].reason)}{_simulated_instead()}"


def _end(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."


def _simulated_instead() -> str:
    if not simulation.is_on():
        return " simulate_gpu() puts a simulated one in its place."
    several = len(simulation.devices()) > 1
    return " The simulated ones: cuda.devices()." if several else " The simulated one: get_device()."
