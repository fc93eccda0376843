"""What happens on devices, reported to listeners, such as an open receipt. Most of the time there's none."""

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

LAUNCH = "launch"
FIRST_USE = "first use"  # the first use of an operation, which loads its kernel
MEMSET = "memset"
HOST_TO_DEVICE = "host to device"
DEVICE_TO_HOST = "device to host"
DEVICE_TO_DEVICE = "device to device"
SYNCHRONIZE = "synchronize"
GRAPH = "graph"  # one order for all that's in it
IN_GRAPH = "in a graph"  # what the device does of it: kernels, memsets and copies


class Event(NamedTuple):
    """One thing that a device did: `kind` is one of the words above, and `name` is the operation.

    `times` counts launches or copies, and `bytes` is what was copied. A copy is `explicit` if the program asked for it,
    as in ``gpu(x)``, and not if it's a side effect, as in ``if loss < 1:``. `span` says when, if the clock can be read.
    """

    device: Any
    kind: str
    name: str
    times: int = 1
    bytes: int = 0
    explicit: bool = True
    span: Any = None
    figures: Any = None  # of a kernel written by hand: what its threads did


listeners: list[Callable[[Event], None]] = []


def emit(device, kind, name, span, times=1, nbytes=0, explicit=True, figures=None):
    """Report an event to all listeners. If there are none, it costs next to nothing."""
    if not listeners:
        return
    event = Event(device, kind, name, times, nbytes, explicit, span, figures)
    for listener in list(listeners):
        listener(event)


class _Allowed(threading.local):
    """What `cupyx` forbids in this thread: waits for a device, and singular matrices that raise nothing."""

    waits = singular = True


allowed = _Allowed()


class DeviceSynchronized(RuntimeError):
    """The program waits for a device where `cupyx.allow_synchronize(False)` forbids that."""


def check_wait() -> None:
    if not allowed.waits:
        raise DeviceSynchronized("this waits for the device, which allow_synchronize(False) forbids")
