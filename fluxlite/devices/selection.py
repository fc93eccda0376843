"""Moving to a GPU: ``gpu(x)`` uses the one that's there, ``get_device("CUDA", 1)`` finds one by name."""

from __future__ import annotations

import math
import operator
import sys
from typing import Any

from ..arguments import check_whole
from ..messages import notice, warn, was_said
from ..tensors import refuse_tensor
from . import preferences, simulation
from .backends import BACKENDS, check_backend
from .backends import functional as functional
from .backends import supported_devices as supported_devices
from .base import DEFAULT, Device, current, gpu_in_use
from .choosing import Choice, choose
from .choosing import gpu_backend as gpu_backend
from .host import CPU
from .simulation import simulate_gpu as simulate_gpu
from .without import without_gpu as without_gpu


def gpu(x: Any, dtype: Any = DEFAULT) -> Any:
    """`x` with its arrays on the GPU. Without one, it returns `x` and says why, once (Flux: ``gpu``).

    Takes arrays, containers and registered models. Float64 becomes Float32; ``dtype=None`` keeps it. `x` itself
    stays where it is, so write ``model = gpu(model)``. A bare ``gpu(model)`` makes copies and drops them, which a
    receipt shows. `without_gpu` can make it simulate a GPU, or raise, if there's none. Raises `TypeError` for what
    can't move.

    >>> with simulate_gpu():
    ...     gpu({"W": np.ones((1, 2), np.float32), "name": "first"})
    [ Info: Simulated:0, a simulated NVIDIA T4, stands in for a GPU.
    {'W': array([[1., 1.]], dtype=float32)  # Simulated:0, 'name': 'first'}
    """
    device = gpu_device()
    if device is None and without_gpu() != "cpu":
        device = require_gpu()
    if device is None:
        if not was_said("no GPU"):
            notice("no GPU", f"arrays stay on the CPU. {why_no_gpu()} doctor() says more.")
        refuse_tensor("gpu", x)
        return x
    return device(x, dtype)


def cpu(x: Any, dtype: Any = DEFAULT) -> Any:
    """`x` with its arrays on the CPU; an array that's there already is the same object (Flux: ``cpu``).

    It can't restore the precision that `gpu` reduced. On the CPU it's no copy: the best model so far is kept by
    ``copy.deepcopy(model)``.

    >>> cpu([1, "a"])
    [1, 'a']
    """
    return CPU(x, dtype)


def cu(x: Any, dtype: Any = DEFAULT) -> Any:
    """`x` with its arrays on the NVIDIA GPU, or a simulated one (CUDA.jl: ``cu``). Raises `RuntimeError` without one.

    >>> with simulate_gpu(2):
    ...     cu(np.ones(2, np.float32))
    [ Info: Simulated:0 to Simulated:1, simulated NVIDIA T4, stand in for GPUs.
    array([1., 1.], dtype=float32)  # Simulated:0
    """
    return cuda_device()(x, dtype)


def require_gpu() -> Device:
    """The device that `gpu` moves to. Raises `RuntimeError`, with the reason, if there's none.

    After ``without_gpu("simulate")`` there always is one.

    >>> with simulate_gpu(3):
    ...     require_gpu().name
    [ Info: Simulated:0 to Simulated:2, simulated NVIDIA T4, stand in for GPUs.
    'simulated NVIDIA T4'
    """
    device = gpu_device()
    if device is None and without_gpu() == "simulate":
        simulate_gpu()
        device = gpu_device()
    if device is None:
        raise RuntimeError(f"there is no GPU to use. {why_no_gpu()}")
    return device


gpu_in_use.append(require_gpu)


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

    >>> with simulate_gpu(like="GTX 1650"):
    ...     gpu_name()
    [ Info: Simulated:0, a simulated GTX 1650, stands in for a GPU.
    'Simulated'
    """
    return _chosen().backend


def devices() -> list[Device]:
    """All GPUs of the kind that `gpu` uses. ``devices()[1](x)`` moves to the second one (CUDA.jl: ``devices``).

    >>> with simulate_gpu(2, like="A100"):
    ...     devices()
    [ Info: Simulated:0 to Simulated:1, simulated A100, stand in for GPUs.
    [Simulated:0, Simulated:1]
    """
    backend = _chosen().backend
    return [] if backend == "CPU" else BACKENDS[backend].devices()


def _chosen() -> Choice:
    """The choice for `gpu`, which is called all the time, so an unusable preference is reported only once."""
    choice = choose()
    for level, text in choice.lines:
        if level == "Warning":
            warn(("choice", text), text)
    return choice


def get_device(backend: str | None = None, idx: int = 0, *, verbose: bool = False) -> Device:
    """The device to use, or the one with this backend and number, counted from 0 (Flux: ``get_device``).

    Without `backend`, it's the preferred one, set by `gpu_backend`, if it can be used. Otherwise it's the first usable
    one of CUDA, AMDGPU, Metal, and finally the CPU. ``verbose=True`` says how it was chosen; you always hear if the
    preferred one is missing. `simulate_gpu` overrides any preference.

    Raises `ValueError` for an unknown backend, `RuntimeError` for one that can't be used here, and `IndexError` for
    a device that doesn't exist. There's only one CPU, so its `idx` doesn't matter.

    >>> get_device("CPU")
    CPU
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
        return _numbered(check_backend(backend), operator.index(idx))
    choice = choose()
    choice.tell(verbose)
    return current(BACKENDS[choice.backend].devices()) or CPU


def _numbered(backend: str, idx: int) -> Device:
    found = BACKENDS[backend].devices()
    if backend == "CPU":
        return found[0]
    if not found:
        raise RuntimeError(f"Unavailable backend: {backend}. {_end(functional(backend).reason)}{_simulated_instead()}")
    if not 0 <= idx < len(found):
        there = "there is 1, number 0" if len(found) == 1 else f"there are {len(found)}, numbers 0 to {len(found) - 1}"
        raise IndexError(f"there is no {backend} device {idx}: {there}")
    return found[idx]


def cuda_device() -> Device:
    """The NVIDIA GPU in use, or the simulated one. Raises `RuntimeError`, with the reason, if there's none."""
    device = current(cuda_or_simulated())
    if device is None:
        raise RuntimeError(f"there is no NVIDIA GPU to use. {_end(why_no_cuda())}{_simulated_instead()}")
    return device


def cuda_or_simulated() -> list[Device]:
    """The devices for `cu` and `fluxlite.cuda`: the simulated GPUs if they're on, otherwise the NVIDIA GPUs."""
    return BACKENDS["Simulated" if _simulated_is_meant() else "CUDA"].devices()


def why_no_cuda() -> str:
    """Why `cuda_or_simulated` is empty."""
    return functional("Simulated" if _simulated_is_meant() else "CUDA").reason


def _simulated_is_meant() -> bool:
    wish = preferences.wish()
    return simulation.is_on() or (wish is not None and wish.backend == "Simulated")


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
    return (
        " The simulated ones: cuda.devices()." if len(simulation.devices()) > 1 else " The simulated one: get_device()."
    )
