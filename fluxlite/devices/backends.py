"""The kinds of devices there are, and whether each can be used here.

A kind counts if its library is installed and finds a GPU. Libraries are imported when they are first asked about.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from . import simulation
from .availability import Functional
from .base import Device
from .cupy import device as cuda
from .cupy.parts import AMDGPU_PARTS, CUDA_PARTS, cupy_part, known_part
from .host import CPU


class Backend(NamedTuple):
    """How a kind of device is asked: whether it can be used, for its devices, and about its parts.

    `by_itself`: whether it is chosen where nobody asks for it by name.
    """

    functional: Callable[[], Functional]
    devices: Callable[[], list[Device]]
    parts: dict[str, str] = {}
    part: Callable[[str], Functional] = cupy_part
    by_itself: bool = True


def _metal_functional() -> Functional:
    from .metal.device import metal_functional

    return metal_functional()


def _metal_devices() -> list[Device]:
    if not _metal_functional():
        return []
    from .metal.device import metal_devices

    return metal_devices()


# In the order in which they are tried; `pretend` puts others in their places.
BACKENDS = {
    "CUDA": Backend(lambda: cuda.cuda_functional(), lambda: cuda.cuda_devices(), CUDA_PARTS),
    "AMDGPU": Backend(lambda: cuda.amdgpu_functional(), lambda: cuda.amdgpu_devices(), AMDGPU_PARTS),
    "Metal": Backend(_metal_functional, _metal_devices),
    "CPU": Backend(Functional, lambda: [CPU]),
    "Simulated": Backend(simulation.functional, simulation.devices, by_itself=False),
}


def supported_devices() -> tuple[str, ...]:
    """The kinds of devices that are chosen by themselves, in this order (Flux: ``supported_devices``).

    Supported does not mean present. ``"Simulated"`` is never chosen by itself.

    >>> supported_devices()
    ('CUDA', 'AMDGPU', 'Metal', 'CPU')
    """
    return tuple(name for name, backend in BACKENDS.items() if backend.by_itself)


def check_backend(name: object) -> str:
    """`name` if it is that of a backend. Raises `ValueError` with those there are."""
    if name not in BACKENDS:
        raise ValueError(f"Unsupported backend: {name}. Supported backends are {', '.join(BACKENDS)}.")
    return str(name)


def functional(backend: str = "CUDA", part: str | None = None) -> Functional:
    """Whether devices of this kind can be used here, and why not (CUDA.jl: ``CUDA.functional()``).

    With `part`, whether this library of theirs can (AMDGPU.jl: ``functional(:MIOpen)``). The answer is true or
    false, and prints with its reason. Raises `ValueError` for an unknown kind or part, naming the known ones.

    >>> functional("CPU")
    True
    >>> functional("AMDGPU", "Voodoo")
    Traceback (most recent call last):
    ValueError: AMDGPU has no part called 'Voodoo'; its parts are rocBLAS, ..., MIOpen
    """
    asked = BACKENDS[check_backend(backend)]
    if part is None:
        return asked.functional()
    name = known_part(backend, part, asked.parts)
    return asked.part(name) if asked.functional() else asked.functional()
