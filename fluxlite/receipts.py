"""What a piece of a program asked of the devices: kernels launched, bytes copied, waits, memory, time.

    with receipt() as r:
        y = model(gpu(x))
    print(r)

Counts on a simulated GPU are exact and the same in every run, so that an exercise can be checked by them. How a
receipt is shown is in `receipt_views.py`.
"""

from __future__ import annotations

import linecache
import os
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .devices import events
from .devices.events import Event, listeners
from .devices.selection import devices, gpu_device
from .seconds import Seconds

MOST_EVENTS = 100_000


@dataclass
class Copies:
    """Copies in one direction. The program asked for an explicit one; an implicit one came with something else."""

    count: int = 0
    bytes: int = 0
    explicit: int = 0
    implicit: int = 0

    def add(self, event: Event) -> None:
        self.count += event.times
        self.bytes += event.bytes
        self.explicit += event.times * event.explicit
        self.implicit += event.times * (not event.explicit)

    def __str__(self) -> str:
        if not self.count:
            return "none"
        copies = "1 copy" if self.count == 1 else f"{self.count:,} copies"
        size = "1 byte" if self.bytes == 1 else f"{self.bytes:,} bytes"
        return f"{copies}, {size}: {self.explicit:,} explicit, {self.implicit:,} implicit"


class Moment(NamedTuple):
    """One event of a receipt. Times are in seconds since the receipt was opened.

    `asked` is when the host asked for it and `went_on` when the host did something else; `start` and `end` are when
    the device worked on it, in its `lane`: ``"compute"``, ``"copies in"`` or ``"copies out"``; a wait, and loading
    a kernel at its first use, are in the lane ``"host"``. On a real GPU only `asked` is known, the others are None.
    `line` is the line of the program.
    """

    asked: float
    went_on: float | None
    start: float | None
    end: float | None
    lane: str
    kind: str
    name: str
    times: int
    bytes: int
    explicit: bool
    device: Any
    line: str


@dataclass
class LineCosts:
    """What one line of the program asked for. `seconds` is how long the devices worked on it, None on a real GPU."""

    line: str = ""
    launches: int = 0
    copies: int = 0
    bytes: int = 0
    waits: int = 0
    seconds: float | None = 0.0

    def add(self, event: Event) -> None:
        self.launches += event.times * (event.kind == events.LAUNCH)
        self.waits += event.times * (event.kind == events.SYNCHRONIZE)
        if event.kind in _COPIES:
            self.copies += event.times
            self.bytes += event.bytes
        if event.span is None:
            self.seconds = None
        elif self.seconds is not None and _LANES.get(event.kind) != "host":
            self.seconds += (event.span.end - event.span.start) / 1e9


_COPIES = (events.HOST_TO_DEVICE, events.DEVICE_TO_HOST, events.DEVICE_TO_DEVICE)
_LANES = {events.HOST_TO_DEVICE: "copies in", events.DEVICE_TO_HOST: "copies out"}
_LANES |= {events.SYNCHRONIZE: "host", events.FIRST_USE: "host"}

Place = tuple[str, int]  # a file and the number of a line in it
_LIBRARIES = tuple(os.path.dirname(os.path.abspath(path)) + os.sep for path in (__file__, str(np.__file__)))


