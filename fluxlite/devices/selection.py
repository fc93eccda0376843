"""Which device `gpu` means: the simulated one if it is on, otherwise a real one, otherwise none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..notices import notice
from .base import DEFAULT, Device, entered
from .cpu import CPU
from .cuda import cuda_devices, cuda_functional
from .functional import Functional

# The devices of the simulation, while it is on.
_simulated: list[Device] = []


def gpu(x: Any, dtype: Any = DEFAULT) -> Any:
    """`x` with its arrays on the GPU; without a usable GPU `x` itself, and once a line that says why (Flux: ``gpu``).

    Takes arrays, containers and registered models. Float64 becomes Float32; ``dtype=None`` keeps it. Raises
    `TypeError` for what cannot move.

    >>> with simulate_gpu():
    ...     gpu({"W": np.ones((1, 2), np.float32), "name": "first"})
    [ Info: Simulated:0, a simulated NVIDIA T4, stands in for a GPU.
    {'W': array([[1., 1.]], dtype=float32)  # Simulated:0, 'name': 'first'}
    """
    device = gpu_device()
    if device is None:
        notice("no GPU", f"arrays stay on the CPU. {_no_gpu()}")
        return x
    return device(x, dtype)


def cpu(x: Any, dtype: Any = DEFAULT) -> Any:
    """`x` with its arrays on the CPU; one that is there already is the same object (Flux: ``cpu``).

    Does not restore a precision that `gpu` reduced.

    >>> cpu([1, "a"])
    [1, 'a']
    """
    return CPU(x, dtype)


def cu(x: Any, dtype: Any = DEFAULT) -> Any:
    """`x` with its arrays on the NVIDIA GPU, or the simulated one (CUDA.jl: ``cu``). Raises `RuntimeError` without.

    >>> with simulate_gpu(2):
    ...     cu(np.ones(2, np.float32))
    [ Info: Simulated:0 to Simulated:1, simulated NVIDIA T4, stand in for GPUs.
    array([1., 1.], dtype=float32)  # Simulated:0
    """
    return require_gpu()(x, dtype)


def require_gpu() -> Device:
    """The device that `gpu` moves to. Raises `RuntimeError` with the reason if there is none.

    >>> with simulate_gpu(3):
    ...     require_gpu().name
    [ Info: Simulated:0 to Simulated:2, simulated NVIDIA T4, stand in for GPUs.
    'simulated NVIDIA T4'
    """
    device = gpu_device()
    if device is None:
        raise RuntimeError(f"there is no GPU to use. {_no_gpu()}")
    return device


def _no_gpu() -> str:
    return f"{functional('CUDA').reason}. simulate_gpu() puts a simulated one in its place."


def gpu_device() -> Device | None:
    """The GPU in use, or None: the one whose ``with device:`` block this is, otherwise the first.

    >>> with simulate_gpu(2, like="GTX 1650"):
    ...     with devices()[1]:
    ...         gpu_device()
    [ Info: Simulated:0 to Simulated:1, simulated GTX 1650, stand in for GPUs.
    Simulated:1
    """
    found = devices()
    if not found:
        return None
    current = entered(found[0].backend)
    return next((device for device in found if device == current), found[0])


def gpu_name() -> str:
    """``"CUDA"`` or ``"Simulated"``, whichever `gpu` uses; ``"CPU"`` if none (Flux: ``GPU_BACKEND``).

    >>> with simulate_gpu(like="GTX 1650"):
    ...     gpu_name()
    [ Info: Simulated:0, a simulated GTX 1650, stands in for a GPU.
    'Simulated'
    """
    device = gpu_device()
    return CPU.backend if device is None else device.backend


def devices() -> list[Device]:
    """All GPUs of the kind that `gpu` uses; ``devices()[1](x)`` moves to the second (CUDA.jl: ``devices``).

    >>> with simulate_gpu(2, like="A100"):
    ...     devices()
    [ Info: Simulated:0 to Simulated:1, simulated A100, stand in for GPUs.
    [Simulated:0, Simulated:1]
    """
    return list(_simulated) or cuda_devices()


_FUNCTIONAL: dict[str, Callable[[], Functional]] = {
    "CPU": Functional,
    "CUDA": cuda_functional,
    "Simulated": lambda: Functional() if _simulated else Functional("the simulated GPU is off: simulate_gpu()"),
}


def functional(backend: str = "CUDA") -> Functional:
    """Whether devices of this kind can be used here, and why not (CUDA.jl: ``CUDA.functional()``).

    Raises `ValueError` for an unknown kind.

    >>> functional("CPU")
    True
    """
    if backend not in _FUNCTIONAL:
        raise ValueError(f"no kind of device is called {backend!r}; there are {', '.join(_FUNCTIONAL)}")
    return _FUNCTIONAL[backend]()


def simulate_gpu(count: int | bool = 1, like: str = "NVIDIA T4", memory: int | None = None) -> Simulation:
    """Use `count` simulated GPUs from now on, also beside a real one; ``simulate_gpu(False)`` ends it.

    `like` names the card that is imitated; `memory`, in bytes, replaces that card's. Called again with the same
    arguments, as when a cell is run again, it goes on with the same devices. In ``with simulate_gpu():`` what was
    before comes back at the end. Raises `ValueError` for an unknown card.

    >>> with simulate_gpu(like="RTX 2080 Ti", memory=2**20) as device:
    ...     device.memory().capacity
    [ Info: Simulated:0, a simulated RTX 2080 Ti, stands in for a GPU.
    1048576
    """
    before = list(_simulated)
    _simulated[:] = _make(int(count), like, memory)
    if _simulated:
        first, last = _simulated[0], _simulated[-1]
        one = f"{first!r}, a {first.name}, stands in for a GPU."
        several = f"{first!r} to {last!r}, {first.name}, stand in for GPUs."
        text = one if len(_simulated) == 1 else several
        notice(text, text)
    return Simulation(before)


def _make(count: int, like: str, memory: int | None) -> list[Device]:
    from ..simulated.device import SimulatedDevice  # who has a GPU need not read it
    from ..simulated.presets import preset

    new: list[Device] = [SimulatedDevice(index, preset(like), memory) for index in range(count)]
    return list(_simulated) if list(map(_settings, new)) == list(map(_settings, _simulated)) else new


def _settings(device: Any) -> Any:
    return device.settings


class Simulation:
    """What `simulate_gpu` gives: can be used with ``with``."""

    def __init__(self, before: list[Device]) -> None:
        self._before = before

    def __enter__(self) -> Device | None:
        return gpu_device()

    def __exit__(self, *exc_info: Any) -> None:
        _simulated[:] = self._before

    def __repr__(self) -> str:
        return f"Simulation({', '.join(map(repr, _simulated)) or 'off'})"
