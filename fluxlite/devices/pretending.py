"""Pretend that this computer has other GPUs, to see what's chosen and which messages appear."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

from ..words import check_whole
from .base import SETTINGS, Change, Functional
from .cupy.usable import SITUATIONS, cupy_part
from .selection import BACKENDS, Backend
from .simulated import SimulatedDevice, preset, simulate_gpu, together

_KINDS_OF_ID = {"CUDA": "CuDevice", "AMDGPU": "HIPDevice", "Metal": "MTLDevice"}
_OF_METAL = {
    "not installed": Functional("MLX is not installed: pip install mlx", installed=False),
    "no driver": Functional("MLX is installed, but this computer has no Apple GPU"),
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
    reason why it isn't. `preference` stands for the preference file, `environment` for FLUXLITE_GPU_BACKEND. Arrays do
    move to a pretended GPU, since it's simulated inside.

    >>> with pretend(CUDA=2):
    ...     fl.gpu_name(), fl.get_device("CUDA", 1)
    ('CUDA', CUDA:1 (pretended))
    """
    situations = {"CUDA": CUDA, "AMDGPU": AMDGPU, "Metal": Metal}
    instead = {name: _pretended(name, situation) for name, situation in situations.items()}
    said = SimpleNamespace(backends=BACKENDS | instead, stored=preference, environment=environment)
    with simulate_gpu(False), Change(SETTINGS.pretending, said):
        yield


def _pretended(name: str, situation: str | int) -> Backend:
    count = situation
    if situation == "functional":
        count = 1
    if isinstance(count, int):
        check_whole(f"pretend({name}=…): the number of GPUs", count, 1)
        answer = Functional()
        devices = together([PretendedDevice(name, index) for index in range(count)])
    else:
        answer = SITUATIONS.get(name, _OF_METAL).get(str(count), Functional(str(count)))
        devices = []
    return Backend(lambda: answer, lambda: devices, BACKENDS[name].parts, lambda part: cupy_part(part, pretended=True))


class PretendedDevice(SimulatedDevice):
    """A GPU of this backend, as far as choosing, naming and comparing go. It's simulated inside, and says so."""

    def __init__(self, backend: str, index: int) -> None:
        self.backend = backend
        self.kind_of_id = _KINDS_OF_ID[backend]
        super().__init__(index, preset("NVIDIA T4"))
        self.name = f"pretended {backend}, a {self.name} inside"

    def __repr__(self) -> str:
        return f"{self.backend}:{self.index} (pretended)"
