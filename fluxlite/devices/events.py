"""What happens on devices, told to whoever listens: an open receipt, and nobody most of the time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

LAUNCH = "launch"
FIRST_USE = "first use"  # of an operation: its kernel is loaded
MEMSET = "memset"
HOST_TO_DEVICE = "host to device"
DEVICE_TO_HOST = "device to host"
DEVICE_TO_DEVICE = "device to device"
SYNCHRONIZE = "synchronize"


class Event(NamedTuple):
    """One thing that a device was asked to do.

    `kind` is one of the words above, `name` the operation, `times` how many launches or copies, `bytes` what
    they carried. A copy is `explicit` if the program asked for it, as ``gpu(x)`` does, and implicit if it only
    came with something else, as in ``if loss < 1:``. `span` says when, on a device whose clock can be read.
    """

    device: Any
    kind: str
    name: str
    times: int = 1
    bytes: int = 0
    explicit: bool = True
    span: Any = None


# Asked with `if listeners:` before an event is even made, so that nobody listening costs next to nothing.
listeners: list[Callable[[Event], None]] = []


def tell(
    device: Any, kind: str, name: str, times: int = 1, nbytes: int = 0, explicit: bool = True, span: Any = None
) -> None:
    """Tell all listeners."""
    event = Event(device, kind, name, times, nbytes, explicit, span)
    for listener in list(listeners):
        listener(event)
