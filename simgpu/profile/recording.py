"""A receipt counts what part of a program asks of its devices. On a simulated GPU, it's exact and always the same."""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

from .. import events
from ..events import Event, listeners
from ..lines import Line, line_of_call, text_of
from ..places import estimating
from ..words import as_table, many
from .pictures import Moment, Picture, Timeline, draw
from .seconds import Seconds, duration

MOST_EVENTS = 100_000
MOST_KERNELS = 1_000
MOST_NAMES = 8
MOST_LINES = 20


@dataclass
class Copies:
    """Copies in one direction. The program asked for the explicit ones; the implicit ones are side effects."""

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
        copied = f"{many(self.count, 'copy', 'copies')}, {many(self.bytes, 'byte')}"
        return f"{copied}: {self.explicit:,} explicit, {self.implicit:,} implicit"


@dataclass
class LineCosts:
    """What one line of the program cost. `seconds` is how long the devices worked on it, None on a real GPU.

    `implicit` counts the copies that the program didn't ask for, and `place` is its file and number.
    """

    line: str = ""
    launches: int = 0
    copies: int = 0
    bytes: int = 0
    waits: int = 0
    seconds: float | None = 0.0
    implicit: int = 0
    place: Line = ("", 0)

    def add(self, event: Event) -> None:
        if event.kind in (events.LAUNCH, events.GRAPH):
            self.launches += event.times
        elif event.kind == events.SYNCHRONIZE:
            self.waits += event.times
        elif event.kind in _COPIES:
            self.copies += event.times
            self.bytes += event.bytes
            if not event.explicit:
                self.implicit += event.times
        if event.span is None:
            self.seconds = None
        elif self.seconds is not None and _LANES.get(event.kind) != "host":
            self.seconds += (event.span.end - event.span.start) / 1e9


_COUNTS = {
    events.LAUNCH: "launches", events.GRAPH: "launches", events.MEMSET: "memsets",
    events.SYNCHRONIZE: "synchronizations", events.FIRST_USE: "first_uses",
}  # fmt: skip
_GRAPH = "graph of "  # how the name of each graph begins
_COPIES = (events.HOST_TO_DEVICE, events.DEVICE_TO_HOST, events.DEVICE_TO_DEVICE)
_LANES = {events.HOST_TO_DEVICE: "copies in", events.DEVICE_TO_HOST: "copies out"}
_LANES |= {events.SYNCHRONIZE: "host", events.FIRST_USE: "host", events.GRAPH: "host"}


def _rows(receipt: Receipt) -> Iterator[tuple[str, str]]:
    hidden = f"not visible on {', '.join(map(repr, receipt._invisible))}"
    shown = counted_names(receipt.launched)
    if receipt.launches is None:
        yield "launches", hidden
    elif shown:
        yield "launches", f"{receipt.launches:,}: {shown}"
    else:
        yield "launches", f"{receipt.launches:,}"
    if receipt.in_graphs:
        yield "  in graphs", f"{receipt.in_graphs.total():,}: {counted_names(receipt.in_graphs)}"
    if receipt.memsets:
        yield "memsets", f"{receipt.memsets:,}"
    by_hand = {figures.name: figures.summary for figures in receipt.kernels}  # the latest launch of each
    yield from ((f"  {name}", summary) for name, summary in list(by_hand.items())[:MOST_NAMES])
    yield "host to device", str(receipt.host_to_device)
    yield "device to host", str(receipt.device_to_host)
    if receipt.device_to_device.count:
        yield "device to device", str(receipt.device_to_device)
    yield "synchronizations", f"{receipt.synchronizations:,}"
    if receipt.first_uses:
        yield "first uses", f"{receipt.first_uses:,}"
    if receipt.peak_memory is None:
        yield "peak memory", hidden
    else:
        yield "peak memory", f"{receipt.peak_memory:,} bytes"
    if receipt.events_left_out:
        yield "timeline", f"the first {len(receipt.timeline()):,} events; {receipt.events_left_out:,} more left out"


def counted_names(counts: Counter) -> str:
    """The operations that occur most often, with their number. Graphs come first.

    >>> counted_names(Counter({"add": 30, "graph of 26 kernels": 2, "sum": 1}))
    '2 graphs of 26 kernels, add 30, sum 1'
    """
    items = sorted(counts.items(), key=lambda item: (not item[0].startswith(_GRAPH), -item[1], item[0]))
    shown = []
    for name, count in items[:MOST_NAMES]:
        if name.startswith(_GRAPH):
            shown.append(f"{many(count, 'graph')} of {name.removeprefix(_GRAPH)}")
        else:
            shown.append(f"{name} {count:,}")
    if len(items) > MOST_NAMES:
        shown.append("…")
    return ", ".join(shown)


