"""What happens on real devices, reported to listeners. A listener is an open receipt; most of the time there's none.

A simulated GPU has more to say, and listeners of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

HOST_TO_DEVICE = "host to device"
DEVICE_TO_HOST = "device to host"
DEVICE_TO_DEVICE = "device to device"
SYNCHRONIZE = "synchronize"

# Check `if listeners:` before you tell them. Then it costs next to nothing when nothing listens.
listeners: list[Callable[..., None]] = []


def tell(device: Any, kind: str, name: str, times: int = 1, nbytes: int = 0, explicit: bool = True) -> None:
    """Report to all listeners: `times` copies of together `nbytes`, or so many waits."""
    for listener in list(listeners):
        listener(device, kind, name, times, nbytes, explicit)
