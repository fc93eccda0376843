"""CuPy's `cupy.cuda.device`: which card is which."""

from typing import Any

from ..device import Card
from ..surface import getter, lister
from . import runtime


class _Cards(type):
    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Card)


class Device(metaclass=_Cards):
    """The simulated card with this number, or the current one. Raises `CUDARuntimeError` if there's no such card.

    >>> Device(0).id, Device().compute_capability, Device().mem_info[1]
    (0, '75', 17179869184)
    """

    def __new__(cls, device: Any = None) -> Any:
        return runtime.card(device)


get_device_id = runtime.getDevice


def get_compute_capability() -> str:
    """``"75"`` for the 7.5 of the current card."""
    return runtime.card().compute_capability


__getattr__ = getter(__name__)
__dir__ = lister(__name__)