def _time(receipt: Receipt) -> str:
    if receipt.simulated_seconds is None:
        return str(receipt.seconds)
    return f"{receipt.seconds}; {duration(receipt.wall_seconds)} of this machine's time to simulate it"


class Lines(list):
    """What each line of the program cost. Prints as a table of the first twenty."""

    def __repr__(self) -> str:
        rows = [("launches", "copies", "bytes", "waits", "device's time", "line")]
        for costs in self[:MOST_LINES]:
            counts = [f"{number:,}" for number in (costs.launches, costs.copies, costs.bytes, costs.waits)]
            time = "not visible" if costs.seconds is None else duration(costs.seconds)
            rows.append((*counts, time, costs.line))
        shown = as_table(rows)
        if len(self) > MOST_LINES:
            shown.append(f"and {len(self) - MOST_LINES:,} more lines")
        return "\n".join(shown)


@dataclass(repr=False, eq=False)
class Receipt:
    """Counts what happens on all devices while it's open, in any thread (CUDA.jl: ``CUDA.@profile``).

    `launches` counts what the host launches, and `launched` says which operations that belongs to. A graph is one
    launch, and `in_graphs` says which kernels, memsets and copies are in it. `host_to_device`, `device_to_host` and
    `device_to_device` have ``.count``, ``.bytes``, ``.explicit`` and ``.implicit``. `synchronizations` counts how
    often the host waited, `first_uses` the operations whose kernel had to be loaded, and the start of the GPU.
    `peak_memory` is the most bytes in use on a device. `kernels` has the figures of the first 1,000 launches of kernels
    written by hand (`simgpu.jit`). A real GPU doesn't say what it launched: there, `launches` and `peak_memory` are
    None, and we count only the copies that `gpu`, `cpu` and the like make, and the waits that CuPy reports.

    `seconds` is the time until all requested work is done: simulated on a simulated GPU, otherwise measured. (Closing a
    receipt waits for a real GPU.) Like a stopwatch, it includes work that was still running when the receipt was
    opened, so synchronize first. On a simulated GPU, the host's own computations take no time.

    See also `timeline()`, `by_line()` and `plot()`.
    """

    launches: int | None = 0
    memsets: int = 0
    launched: Counter = field(default_factory=Counter)
    kernels: list = field(default_factory=list)
    host_to_device: Copies = field(default_factory=Copies)
    device_to_host: Copies = field(default_factory=Copies)
    device_to_device: Copies = field(default_factory=Copies)
    synchronizations: int = 0
    first_uses: int = 0
    peak_memory: int | None = 0
    events_left_out: int = 0
    in_graphs: Counter = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._invisible: list[Any] = []
        self._events: list[tuple] = []  # what happened and where; and its span, or the time on this machine
        self._once: dict[tuple, tuple] = {}  # what happened and where, kept once: most of it happens again
        self._lines: dict[Line, LineCosts] = defaultdict(LineCosts)
        self._used: list[Any] = []  # the simulated devices that did work
        self._begin = self._wall_begin = 0.0
        self._wall_first: float | None = None  # when the first event came
        self._end: tuple[float, float] | None = None  # on the simulated host's clock, and on the real one

    def __enter__(self) -> Receipt:
        self._watched = [device for device in self._devices() if device.watch_peak()]
        self._invisible = [device for device in self._devices() if device not in self._watched]
        device = self._device()
        self._estimate = getattr(device, "estimate", None)
        if device is not None and device.kind_of_time == "simulated":
            self._use(device, device.host.now)
        self._wall_begin = time.perf_counter()
        listeners.append(self._record)
        return self

    def __exit__(self, *exc_info: Any) -> None:
        listeners.remove(self._record)
        if exc_info[0] is None:
            for device in self._invisible:
                device.synchronize()
        self._end = self._now()
        peaks = [device.watched_peak() for device in self._watched]
        # A device that's new since then was in use only while the receipt was open.
        known = self._watched + self._invisible
        peaks += [device.memory().peak or 0 for device in self._devices() if device not in known]
        self.peak_memory = max(peaks, default=0)
        if self._invisible:
            self.launches = self.peak_memory = None
        for place in self._lines:
            text_of(place)  # reads the files now, before they can change

    def _devices(self) -> list[Any]:
        from ..device import devices

        if estimating.get():
            return [estimating.get()]
        return devices()

    def _device(self) -> Any:
        from ..device import current

        return current()

    def _use(self, device: Any, since: int) -> None:
        """A simulated device does work. The first one brings the time when it all begins."""
        if not self._used:
            self._begin = since
        if not any([known is device for known in self._used]):
            self._used.append(device)

    def _record(self, event: Event) -> None:
        if getattr(event.device, "estimate", None) is not self._estimate:
            return
        place, now = line_of_call(), time.perf_counter()
        with self._lock:
            if self._wall_first is None:
                self._wall_first = now
            if event.span is not None:
                self._use(event.device, event.span.asked)
            if event.kind in _COPIES:
                getattr(self, event.kind.replace(" ", "_")).add(event)
            elif event.kind == events.IN_GRAPH:
                self.in_graphs[event.name] += event.times
            else:
                name = _COUNTS[event.kind]
                setattr(self, name, getattr(self, name) + event.times)
            if event.kind in (events.LAUNCH, events.GRAPH):
                self.launched[event.name] += event.times
                if event.figures is not None and len(self.kernels) < MOST_KERNELS:
                    self.kernels.append(event.figures)
            self._lines[place].add(event)
            if len(self._events) < MOST_EVENTS:
                what = event[:6], place  # without its span and figures
                self._events.append((self._once.setdefault(what, what), *(event.span or (now,))))
            else:
                self.events_left_out += 1

    def _now(self) -> tuple[float, float]:
        """The end, or until then, when all that's requested so far will be done: simulated, and real."""
        done = [max(device.host.now, device.lanes.busy_until()) for device in self._used]
        return self._end or (max(done, default=0), time.perf_counter())

    @property
    def seconds(self) -> Seconds:
        """The time until all requested work is done. While the receipt is open, it's the time so far."""
        simulated = self.simulated_seconds
        if simulated is None:
            return Seconds(self.wall_seconds, "measured")
        return simulated

    @property
    def simulated_seconds(self) -> Seconds | None:
        """`seconds` if it's simulated, otherwise None."""
        if not self._used:
            return None
        return Seconds((self._now()[0] - self._begin) / 1e9, "simulated", self._used[0].card)

    @property
    def wall_seconds(self) -> float:
        """The real time on this machine, in seconds."""
        return self._now()[1] - self._wall_begin

    @property
    def wall_seconds_in_use(self) -> float:
        """The real time on this machine since the first event, so without a program's imports. In seconds."""
        if self._wall_first is None:
            return 0.0
        return self._now()[1] - self._wall_first

    def timeline(self) -> list[Moment]:
        """The events in order, at most 100,000. `events_left_out` says how many more there were."""
        texts = {place: text_of(place) for place in self._lines}
        found = []
        for ((device, kind, *rest), place), *when in self._events:
            times: list[Any] = [when[0] - self._wall_begin, None, None, None]
            if len(when) > 1:  # simulated
                times = [(time - self._begin) / 1e9 for time in when]
            found.append(Moment._make((*times, _LANES.get(kind, "compute"), kind, *rest, device, texts[place])))
        return found

    def by_line(self) -> Lines:
        """What each line cost, most launches first. A backward pass belongs to the line with `gradient` or `back`."""
        found = [replace(costs, line=text_of(place), place=place) for place, costs in self._lines.items()]
        return Lines(sorted(found, key=lambda costs: (-costs.launches, -costs.copies, -costs.waits, costs.line)))

    def __repr__(self) -> str:
        return "\n".join([*(f"{name:<17} {text}" for name, text in _rows(self)), _time(self)])

    def _repr_html_(self) -> str:
        cells = "".join(
            f'<tr><th scope="row" style="text-align:left">{escape(name)}</th>'
            f'<td style="text-align:left">{escape(text)}</td></tr>'
            for name, text in _rows(self)
        )
        below = "caption-side:bottom;text-align:left"  # the last line, as in the text
        return f'<table><caption style="{below}">{escape(_time(self))}</caption>{cells}</table>'

    def plot(self, first: int = 0, count: int = 200, only_waits: bool = False) -> Picture:
        """A picture of `count` events from number `first` on: what ran when, with one lane each.

        The lanes are the host, computing, copies in and copies out. ``only_waits=True`` shows `count` synchronizations
        instead, and leaves out the host's other steps between them. With more than about 200 events, the picture shows
        how busy each lane is in each short interval. A notebook shows it; ``.svg`` is its text. Raises `ValueError` if
        a device doesn't report times, or if there are no such events.
        """
        return draw(*Timeline(self).window(first, count, only_waits), self.seconds.card)


def receipt() -> Receipt:
    """A receipt for what happens in ``with receipt() as r:``. If you open several, each of them counts everything.

    >>> import numpy as np
    >>> import simgpu
    >>> x = simgpu.asarray(np.ones((8, 8), np.float32))
    >>> with receipt() as r:
    ...     total = float((x @ x).sum())
    >>> print(r.launches, r.launched["matmul"], r.device_to_host, r.synchronizations, sep="; ")
    2; 1; 1 copy, 4 bytes: 0 explicit, 1 implicit; 1
    """
    return Receipt()
