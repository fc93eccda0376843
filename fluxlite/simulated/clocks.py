"""Two clocks: the host's, and for each lane of a simulated GPU the time at which it is free.

To launch a kernel takes the host some microseconds; then it goes on, and the GPU works through what it was asked to
do, one after the other. So the host's clock says nothing about the GPU's work until something makes the host wait.

Times are whole nanoseconds: then a program takes the same time whenever it starts, to the last digit.
"""

from __future__ import annotations

import threading
import time
from typing import NamedTuple

from .presets import Preset


class HostClock:
    """The time of the host, `now`, which moves when something is asked of a simulated GPU."""

    __slots__ = ("now", "lock", "_seen")

    def __init__(self) -> None:
        self.now = 0
        self.lock = threading.Lock()
        self._seen = time.perf_counter_ns()

    def catch_up(self) -> None:
        """Add the real time that the program took for itself since the last `mark`, or the last call of this."""
        with self.lock:
            seen = time.perf_counter_ns()
            self.now += seen - self._seen
            self._seen = seen

    def mark(self) -> None:
        """A call ends here: what follows is the program's own time."""
        self._seen = time.perf_counter_ns()


HOST = HostClock()

COPY, MEMSET = NOTHING_TO_LOAD = ("copy of memory", "memset")  # on the device, without a kernel


class Span(NamedTuple):
    """When something was asked for, when the host went on, when it began and ended on the device; nanoseconds."""

    asked: int
    went_on: int
    start: int
    end: int


class Lanes:
    """When the compute lane and the two copy lanes of one device are free, and what each step costs."""

    __slots__ = (
        "host", "compute", "copies_in", "copies_out", "launch_time", "_used", "_first_use", "_latency", "_floor",
        "_per_byte", "_per_operation", "_pageable", "_pinned", "_few_bytes", "_few_operations",
    )  # fmt: skip

    def __init__(self, like: Preset, host: HostClock) -> None:
        self.host = host
        self.compute = self.copies_in = self.copies_out = host.now
        self._used = set(NOTHING_TO_LOAD)
        self.launch_time, self._first_use = _nanoseconds(like.launch), _nanoseconds(like.first_use)
        self._latency, self._floor = _nanoseconds(like.latency), _nanoseconds(like.floor)
        self._per_byte = 1e9 / like.bandwidth
        # A complex product is four of real numbers; what is not here, integers too, is as fast as float32.
        self._per_operation = {
            "e": 1e9 / like.float16, "f": 1e9 / like.float32, "d": 1e9 / like.float64,
            "F": 4e9 / like.float32, "D": 4e9 / like.float64,
        }  # fmt: skip
        self._pageable, self._pinned = 1e9 / like.pageable, 1e9 / like.pinned
        self._few_bytes = self._floor / self._per_byte
        self._few_operations = self._floor / max(self._per_operation.values())

    # -- the compute lane ------------------------------------------------------------------------

    def launch(
        self, name: str, nbytes: float, operations: float = 0.0, kind: str = "f", count: int = 1
    ) -> tuple[int, int, int, int]:
        """`count` kernels, which share these bytes and operations on numbers of this `kind`, a NumPy type character.

        The first time that a device does the operation `name`, its kernel has to be loaded, which the host waits for.
        Gives what a `Span` holds; every call that computes comes by here, so it is made for speed.
        """
        if nbytes > self._few_bytes or operations > self._few_operations:
            each = self._duration(nbytes / count, operations / count, kind)
        else:
            each = self._floor
        host = self.host
        with host.lock:
            asked = host.now
            now = asked + self.launch_time
            if name not in self._used:
                self._used.add(name)
                now += self._first_use
            start = now if now > self.compute else self.compute
            end = start + each
            while count > 1:
                count -= 1
                now += self.launch_time
                end = (now if now > end else end) + each
            host.now = now
            self.compute = end
        return asked, now, start, end

    def _duration(self, nbytes: float, operations: float, kind: str) -> int:
        per_operation = self._per_operation.get(kind, self._per_operation["f"])
        return max(self._floor, round(nbytes * self._per_byte), round(operations * per_operation))

    # -- the copy lanes --------------------------------------------------------------------------

    def copy_in(self, nbytes: int) -> Span:
        """From pageable memory: in the order of everything asked for, and the host waits until it is done."""
        with self.host.lock:
            asked = self.host.now
            start = max(asked, self.compute, self.copies_in)
            end = start + self._latency + round(nbytes * self._pageable)
            self.host.now = self.copies_in = end
            return Span(asked, end, start, end)

    def copy_in_pinned(self, nbytes: int) -> Span:
        """From pinned memory: the host goes on, and the copy runs beside the computing, which may need `wait_for`."""
        with self.host.lock:
            asked = self.host.now
            self.host.now += self.launch_time
            start = max(self.host.now, self.copies_in)
            self.copies_in = start + self._latency + round(nbytes * self._pinned)
            return Span(asked, self.host.now, start, self.copies_in)

    def wait_for(self, time: int) -> None:
        """What is launched from now on begins no sooner than at this `time`; the host does not wait."""
        with self.host.lock:
            self.compute = max(self.compute, time)

    def copy_out(self, nbytes: int) -> Span:
        """To the host, which waits until the device has done everything before it, and then for the copy."""
        with self.host.lock:
            asked = self.host.now
            start = max(asked, self.compute, self.copies_out)
            end = start + self._latency + round(nbytes * self._pageable)
            self.host.now = self.copies_out = end
            return Span(asked, end, start, end)

    def copy_from(self, source: Lanes, nbytes: int) -> Span:
        """From another device, over the link: in the order of what both were asked to do; the host goes on."""
        with self.host.lock:
            asked = self.host.now
            self.host.now += self.launch_time
            start = max(self.host.now, self.compute, self.copies_in, source.compute, source.copies_out)
            end = start + self._latency + round(nbytes * max(self._pinned, source._pinned))
            self.compute = self.copies_in = source.copies_out = end
            return Span(asked, self.host.now, start, end)

    # -- waiting ---------------------------------------------------------------------------------

    def busy_until(self) -> int:
        """When everything asked for so far will be done."""
        return max(self.compute, self.copies_in, self.copies_out)

    def synchronize(self) -> Span:
        """The host waits for all lanes."""
        with self.host.lock:
            asked = self.host.now
            self.host.now = max(asked, self.busy_until())
            return Span(asked, self.host.now, asked, self.host.now)


def _nanoseconds(seconds: float) -> int:
    return round(seconds * 1e9)
