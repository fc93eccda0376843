"""Two kinds of clock: the host's time, and for each lane of a simulated GPU the time when it's free.

Launching a kernel takes the host a few microseconds. Then it goes on, and the GPU does its work in order. So the host's
clock says nothing about the GPU's work until something makes the host wait.

Times are whole nanoseconds. So a program takes exactly the same time whenever it starts.
"""

from __future__ import annotations

import threading
import time
from typing import NamedTuple

from .presets import Preset


class HostClock:
    """The host's time, `now`, which moves when the program asks a simulated GPU for something."""

    __slots__ = ("now", "lock", "_seen")

    def __init__(self) -> None:
        self.now = 0
        self.lock = threading.Lock()
        self._seen = time.perf_counter_ns()

    def catch_up(self) -> None:
        """Add the real time that the program spent since the latest `mark` or call of this."""
        with self.lock:
            seen = time.perf_counter_ns()
            self.now += seen - self._seen
            self._seen = seen

    def mark(self) -> None:
        """A call ends here. What follows is the program's own time."""
        self._seen = time.perf_counter_ns()


HOST = HostClock()

COPY, MEMSET = NOTHING_TO_LOAD = ("copy of memory", "memset")  # on the device, without a kernel


class Span(NamedTuple):
    """When work was requested, when the host went on, and when it began and ended on the device, in nanoseconds."""

    asked: int
    went_on: int
    start: int
    end: int


class Lanes:
    """When one device's compute lane and two copy lanes are free, and what each step costs."""

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
        # A complex product is four real ones. Types not listed here, integers too, are as fast as float32.
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
        """`count` kernels that share these bytes and operations. `kind` is the numbers' NumPy type character.

        The first time a device runs the operation `name`, it has to load the kernel, and the host waits for that.
        Returns a `Span`'s fields. Every computation comes through here, so it's written for speed.
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

    def launch_lasting(self, name: str, nanoseconds: int) -> tuple[int, int, int, int]:
        """One kernel that takes so long, as `launch` does otherwise."""
        with self.host.lock:
            asked = self.host.now
            now = asked + self.launch_time
            if name not in self._used:
                self._used.add(name)
                now += self._first_use
            start = max(now, self.compute)
            self.host.now, self.compute = now, start + nanoseconds
        return asked, now, start, self.compute

    def _duration(self, nbytes: float, operations: float, kind: str) -> int:
        per_operation = self._per_operation.get(kind, self._per_operation["f"])
        return max(self._floor, round(nbytes * self._per_byte), round(operations * per_operation))

    # -- the copy lanes --------------------------------------------------------------------------

    def copy_in(self, nbytes: int) -> Span:
        """A copy from pageable memory: it runs in order with other work, and the host waits until it's done."""
        with self.host.lock:
            asked = self.host.now
            start = max(asked, self.compute, self.copies_in)
            end = start + self._latency + round(nbytes * self._pageable)
            self.host.now = self.copies_in = end
            return Span(asked, end, start, end)

    def copy_in_pinned(self, nbytes: int) -> Span:
        """A copy from pinned memory: the host goes on and the copy overlaps computations, which may need `wait_for`."""
        with self.host.lock:
            asked = self.host.now
            self.host.now += self.launch_time
            start = max(self.host.now, self.copies_in)
            self.copies_in = start + self._latency + round(nbytes * self._pinned)
            return Span(asked, self.host.now, start, self.copies_in)

    def wait_for(self, time: int) -> None:
        """Later launches start at this `time` or after. The host doesn't wait."""
        with self.host.lock:
            self.compute = max(self.compute, time)

    def copy_out(self, nbytes: int) -> Span:
        """A copy to the host, which waits for all earlier work on the device, and then for the copy."""
        with self.host.lock:
            asked = self.host.now
            start = max(asked, self.compute, self.copies_out)
            end = start + self._latency + round(nbytes * self._pageable)
            self.host.now = self.copies_out = end
            return Span(asked, end, start, end)

    def copy_from(self, source: Lanes, nbytes: int) -> Span:
        """A copy from another device over the link, after all earlier work of both. The host goes on."""
        with self.host.lock:
            asked = self.host.now
            self.host.now += self.launch_time
            start = max(self.host.now, self.compute, self.copies_in, source.compute, source.copies_out)
            end = start + self._latency + round(nbytes * max(self._pinned, source._pinned))
            self.compute = self.copies_in = source.copies_out = end
            return Span(asked, self.host.now, start, end)

    # -- waiting ---------------------------------------------------------------------------------

    def busy_until(self) -> int:
        """When all work requested so far will be done."""
        return max(self.compute, self.copies_in, self.copies_out)

    def synchronize(self) -> Span:
        """The host waits for all lanes."""
        with self.host.lock:
            asked = self.host.now
            self.host.now = max(asked, self.busy_until())
            return Span(asked, self.host.now, asked, self.host.now)


def _nanoseconds(seconds: float) -> int:
    return round(seconds * 1e9)
