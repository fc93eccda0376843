"""Which backend to use: first what `simulate_gpu`, the environment or the preference file say, then what's there."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ..arguments import explained, in_words
from ..messages import formatted, say
from . import preferences, simulation
from .base import CHOICE, CPU, Device, Functional
from .cupy.device import cupy_devices
from .cupy.usable import PARTS, cupy_part, usable


class Backend(NamedTuple):
    """One kind of device: whether it can be used, its devices, and the libraries it's made of.

    `by_itself`: whether it may be chosen without being named.
    """

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
    """The kinds of devices that can be chosen automatically, present or not, in order (Flux: ``supported_devices``).

    >>> supported_devices()
    ('CUDA', 'AMDGPU', 'Metal', 'CPU')
    """
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

    `part` asks about one of their libraries instead (AMDGPU.jl: ``functional(:MIOpen)``). Raises `ValueError` for an
    unknown kind or part.

    >>> with fl.pretend(CUDA="no driver"):
    ...     functional("CUDA")
    False: CuPy is installed, but there is no NVIDIA driver that it can use
    """
    asked = find_backend(backend)
    answer = asked.functional()
    if part is None:
        return answer
    for name in asked.parts:
        if isinstance(part, str) and name.lower() == part.removeprefix(":").lower():
            return asked.part(name) if answer else answer
    known = f"its parts are {', '.join(asked.parts)}" if asked.parts else "it is asked as a whole"
    raise ValueError(f"{backend} has no part called {in_words(part)}; {known}")


class Chosen(NamedTuple):
    """A backend, why it was chosen, and what to say about that: pairs of ``"Info"`` or ``"Warning"`` and a text."""

    backend: str
    why: str
    lines: tuple[tuple[str, str], ...]


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

    `name` is ``"CUDA"``, ``"AMDGPU"``, ``"Metal"``, ``"CPU"`` or ``"Simulated"``. It's in ``LocalPreferences.toml``
    of the project's folder, or of FLUXLITE_PROJECT. Raises `ValueError` if you have to edit that file yourself.

    >>> with fl.pretend():
    ...     gpu_backend("CPU")
    ┌ Info: New GPU backend set: CPU.
    └ gpu and get_device use it from now on; it is kept in LocalPreferences.toml.
    """
    if name is not None:
        find_backend(name)
    if name == preferences.stored_backend():
        already = f"GPU backend is already set to: {name}. No need to do anything else."
        return say(formatted("Info", already if name else "There is no GPU backend preference to delete."))
    preferences.store_backend(name)
    text = "GPU backend preference deleted.\ngpu and get_device choose automatically from now on."
    if name is not None:
        wish = preferences.wish()
        when = "gpu and get_device use it from now on"
        if wish is not None and wish.source != "preferences":
            when = f"{wish.source} counts more, and says {wish.backend}"
        text = f"New GPU backend set: {name}.\n{when}; it is kept in {preferences.FILE}."
    say(formatted("Info", text))


def current_backend() -> str:
    """The value of `fluxlite.GPU_BACKEND`: the preferred backend, or if there's none, the one that was chosen."""
    wish = preferences.wish()
    return choose().backend if wish is None else wish.backend
