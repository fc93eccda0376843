"""`Device(0)`, CuPy's name for a card: it's the simulated card itself."""

from typing import Any

from ..device import Card, current
from . import runtime


class _Cards(type):
    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Card)


class Device(metaclass=_Cards):
    """The card with this number, or the current one: ``with Device(1):``, ``Device().synchronize()``.

    Raises `CUDARuntimeError` if there's no such card. `simgpu.devices(2, like="A100")` makes two.

    >>> Device(0).id, Device().compute_capability, Device().mem_info[1]
    (0, '75', 17179869184)
    """

    def __new__(cls, device: Any = None) -> Any:
        return runtime.card(device)


def get_device_id() -> int:
    return current().index


def get_compute_capability() -> str:
    """``"75"`` for a card with compute capability 7.5."""
    return current().compute_capability
