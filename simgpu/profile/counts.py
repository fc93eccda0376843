"""What a receipt holds: counts, events, lines of the program, and times. `recording.py` fills it in and shows it."""

import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from .. import events
from ..events import Event
from ..lines import Place, text_of
from .seconds import Seconds

MOST_KERNELS = 1_000


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
        copies = "1 copy" if self.count == 1 else f"{self.count:,} copies"
        size = "1 byte" if self.bytes == 1 else f"{self.bytes:,} bytes"
        return f"{copies}, {size}: {self.explicit:,} explicit, {self.implicit:,} implicit"


class Moment(NamedTuple):
    """One event of a receipt. Times are in seconds since the receipt was opened.

    `asked` is when the host requested it, and `went_on` when the host could continue. `start` and `end` are when the
    device worked on it, in its `lane`: ``"compute"``, ``"copies in"`` or ``"copies out"``. A wait is in the lane
    ``"host"``, and so is loading a kernel at its first use. On a real GPU we know only `asked`; the others are None.
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
    place: Place = ("", 0)

    def add(self, event: Event) -> None:
        self.launches += event.times * (event.kind == events.LAUNCH)
        self.waits += event.times * (event.kind == events.SYNCHRONIZE)
        if event.kind in _COPIES:
            self.copies += event.times
            self.bytes += event.bytes
            self.implicit += event.times * (not event.explicit)
        if event.span is None:
            self.seconds = None
        elif self.seconds is not None and _LANES.get(event.kind) != "host":
            self.seconds += (event.span.end - event.span.start) / 1e9


COUNT = {events.MEMSET: "memsets", events.SYNCHRONIZE: "synchronizations", events.FIRST_USE: "first_uses"}
_COPIES = (events.HOST_TO_DEVICE, events.DEVICE_TO_HOST, events.DEVICE_TO_DEVICE)
_LANES = {events.HOST_TO_DEVICE: "copies in", events.DEVICE_TO_HOST: "copies out"}
_LANES |= {events.SYNCHRONIZE: "host", events.FIRST_USE: "host"}


@dataclass(repr=False, eq=False)
class Counts:
    """What happened on all devices while a receipt was open; `Receipt` in `recording.py` describes the fields."""

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

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._watched: list[Any] = []
        self._invisible: list[Any] = []
        self._events: list[tuple] = []  # what happened and where; and its span, or the time on this machine
        self._once: dict[tuple, tuple] = {}  # what happened and where, kept once: most of it happens again
        self._lines: dict[Place, LineCosts] = defaultdict(LineCosts)
        self._used: list[Any] = []  # the simulated devices that did work
        self._host: Any = None  # the clock of a simulated GPU's host
        self._begin = self._wall_begin = 0.0
        self._end: tuple[float, float] | None = None  # on the host's clock, simulated or real, and on the real one

    def _until(self) -> float:
        if self._host is None:
            return time.perf_counter()
        return max(self._host.now, *(device.lanes.busy_until() for device in self._used))

    @property
    def seconds(self) -> Seconds:
        """The time until all requested work is done. While the receipt is open, it's the time so far."""
        simulated = self.simulated_seconds
        return Seconds(self.wall_seconds, "measured") if simulated is None else simulated

    @property
    def simulated_seconds(self) -> Seconds | None:
        """`seconds` if it's simulated, otherwise None."""
        if self._host is None:
            return None
        end = self._until() if self._end is None else self._end[0]
        return Seconds((end - self._begin) / 1e9, "simulated", self._used[0].card)

    @property
    def wall_seconds(self) -> float:
        """The real time on this machine, in seconds."""
        return (time.perf_counter() if self._end is None else self._end[1]) - self._wall_begin

    def count(self, event: Event) -> None:
        if event.kind == events.LAUNCH:
            self.launches = (self.launches or 0) + event.times
            self.launched[event.name] += event.times
            if event.figures is not None and len(self.kernels) < MOST_KERNELS:
                self.kernels.append(event.figures)
        elif event.kind in _COPIES:
            getattr(self, event.kind.replace(" ", "_")).add(event)
        else:
            name = COUNT[event.kind]
            setattr(self, name, getattr(self, name) + event.times)

    def timeline(self) -> list[Moment]:
        """The events in order, at most 100,000. `events_left_out` says how many more there were."""
        texts = {place: text_of(place) for place in self._lines}
        return [self._moment(said, when, texts[place]) for (said, place), *when in self._events]

    def _moment(self, said: tuple, when: list[Any], line: str) -> Moment:
        device, kind, *rest = said
        asked, went_on, start, end = when[0] - self._wall_begin, None, None, None
        if len(when) > 1:
            asked, went_on, start, end = ((time - self._begin) / 1e9 for time in when)
        return Moment._make((asked, went_on, start, end, _LANES.get(kind, "compute"), kind, *rest, device, line))

    def lines(self) -> list[LineCosts]:
        """What each line of the program cost, most launches first."""
        found = [replace(costs, line=text_of(place), place=place) for place, costs in self._lines.items()]
        return sorted(found, key=lambda costs: (-costs.launches, -costs.copies, -costs.waits, costs.line))

    @property
    def hidden_on(self) -> str:
        """The devices that don't report their work. Empty if there are none."""
        return ", ".join(map(repr, self._invisible))
