"""What part of a program asked of its devices: kernels launched, bytes copied, waits, memory, time.

    with receipt() as r:
        y = np.tanh(simgpu.asarray(x))
    print(r)

Counts on a simulated GPU are exact and the same in every run, so an exercise can be checked with them. `views.py`
shows a receipt.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from ..events import Event, listeners
from ..lines import place_of_call, text_of
from ..place import estimating
from .counts import COUNT, Counts, LineCosts
from .pictures import Picture
from .timelines import Timeline
from .views import Lines, as_html, as_text, comparison

MOST_EVENTS = 100_000


@dataclass(repr=False, eq=False)
class Receipt(Counts):
    """Counts what happens on all devices, in any thread, while it's open (CUDA.jl: ``CUDA.@profile``).

    `launches` counts kernels, and `launched` says which operations they belong to. `host_to_device`, `device_to_host`
    and `device_to_device` have ``.count``, ``.bytes``, ``.explicit`` and ``.implicit``. `synchronizations` counts how
    often the host waited, `first_uses` the operations whose kernel had to be loaded, and the start of the GPU.
    `peak_memory` is the most bytes in use on a device. A real GPU doesn't say what it launched: there, `launches` and
    `peak_memory` are None, only moves by `gpu`, `cpu` and the like count as copies, and waits where CuPy tells of them.
    `kernels` has the figures of each launch of a kernel written by hand (`simgpu.jit`) on a simulated GPU, of
    the first 1,000: threads, sectors, conflicts, and the time they give.

    `seconds` is the time until all requested work is done: simulated on a simulated GPU, otherwise measured. (Closing a
    receipt waits for a real GPU.) Like a stopwatch, it includes work that was still running when the receipt was
    opened, so synchronize first. On a simulated GPU, the host's own computations take no time.

    `timeline()` gives the events, at most 100,000. `by_line()` says what each line of the program cost; the launches of
    a backward pass belong to the line that called `gradient` or `back`. `compare(other)` shows two receipts side by
    side.
    """

    def __enter__(self) -> Receipt:
        self._watched = [device for device in self._devices() if device.watch_peak()]
        self._invisible = [device for device in self._devices() if device not in self._watched]
        device = self._device()
        self._estimate = getattr(device, "estimate", None)
        if device is not None and device.kind_of_time == "simulated":
            self._simulated(device, device.host.now)
        self._wall_begin = time.perf_counter()
        listeners.append(self._record)
        return self

    def __exit__(self, *exc_info: Any) -> None:
        listeners.remove(self._record)
        if exc_info[0] is None:
            for device in self._invisible:
                device.synchronize()
        self._end = self._until(), time.perf_counter()
        peaks = [device.watched_peak() for device in self._watched]
        # Devices that appeared while it was open were only in use since then.
        known = self._watched + self._invisible
        peaks += [device.memory().peak or 0 for device in self._devices() if device not in known]
        self.peak_memory = max(peaks, default=0)
        if self._invisible:
            self.launches = self.peak_memory = None
        for place, costs in self._lines.items():  # now, before the files can change
            costs.line = text_of(place)

    def _devices(self) -> list[Any]:
        """The devices to watch."""
        from ..device import devices

        return [estimating.get()] if estimating.get() else devices()

    def _device(self) -> Any:
        """The one in use, or None."""
        from ..device import current

        return current()

    def _simulated(self, device: Any, since: int) -> None:
        self._host, self._begin = device.host, since
        self._used.append(device)

    def _record(self, event: Event) -> None:
        if getattr(event.device, "estimate", None) is not self._estimate:
            return
        place, now = place_of_call(), time.perf_counter()
        with self._lock:
            if event.span is not None and not any(device is event.device for device in self._used):
                if self._host is None:
                    self._simulated(event.device, event.span.asked)
                else:
                    self._used.append(event.device)
            COUNT[event.kind](self, event)
            self._lines.setdefault(place, LineCosts()).add(event)
            if len(self._events) < MOST_EVENTS:
                self._events.append((event, now, place))
            else:
                self.events_left_out += 1

    # -- as text, table and picture ---------------------------------------------------------------

    def by_line(self) -> Lines:
        """What each line of the program cost, most launches first. Prints as a table."""
        return Lines(self.lines())

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)

    def compare(self, other: Receipt) -> str:
        """A table of this receipt and another, with the differences."""
        return comparison(self, other)

    def plot(self, first: int = 0, count: int = 200, only_waits: bool = False) -> Picture:
        """A picture of `count` events, starting with number `first`: what ran when, with one lane each.

        The lanes are the host, computing, copies in and copies out. ``only_waits=True`` shows `count` synchronizations
        instead, starting with number `first`, and leaves out the host's other steps between them. With more than about
        200 events, the picture shows how busy each lane is in each short interval. A notebook shows it; ``.svg`` is its
        text. Raises `ValueError` if a device doesn't report times, or if there are no such events.
        """
        return Timeline(self).picture(first, count, only_waits)


def receipt() -> Receipt:
    """A receipt for what happens in ``with receipt() as r:``. You can open several; each counts everything.

    >>> import numpy as np
    >>> import simgpu
    >>> x = simgpu.asarray(np.ones((8, 8), np.float32))
    >>> with receipt() as r:
    ...     total = float((x @ x).sum())
    >>> print(r.launches, r.launched["matmul"], r.device_to_host, r.synchronizations, sep="; ")
    2; 1; 1 copy, 4 bytes: 0 explicit, 1 implicit; 1
    """
    return Receipt()
