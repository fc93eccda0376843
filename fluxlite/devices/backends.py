"""The kinds of devices, and whether each can be used here.

A kind counts if its library is installed and finds a GPU. A library is imported only when we first ask it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..arguments import in_words
from . import simulation
from .availability import Functional
from .base import Device
from .cupy import device as cuda
from .cupy.parts import AMDGPU_PARTS, CUDA_PARTS, cupy_part, known_part
from .host import CPU


class Backend(NamedTuple):
    """One kind of device: whether it can be used, its devices, and the libraries it's made of.

    `by_itself`: whether it may be chosen without being named.
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


# in the order we try them; `pretend` swaps entries
BACKENDS = {
    "CUDA": Backend(lambda: cuda.cuda_functional(), lambda: cuda.cuda_devices(), CUDA_PARTS),
    "AMDGPU": Backend(lambda: cuda.amdgpu_functional(), lambda: cuda.amdgpu_devices(), AMDGPU_PARTS),
    "Metal": Backend(_metal_functional, _metal_devices),
    "CPU": Backend(Functional, lambda: [CPU]),
    "Simulated": Backend(simulation.functional, simulation.devices, by_itself=False),
}


def supported_devices() -> tuple[str, ...]:
    """The kinds of devices that can be chosen automatically, in order (Flux: ``supported_devices``).

    Supported doesn't mean present. ``"Simulated"`` is never chosen automatically.

    >>> supported_devices()
    ('CUDA', 'AMDGPU', 'Metal', 'CPU')
    """
    return tuple(name for name, backend in BACKENDS.items() if backend.by_itself)


def check_backend(name: object) -> str:
    """Return `name` if it's a backend's name. Raises `ValueError`, which lists the backends."""
    if not isinstance(name, str) or name not in BACKENDS:
        got = name if isinstance(name, str) else in_words(name)
        wanted, _, index = str(got).partition(":")
        meant = [backend for backend in BACKENDS if backend.lower() == wanted.lower()]
        hint = f' Did you mean "{meant[0]}"{f", {index}" if index else ""}?' if meant else ""
        raise ValueError(f"Unsupported backend: {got}. Supported backends are {', '.join(BACKENDS)}.{hint}")
    return str(name)


def functional(backend: str = "CUDA", part: str | None = None) -> Functional:
    """Whether devices of this kind can be used here, and if not, why (CUDA.jl: ``CUDA.functional()``).

    `part` asks about one of their libraries instead (AMDGPU.jl: ``functional(:MIOpen)``). The answer is true or
    false, and prints with its reason. Raises `ValueError` for an unknown kind or part; the error lists the known ones.

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
