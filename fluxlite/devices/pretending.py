"""Pretend that this computer has other GPUs, to see what's chosen and which messages appear."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from . import preferences, simulation
from .availability import Functional
from .backends import BACKENDS, Backend
from .base import Device
from .cupy.device import NEEDS
from .cupy.parts import pretended_part
from .simulated import SimulatedDevice, preset, together

_KINDS_OF_ID = {"CUDA": "CuDevice", "AMDGPU": "HIPDevice", "Metal": "MTLDevice"}

# Situations with a name. Any other text is the reason why a backend isn't functional.
_SITUATIONS = {
    **{
        name: {
            "not installed": Functional(needs.not_installed, installed=False),
            "no driver": Functional(needs.no_driver()),
            "hidden": Functional(f"the GPUs are hidden: the environment variable {needs.hidden_by[0]} is set to none"),
        }
        for name, needs in NEEDS.items()
    },
    "Metal": {
        "not installed": Functional("MLX is not installed: pip install mlx", installed=False),
        "no driver": Functional("MLX is installed, but this computer has no Apple GPU"),
    },
}


@contextmanager
def pretend(
    CUDA: str | int = "not installed",
    AMDGPU: str | int = "not installed",
    Metal: str | int = "not installed",
    *,
    preference: str | None = None,
    environment: str | None = None,
) -> Iterator[None]:
    """Inside ``with pretend(…):``, choose devices as if backends, preference and environment were these.

    A backend is ``"functional"``, a number of GPUs, ``"not installed"``, ``"no driver"``, ``"hidden"``, or any other
    reason why it can't be used. `preference` stands for the preference file, `environment` for the variable
    FLUXLITE_GPU_BACKEND. `gpu_backend` changes the pretended preference, not a file. Simulations start switched off.

    A pretended GPU says that it is one: ``CUDA:0 (pretended)``. Arrays do move to it, since it's simulated inside.

    >>> with pretend(CUDA=2):
    ...     fl.gpu_name(), fl.get_device("CUDA", 1)
    ('CUDA', CUDA:1 (pretended))
    >>> with pretend(CUDA="no driver"):
    ...     fl.functional("CUDA")
    False: CuPy is installed, but there is no NVIDIA driver that it can use
    """
    situations = {"CUDA": CUDA, "AMDGPU": AMDGPU, "Metal": Metal}
    real = {name: BACKENDS[name] for name in situations}
    instead = {name: _pretended(name, situation) for name, situation in situations.items()}
    state = preferences.Pretended(preference, environment)
    with simulation.off():
        BACKENDS.update(instead)
        preferences.pretended.append(state)
        try:
            yield
        finally:
            preferences.pretended.remove(state)
            BACKENDS.update(real)


def _pretended(name: str, situation: str | int) -> Backend:
    count = 1 if situation == "functional" else situation if isinstance(situation, int) else 0
    if isinstance(situation, int) and count < 1:
        raise ValueError(f"a pretended {name} has at least 1 GPU, or is 'not installed', 'no driver' or so")
    devices = _devices(name, count)
    answer = Functional()
    if not devices:
        answer = _SITUATIONS[name].get(str(situation), Functional(str(situation)))
    parts = BACKENDS[name].parts
    return Backend(lambda: answer, lambda: list(devices), parts, pretended_part)


def _devices(name: str, count: int) -> list[Device]:
    if not count:
        return []
    return together([PretendedDevice(name, index) for index in range(count)])


class PretendedDevice(SimulatedDevice):
    """A GPU of this backend, as far as choosing, naming and comparing go. It's simulated inside, and says so.

    >>> PretendedDevice("AMDGPU", 0).deviceID
    HIPDevice(0): pretended AMDGPU, a simulated NVIDIA T4 inside
    """

    def __init__(self, backend: str, index: int) -> None:
        self.backend = backend
        self.kind_of_id = _KINDS_OF_ID[backend]
        super().__init__(index, preset("NVIDIA T4"))
        self.name = f"pretended {backend}, a {self.name} inside"

    def __repr__(self) -> str:
        return f"{self.backend}:{self.index} (pretended)"
