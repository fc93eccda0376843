"""Which backend to use: first what `simulate_gpu`, the environment or the preference file say, then what's there."""

from __future__ import annotations

from typing import NamedTuple

from ..messages import formatted, say
from . import preferences, simulation
from .backends import BACKENDS, check_backend, functional, supported_devices
from .preferences import Wish


class Line(NamedTuple):
    """Something to tell the user: an ``"Info"``, or a ``"Warning"``."""

    level: str
    text: str


class Choice(NamedTuple):
    """A backend, and why it was chosen."""

    backend: str
    lines: tuple[Line, ...]
    why: str

    def tell(self, verbose: bool) -> None:
        """Print the warnings, and if `verbose` everything else too."""
        for line in self.lines:
            if verbose or line.level == "Warning":
                say(formatted(*line))


def choose() -> Choice:
    """The backend to use: `simulate_gpu` comes first, then a preference, then the first backend that works."""
    if simulation.is_on():
        backend = "Simulated" if functional("Simulated") else "CPU"
        why = "simulate_gpu() was called" if backend == "Simulated" else functional("Simulated").reason
        return Choice(backend, (_using(backend),), why)
    wish = preferences.wish()
    return _first_that_works() if wish is None else _fulfilled(wish)


def _using(backend: str) -> Line:
    return Line("Info", f"Using backend: {backend}.")


def _first_that_works(*lines: Line) -> Choice:
    backend = next(name for name in supported_devices() if functional(name))
    found = "it is the first that is functional" if backend != "CPU" else "no GPU is functional"
    return Choice(backend, (*lines, _using(backend)), found)


def _fulfilled(wish: Wish) -> Choice:
    backend, source = wish
    if backend not in BACKENDS:
        allowed = f"which is not allowed: {', '.join(BACKENDS)} are. Choosing automatically."
        what = "gpu_backend preference" if source == "preferences" else source
        return _first_that_works(Line("Warning", f"{what} is set to {backend}, {allowed}"))
    wanted = Line("Info", f"Using backend set in {source}: {backend}.")
    answer = functional(backend)
    if answer:
        return Choice(backend, (wanted,), f"set in {source}")
    if answer.installed:
        text = f"Backend: {backend}, set in {source}, is not functional: {answer.reason}.\nChoosing automatically."
    else:
        text = (
            f"Trying to use backend: {backend}, but {answer.reason}.\n"
            f"Install what is missing to have the wish in {source} respected. Choosing automatically."
        )
    return _first_that_works(wanted, Line("Warning", text))


def gpu_backend(name: str | None) -> None:
    """Prefer a backend, now and in later sessions. None deletes the preference (Flux: ``gpu_backend!``).

    `name` is ``"CUDA"``, ``"AMDGPU"``, ``"Metal"``, ``"CPU"`` or ``"Simulated"``. It's stored in
    ``LocalPreferences.toml``, table ``[fluxlite]``, in the project's folder or in the folder that the environment
    variable FLUXLITE_PROJECT names. Raises `ValueError` for another name.

    >>> with fl.pretend():
    ...     gpu_backend("CPU")
    ┌ Info: New GPU backend set: CPU.
    └ gpu and get_device use it from now on; it is kept in LocalPreferences.toml.
    """
    before = preferences.stored_backend()
    if name is not None:
        check_backend(name)
    if name == before:
        already = f"GPU backend is already set to: {name}. No need to do anything else."
        say(formatted("Info", already if name else "There is no GPU backend preference to delete."))
        return
    preferences.store_backend(name)
    if name is None:
        text = "GPU backend preference deleted.\ngpu and get_device choose automatically from now on."
    else:
        text = f"New GPU backend set: {name}.\n{_when()}; it is kept in {preferences.FILE}."
    say(formatted("Info", text))


def _when() -> str:
    """When a new preference takes effect, since something else may take precedence."""
    wish = preferences.wish()
    if simulation.is_on():
        return "gpu and get_device use it after simulate_gpu(False)"
    if wish is not None and wish.source == preferences.VARIABLE:
        return f"{preferences.VARIABLE}={wish.backend} counts more: unset it to have this used"
    return "gpu and get_device use it from now on"


def current_backend() -> str:
    """The value of `fluxlite.GPU_BACKEND`: the preferred backend, or if there's none, the one that was chosen.

    >>> with fl.pretend(preference="Metal"):
    ...     fl.GPU_BACKEND
    'Metal'
    """
    wish = None if simulation.is_on() else preferences.wish()
    return choose().backend if wish is None else wish.backend