def _place() -> Place:
    """Which line is running: the innermost that is neither fluxlite's nor NumPy's."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_LIBRARIES):
        frame = frame.f_back
    return ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def _text_of(place: Place) -> str:
    """``line 3 of train.py: total += float(loss)``; a cell of a notebook is a file whose name says nothing."""
    path, number = place
    if not path:
        return "nobody's line"
    is_cell = "ipykernel" in path or path.startswith("<ipython-input")
    name = "the cell" if is_cell else path if path.startswith("<") else os.path.basename(path)
    text = linecache.getline(path, number).strip()
    return f"line {number} of {name}{f': {text}' if text else ''}"


@dataclass(repr=False, eq=False)
class Receipt:
    """Counts of what happened on all devices, in any thread, while it was open (CUDA.jl: ``CUDA.@profile``).

    `launches` counts kernels and `launched` says by which operations; `host_to_device`, `device_to_host` and
    `device_to_device` have ``.count``, ``.bytes``, ``.explicit`` and ``.implicit``; `synchronizations` counts the
    times that the host waited, `first_uses` the operations whose kernel had to be loaded; `peak_memory` is the most
    bytes in use on a device. A real GPU does not say what it launched: there `launches` and `peak_memory` are None,
    and only moves by `gpu`, `cpu` and the like count.

    `seconds` is the time until all that was asked for is done, on a simulated GPU simulated, otherwise measured (to
    close a receipt waits for a real GPU). What the GPU was still busy with when the receipt was opened belongs to it,
    as on a stopwatch: synchronize before. What the host computes by itself does not count on a simulated GPU.

    `timeline()` gives the events, at most 100,000 of them; `by_line()` what each line of the program asked for, where
    the launches of a way back belong to the line that called `gradient` or `back`; `compare(other)` sets two receipts
    side by side; `plot()` draws who works when.
    """

    launches: int | None = 0
    memsets: int = 0
    launched: Counter = field(default_factory=Counter)
    host_to_device: Copies = field(default_factory=Copies)
    device_to_host: Copies = field(default_factory=Copies)
    device_to_device: Copies = field(default_factory=Copies)
    synchronizations: int = 0
    first_uses: int = 0
    peak_memory: int | None = 0
    events_left_out: int = 0

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._watched: list[Any] = []
        self._invisible: list[Any] = []
        self._events: list[tuple[Event, float, Place]] = []
        self._lines: dict[Place, LineCosts] = {}
        self._used: list[Any] = []  # the simulated devices that did something
        self._host: Any = None  # the clock of a simulated GPU's host
        self._begin = self._wall_begin = 0.0
        self._end: tuple[float, float] | None = None  # on the host's clock or the real one, and on the real one

    def __enter__(self) -> Receipt:
        self._watched = [device for device in devices() if device.watch_peak()]
        self._invisible = [device for device in devices() if device not in self._watched]
        device = gpu_device()
        self._estimate = getattr(device, "estimate", None)
        if hasattr(device, "host"):
            self._simulated(device, device.host.now)  # type: ignore[union-attr]
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
        # Devices that came while it was open were in use for no longer than that.
        peaks += [device.memory().peak or 0 for device in devices() if device not in self._watched + self._invisible]
        self.peak_memory = max(peaks, default=0)
        if self._invisible:
            self.launches = self.peak_memory = None
        for place, costs in self._lines.items():  # now, while the files are as they were
            costs.line = _text_of(place)

    def _simulated(self, device: Any, since: int) -> None:
        self._host, self._begin = device.host, since
        self._used.append(device)

    def _record(self, event: Event) -> None:
        if getattr(event.device, "estimate", None) is not self._estimate:
            return
        place, now = _place(), time.perf_counter()
        with self._lock:
            if event.span is not None and not any(device is event.device for device in self._used):
                if self._host is None:
                    self._simulated(event.device, event.span.asked)
                else:
                    self._used.append(event.device)
            _RECORD[event.kind](self, event)
            self._lines.setdefault(place, LineCosts()).add(event)
            if len(self._events) < MOST_EVENTS:
                self._events.append((event, now, place))
            else:
                self.events_left_out += 1

    # -- time ------------------------------------------------------------------------------------

    def _until(self) -> float:
        """When what was asked for is done, on the clock that counts here."""
        if self._host is None:
            return time.perf_counter()
        return max(self._host.now, *(device.lanes.busy_until() for device in self._used))

    @property
    def seconds(self) -> Seconds:
        """The time until all that was asked for is done; while the receipt is open, so far."""
        simulated = self.simulated_seconds
        return Seconds(self.wall_seconds, "measured") if simulated is None else simulated

    @property
    def simulated_seconds(self) -> Seconds | None:
        """The same if it is simulated, otherwise None."""
        if self._host is None:
            return None
        end = self._until() if self._end is None else self._end[0]
        return Seconds((end - self._begin) / 1e9, "simulated", self._used[0].card)

    @property
    def wall_seconds(self) -> float:
        """The time that passed on this machine, in seconds."""
        return (time.perf_counter() if self._end is None else self._end[1]) - self._wall_begin

    # -- single events, and lines of the program -------------------------------------------------

    def timeline(self) -> list[Moment]:
        """The events in their order, at most 100,000; `events_left_out` says how many there were beyond."""
        texts = {place: _text_of(place) for place in self._lines}
        return [self._moment(*entry, texts) for entry in self._events]

    def _moment(self, event: Event, now: float, place: Place, texts: dict[Place, str]) -> Moment:
        times: list = [now - self._wall_begin, None, None, None]
        if event.span is not None:
            times = [(time - self._begin) / 1e9 for time in event.span]
        device, *what = event[:6]
        return Moment._make([*times, _LANES.get(event.kind, "compute"), *what, device, texts[place]])

    def by_line(self) -> Any:
        """What each line of the program asked for, most launches first; prints as a table."""
        from .receipt_views import Lines

        found = [LineCosts(_text_of(place), *list(vars(c).values())[1:]) for place, c in self._lines.items()]
        return Lines(sorted(found, key=lambda costs: (-costs.launches, -costs.copies, -costs.waits, costs.line)))

    # -- as text, page and picture ---------------------------------------------------------------

    @property
    def hidden_on(self) -> str:
        """The devices that do not say what they do, empty if there are none."""
        return ", ".join(map(repr, self._invisible))

    def __repr__(self) -> str:
        from .receipt_views import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from .receipt_views import as_html

        return as_html(self)

    def compare(self, other: Receipt) -> str:
        """A table of this receipt and another, with what is more or less in the other."""
        from .receipt_views import comparison

        return comparison(self, other)

    def plot(self, first: int = 0, count: int = 200, only_waits: bool = False) -> Any:
        """A picture of `count` events from number `first` on: who works when, in one lane each.

        Lanes of the host, of computing, of copies in and out. With ``only_waits=True`` it is `count` synchronizations
        from number `first` on, and what the host asks for between them is left out. Of more than some 200 events the
        picture shows shares: how much of each short stretch of time a lane is busy. `fluxlite.jupyter.timeline` has
        buttons for all of this. Raises `ValueError` where a device does not tell, and where there are no such events.
        """
        from .timelines import Timeline

        return Timeline(self).picture(first, count, only_waits)


def _launch(receipt: Receipt, event: Event) -> None:
    receipt.launches = (receipt.launches or 0) + event.times
    receipt.launched[event.name] += event.times


def _memset(receipt: Receipt, event: Event) -> None:
    receipt.memsets += event.times


def _synchronize(receipt: Receipt, event: Event) -> None:
    receipt.synchronizations += event.times


def _first_use(receipt: Receipt, event: Event) -> None:
    receipt.first_uses += event.times


_RECORD = {
    events.LAUNCH: _launch,
    events.MEMSET: _memset,
    events.SYNCHRONIZE: _synchronize,
    events.FIRST_USE: _first_use,
    events.HOST_TO_DEVICE: lambda receipt, event: receipt.host_to_device.add(event),
    events.DEVICE_TO_HOST: lambda receipt, event: receipt.device_to_host.add(event),
    events.DEVICE_TO_DEVICE: lambda receipt, event: receipt.device_to_device.add(event),
}


def receipt() -> Receipt:
    """A receipt for what happens in ``with receipt() as r:``; several may be open, each counts everything.

    >>> from fluxlite.devices import gpu, simulate_gpu
    >>> with simulate_gpu(like="H200"):
    ...     with receipt() as r:
    ...         x = gpu(np.ones((8, 8), np.float32))
    ...         total = float((x @ x).sum())
    [ Info: Simulated:0, a simulated H200, stands in for a GPU.
    >>> r
    launches          2: matmul 1, sum 1
    host to device    1 copy, 256 bytes: 1 explicit, 0 implicit
    device to host    1 copy, 4 bytes: 0 explicit, 1 implicit
    synchronizations  1
    first uses        2
    peak memory       1,536 bytes
    40 ms simulated (H200); ... of this machine's time to simulate it
    """
    return Receipt()
