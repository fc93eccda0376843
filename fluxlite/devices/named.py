"""Devices by name: ``get_device("CUDA", 1)``, ``cu(x)``, ``functional("Metal")``; and the name that's preferred."""

import tomllib
from collections.abc import Callable
from pathlib import Path

from ..annotations import DType, T, Tree
from ..arrays import device_of
from ..messages import say
from ..words import explained, in_words, many
from ..writing import write_whole
from . import selection
from .base import CPU, DEFAULT, SETTINGS, Device, Functional, current
from .moving import moved


class DeviceList(list):
    """Devices of one kind, printed as a numbered list. If it's empty, `reason` says why."""

    def __init__(self, devices: list[Device], reason: str) -> None:
        super().__init__(devices)
        self.reason = reason

    def current(self, otherwise: str) -> Device:
        """The one in use. Raises `RuntimeError`, with the reason, if there's none."""
        device = current(self)
        if device is None:
            raise RuntimeError(f"{otherwise}. {self.reason}.{selection.simulated_instead()}")
        return device

    def __repr__(self) -> str:
        if not self:
            return f"0 devices: {self.reason}"
        lines = [f"{device.index}. {device.name}" for device in self]
        return "\n".join([f"{many(len(self), 'device')}:", *lines])


@explained()
def get_device(backend: str | None = None, idx: int = 0, *, verbose: bool = False) -> Device:
    """The device to use, or the one with this backend and number, counted from 0 (Flux: ``get_device``).

    Without `backend`, it's what `simulate_gpu` or `gpu_backend` asked for, if it can be used, else the first usable one
    of CUDA, AMDGPU, Metal and the CPU; ``verbose=True`` says why. A backend that can't be used is a `RuntimeError`.
    """
    if backend is None:
        choice = selection.choose()
        using = f"Using backend: {choice.backend}."
        if choice.asked and not choice.warning:  # that says it already
            using = ""
        for level, text in (("Info", choice.asked), ("Warning", choice.warning), ("Info", using)):
            if text and (verbose or level == "Warning"):
                say(text, level)
        return current(selection.backends()[choice.backend].devices()) or CPU
    found = devices_of(backend)
    if found.current(f"Unavailable backend: {backend}") is CPU:
        return CPU
    if idx not in range(len(found)):
        there = "is 1, number 0"
        if len(found) > 1:
            there = f"are {len(found)}, numbers 0 to {len(found) - 1}"
        raise IndexError(f"there is no {backend} device {in_words(idx)}: there {there}")
    return found[idx]


@explained()
def functional(backend: str = "CUDA", part: str | None = None) -> Functional:
    """Whether devices of this kind can be used here, and if not, why (CUDA.jl: ``CUDA.functional()``).

    `part` asks about one of their libraries instead (AMDGPU.jl: ``functional(:MIOpen)``).
    """
    asked = find_backend(backend)
    name = ""
    if part is not None:
        names = {name.lower(): name for name in asked.parts}
        name = names[part.removeprefix(":").lower()]
    answer = asked.functional()
    if answer and name:
        return asked.part(name)
    return answer


usable = functional  # so that a function in `names_of` may have its name


def find_backend(name: str) -> selection.Backend:
    got = name
    if not isinstance(name, str):
        got = in_words(name)
    if got in selection.backends():
        return selection.backends()[got]
    wanted, _, index = got.partition(":")
    hint = ""
    for backend in selection.BACKENDS:
        if backend.lower() == wanted.lower() and index:
            hint = f' Did you mean "{backend}", {index}?'
        elif backend.lower() == wanted.lower():
            hint = f' Did you mean "{backend}"?'
    raise ValueError(f"Unsupported backend: {got}. Supported backends are {', '.join(selection.BACKENDS)}.{hint}")


def names_of(
    vendor: str, backend: str
) -> tuple[Callable[..., Functional], Callable[[], DeviceList], Callable[..., Device]]:
    """What CUDA.jl, AMDGPU.jl and Metal.jl have in common: `functional`, `devices` and `device` for their GPUs."""

    def functional(part: str | None = None) -> Functional:
        """Whether such a GPU, or a `part` such as ``"cuBLAS"``, can be used, and why not (CUDA.jl: ``functional``)."""
        return usable(backend, part)

    def devices() -> DeviceList:
        """All these GPUs, in order, printed as a numbered list (CUDA.jl: ``CUDA.devices()``)."""
        if backend == "CUDA" and selection.wish()[0] == "Simulated":
            return devices_of("Simulated")
        return devices_of(backend)

    def device(x: Tree = None) -> Device:
        """The current one, or the device of an array or a model (CUDA.jl: ``device()``). `RuntimeError` without one."""
        if x is None:
            return devices().current(f"there is no {vendor} GPU to use")
        return device_of(x)

    return functional, devices, device


NVIDIA = names_of("NVIDIA", "CUDA")


@explained()
def cu(x: T, dtype: DType | None = DEFAULT) -> T:
    """`x` with its arrays on the NVIDIA GPU, or the simulated one (CUDA.jl: ``cu``). Without either, `RuntimeError`."""
    _, _, current_device = NVIDIA
    return moved(current_device(), x, dtype)


def devices_of(backend: str) -> DeviceList:
    asked = find_backend(backend)
    return DeviceList(asked.devices(), asked.functional().reason)


@explained()
def gpu_backend(name: str | None) -> None:
    """Prefer a backend, now and in later sessions. None deletes the preference (Flux: ``gpu_backend!``).

    It's in ``LocalPreferences.toml`` of the project, or of FLUXLITE_PROJECT. `ValueError` for a table of yours there.
    """
    if name is not None:
        find_backend(name)
    is_stored = name == selection.stored_backend()
    if is_stored and name:
        say(f"GPU backend is already set to: {name}. No need to do anything else.")
    elif is_stored:
        say("There is no GPU backend preference to delete.")
    else:
        _store(name)
        say(_words_for_new_preference(name))


def _words_for_new_preference(name: str | None) -> str:
    if name is None:
        return "GPU backend preference deleted.\ngpu and get_device choose automatically from now on."
    backend, source = selection.wish()
    when = "gpu and get_device use it from now on"
    if source != "preferences":
        when = f"{source} counts more, and says {backend}"
    return f"New GPU backend set: {name}.\n{when}; it is kept in {selection.FILE}."


def _store(name: str | None) -> None:
    """Write `name` in a table at the file's end; None deletes that. The rest of the file stays as it is."""
    if SETTINGS.pretended:
        SETTINGS.pretended.stored = name
        return
    path = Path(selection.preference_file())
    table = '[fluxlite]\ngpu_backend = "{}"\n'
    text = ""
    if path.exists():
        text = path.read_bytes().decode().removesuffix(table.format(selection.stored_backend()))
    if "fluxlite" in tomllib.loads(text):
        what = "delete gpu_backend"
        if name:
            what = f'write gpu_backend = "{name}"'
        raise ValueError(f"{path} has a table [fluxlite] of yours: {what} there yourself")
    if name is not None:
        if text and not text.endswith("\n\n"):
            text += "\n"
        text += table.format(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    if text:
        write_whole(path, text.encode())
    else:
        path.unlink()
