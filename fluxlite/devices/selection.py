"""Moving to a GPU: ``gpu(x)`` uses the one that's there, ``get_device("CUDA", 1)`` finds one by name.

First comes what `simulate_gpu`, the environment or the preference file say, then what's there: `choose`.
"""

import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from ..messages import check_whole, explained, in_words, notice, said, say, warn
from ..tensors import refuse_tensor
from . import preferences, simulation
from .base import CHOICE, CPU, DEFAULT, Device, DeviceList, Functional, current
from .cupy.device import cupy_devices
from .cupy.usable import PARTS, cupy_part, usable
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
    if "no GPU" not in said:
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
            say(text, level)
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


# -- which backend, and why --------------------------------------------------------------------------------------------


class Backend(NamedTuple):
    """One kind of device. `by_itself`: whether it may be chosen without being named."""

    functional: Callable[[], Functional]
    devices: Callable[[], list[Device]]
    parts: tuple[str, ...] = ()
    part: Callable[[str], Functional] = cupy_part
    by_itself: bool = True


def _metal() -> Any:
    from .metal import device  # not needed before we ask

    return device


# In the order in which we try them. A kind counts if its library is installed and finds a GPU.
BACKENDS = {
    "CUDA": Backend(lambda: usable("CUDA"), lambda: cupy_devices("CUDA"), tuple(PARTS["CUDA"])),
    "AMDGPU": Backend(lambda: usable("AMDGPU"), lambda: cupy_devices("AMDGPU"), tuple(PARTS["AMDGPU"])),
    "Metal": Backend(lambda: _metal().metal_functional(), lambda: _metal().metal_devices()),
    "CPU": Backend(Functional, lambda: [CPU]),
    "Simulated": Backend(simulation.functional, simulation.devices, by_itself=False),
}


def backends() -> dict[str, Backend]:
    """`BACKENDS`, or what `pretend` says instead."""
    return CHOICE.pretended.backends if CHOICE.pretended else BACKENDS


def supported_devices() -> tuple[str, ...]:
    """The kinds of devices that can be chosen automatically, present or not, in order (Flux: ``supported_devices``)."""
    return tuple(name for name, backend in backends().items() if backend.by_itself)


def find_backend(name: object) -> Backend:
    """The backend of this name. Raises `ValueError`, which lists the backends."""
    if isinstance(name, str) and name in backends():
        return backends()[name]
    got = name if isinstance(name, str) else in_words(name)
    wanted, _, index = str(got).partition(":")
    meant = [backend for backend in BACKENDS if backend.lower() == wanted.lower()]
    hint = f' Did you mean "{meant[0]}"{f", {index}" if index else ""}?' if meant else ""
    raise ValueError(f"Unsupported backend: {got}. Supported backends are {', '.join(BACKENDS)}.{hint}")


@explained()
def functional(backend: str = "CUDA", part: str | None = None) -> Functional:
    """Whether devices of this kind can be used here, and if not, why (CUDA.jl: ``CUDA.functional()``).

    `part` asks about one of their libraries instead (AMDGPU.jl: ``functional(:MIOpen)``).
    """
    asked = find_backend(backend)
    answer = asked.functional()
    if part is None:
        return answer
    names = {name.lower(): name for name in asked.parts}
    name = names.get(str(part).removeprefix(":").lower())
    if name is None:
        known = f"its parts are {', '.join(asked.parts)}" if asked.parts else "it is asked as a whole"
        raise ValueError(f"{backend} has no part called {in_words(part)}; {known}")
    return asked.part(name) if answer else answer


class Chosen(NamedTuple):
    backend: str
    why: str
    lines: tuple[tuple[str, str], ...]  # what to say about that: "Info" or "Warning", and a text


def choose() -> Chosen:
    """The backend to use: `simulate_gpu` comes first, then a preference, then the first backend that works."""
    wish = preferences.wish()
    if wish is None:
        return _first_that_works()
    backend, source = wish
    if backend not in backends():
        allowed = f"which is not allowed: {', '.join(backends())} are. Choosing automatically."
        return _first_that_works(("Warning", f"The backend in {source} is set to {backend}, {allowed}"))
    answer = backends()[backend].functional()
    if source == preferences.SIMULATION:  # even if all of them are hidden: then it's the CPU, and no real GPU
        backend, why = ("Simulated", f"{source} was called") if answer else ("CPU", answer.reason)
        return Chosen(backend, why, (("Info", f"Using backend: {backend}."),))
    wanted = ("Info", f"Using backend set in {source}: {backend}.")
    if answer:
        return Chosen(backend, f"set in {source}", (wanted,))
    if answer.installed:
        text = f"Backend: {backend}, set in {source}, is not functional: {answer.reason}.\nChoosing automatically."
    else:
        text = (
            f"Trying to use backend: {backend}, but {answer.reason}.\n"
            f"Install what is missing to have the wish in {source} respected. Choosing automatically."
        )
    return _first_that_works(wanted, ("Warning", text))


def _first_that_works(*lines: tuple[str, str]) -> Chosen:
    backend = next(name for name in supported_devices() if backends()[name].functional())
    why = "it is the first that is functional" if backend != "CPU" else "no GPU is functional"
    return Chosen(backend, why, (*lines, ("Info", f"Using backend: {backend}.")))


@explained()
def gpu_backend(name: str | None) -> None:
    """Prefer a backend, now and in later sessions. None deletes the preference (Flux: ``gpu_backend!``).

    It's in ``LocalPreferences.toml`` of the project's folder, or of FLUXLITE_PROJECT. Raises `ValueError` if you have
    to edit that file yourself.
    """
    if name is not None:
        find_backend(name)
    if name == preferences.stored_backend():
        already = f"GPU backend is already set to: {name}. No need to do anything else."
        return say(already if name else "There is no GPU backend preference to delete.")
    preferences.store_backend(name)
    text = "GPU backend preference deleted.\ngpu and get_device choose automatically from now on."
    if name is not None:
        wish = preferences.wish()
        when = "gpu and get_device use it from now on"
        if wish is not None and wish.source != "preferences":
            when = f"{wish.source} counts more, and says {wish.backend}"
        text = f"New GPU backend set: {name}.\n{when}; it is kept in {preferences.FILE}."
    say(text)


def current_backend() -> str:
    """The value of `fluxlite.GPU_BACKEND`: the preferred backend, or if there's none, the one that was chosen."""
    wish = preferences.wish()
    return choose().backend if wish is None else wish.backend
