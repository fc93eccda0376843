"""`Device(0)`, CuPy's name for a card: it's the simulated card itself."""

from typing import Any

from ..device import Card
from .runtime import card
from .runtime import getDevice as get_device_id  # noqa: F401


class _Cards(type):
    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Card)


class Device(metaclass=_Cards):
    """The card with this number, or the current one. Raises `CUDARuntimeError` if there's no such card.

    >>> Device(0).id, Device().compute_capability, Device().mem_info[1]
    (0, '75', 17179869184)
    """

    def __new__(cls, device: Any = None) -> Any:
        return card(device)
