"""Two kinds of clock: the host's time, and for each stream of a simulated GPU the time when it's free.

Launching a kernel takes the host some microseconds. Then it goes on, and the GPU works in order: kernels and copies
wait in a queue, the *stream*. So the host's clock says nothing about the GPU's work until something makes the host
wait, such as reading a value, or a full queue. Times are whole nanoseconds, so a program always takes the same time.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from .presets import Preset
from .words import many


class HostClock:
    """The host's time, `now`. It moves when the program asks a simulated GPU for something."""

    def __init__(self) -> None:
        self.now = 0
        self.lock = threading.Lock()


HOST = HostClock()

# What `Lanes.refuse` is asked about.
COPY_IN, COPY_OUT, COPY_ACROSS = "a copy to the GPU", "reading a value from the GPU", "a copy from another GPU"
WAIT, DRAW = "waiting for the GPU", "a draw of random numbers"
COPY, MEMSET = NOTHING_TO_LOAD = ("copy of memory", "memset")  # on the device, without a kernel


class Span(NamedTuple):
    """When work was requested, when the host went on, and when it began and ended on the device, in nanoseconds."""

    asked: int
    went_on: int
    start: int
    end: int


class Node(NamedTuple):
    """What a graph has of one call: so many kernels, memsets or copies, and the nanoseconds that each takes."""

    name: str
    times: int
    each: int


def graph_in_words(nodes: list[Node]) -> str:
    """What a graph has.

    >>> graph_in_words([Node("add", 1, 1500), Node("sum", 2, 1500), Node(MEMSET, 1, 1500)])
    'graph of 3 kernels, 1 memset'
    """
    copies = sum(node.times for node in nodes if node.name == COPY)
    memsets = sum(node.times for node in nodes if node.name == MEMSET)
    kernels = sum(node.times for node in nodes) - copies - memsets
    parts = [many(kernels, "kernel")]
    if memsets:
        parts.append(many(memsets, "memset"))
    if copies:
        parts.append(many(copies, "copy", "copies"))
    return f"graph of {', '.join(parts)}"


class Lanes:
    """When one device's streams, and the lane for copies made ahead, are free, and what each step costs.

    Launches and copies go to the current stream, which is free at `compute`. Streams have numbers. Number 0 is there
    from the start, CUDA's null stream. It waits for the others, and they wait for it, except for those in
    `non_blocking`. Kernels of two streams don't run side by side: a large one fills a card by itself. So what streams
    gain here is that copies run beside kernels.
    """

    def __init__(self, like: Preset, host: HostClock) -> None:
        self.host = host
        self.compute = self.copies_in = host.now
        self.link = self.others = host.now  # when the latest copy in is done, and the other streams' latest kernel
        self.stream, self.non_blocking = 0, set[int]()
        self.known_as: Any = None  # the program's object for the current stream
        self._ends: dict[int, int] = {}  # when the streams that aren't current are free
        self._used = set(NOTHING_TO_LOAD)
        self.launch_time, self.library_time = _nanoseconds(like.launch), _nanoseconds(like.library)
        self.tape, self._first_use, self._start = map(_nanoseconds, (like.tape, like.first_use, like.start))
        self._latency, self._floor = _nanoseconds(like.latency), _nanoseconds(like.floor)
        self._per_byte = 1e9 / like.bandwidth
        # A complex product is four real ones. Types not listed here, integers too, are as fast as float32.
        self._per_operation = {
            "e": 1e9 / like.float16, "f": 1e9 / like.float32, "d": 1e9 / like.float64,
            "F": 4e9 / like.float32, "D": 4e9 / like.float64,
        }  # fmt: skip
        self._pageable, self._pinned, self._staging = (1e9 / x for x in (like.pageable, like.pinned, like.staging))
        self._few_bytes = self._floor / self._per_byte
        self._few_operations = self._floor / max(self._per_operation.values())
        self.graph_time, self._node = _nanoseconds(like.graph), _nanoseconds(like.node)
        self.nodes: list[Node] | None = None  # what's launched goes in here while it's captured, or is part of a graph
        self.is_capturing = False  # the host works for a capture as for launches; a graph's own kernels cost it nothing
        self.captures: dict[int, Any] = {}  # by the number of the stream that is capturing
        self.follows: Any = None  # the capture that the current stream takes part in
        self.refuse: Callable[[str], None] | None = None  # raises for what a graph can't have
        self._queue = deque([0] * like.queue, maxlen=like.queue)  # when the latest launches are done, the oldest first

    def start(self) -> Span | None:
        """The first time that anything is asked of this device: the driver and cuBLAS start, and the host waits."""
        took, self._start = self._start, 0
        if not took:
            return None
        with self.host.lock:
            asked = self.host.now
            self.host.now += took
            return Span(asked, self.host.now, asked, self.host.now)

    def launch(self, name, nbytes, operations=0.0, kind="f", count=1, library=False, lasting=0):
        """`count` kernels that share these bytes and operations, or one kernel `lasting` this many nanoseconds.

        `kind` is the numbers' NumPy type character. With `library`, the first kernel is from cuBLAS or CUB. Returns
        when it was loaded, and a `Span`'s fields. Every computation comes through here, so it's written for speed.
        """
        if self.nodes is not None:
            return self._add_node(name, nbytes, operations, kind, count, library, lasting)
        if lasting:
            each = lasting
        elif nbytes > self._few_bytes or operations > self._few_operations:
            rate = self._per_operation.get(kind, self._per_operation["f"])
            each = max(self._floor, round(nbytes / count * self._per_byte), round(operations / count * rate))
        else:
            each = self._floor
        host, queue = self.host, self._queue
        with host.lock:
            asked = loaded = host.now
            if name not in self._used:
                self._used.add(name)
                loaded += self._first_use
            now = loaded + (self.library_time if library else self.launch_time)
            if queue[0] > now:
                now = queue[0]
            start = now if now > self.compute else self.compute
            if self.others > start:
                start = self.others
            end = start + each
            queue.append(end)
            while count > 1:
                count -= 1
                now += self.launch_time
                if queue[0] > now:
                    now = queue[0]
                end = (now if now > end else end) + each
                queue.append(end)
            host.now = now
            self.compute = end
        return loaded, asked, now, start, end

    def _add_node(
        self, name: str, nbytes: float, operations: float, kind: str, count: int, library: bool, lasting: int
    ) -> tuple[int, int, int, int, int]:
        """What `launch` does for a graph: nothing starts, and a kernel may be shorter than one that's launched."""
        rate = self._per_operation.get(kind, self._per_operation["f"])
        each = max(self._node, round(nbytes / count * self._per_byte), round(operations / count * rate))
        self.nodes.append(Node(name, count, lasting or each))  # type: ignore[union-attr]
        with self.host.lock:
            asked = loaded = self.host.now
            if name not in self._used:
                self._used.add(name)
                loaded += self._first_use
            self.host.now = loaded
            if self.is_capturing:
                first = self.library_time if library else self.launch_time
                self.host.now += first + (count - 1) * self.launch_time
            return loaded, asked, self.host.now, self.compute, self.compute

    def launch_graph(self, nodes: list[Node]) -> tuple[Span, list[Span]]:
        """The host gives one order, and the device does all that's in it. The order's span, and that of each node."""
        with self.host.lock:
            asked = self.host.now
            now = max(asked + self.graph_time, self._queue[0])
            end = max(now, self.compute, self.others)
            spans = []
            for node in nodes:
                start, end = end, end + node.times * node.each
                spans.append(Span(now, now, start, end))
            self._queue.append(end)
            self.host.now = now
            self.compute = end
            return Span(asked, now, asked, now), spans

    def copy_in(self, nbytes: int, is_pinned: bool = False, ahead: bool = False) -> Span:
        """A copy from the host, which puts it into pinned memory if need be, and goes on. `ahead`: see `Card`."""
        if self.refuse is not None:
            self.refuse(COPY_IN)
        with self.host.lock:
            asked = self.host.now
            self.host.now += self.launch_time + (0 if is_pinned else round(nbytes * self._staging))
            start = max(self.host.now, self.compute, self.copies_in if ahead else self.link)
            end = start + self._latency + round(nbytes * self._pinned)
            if ahead:
                self.copies_in = end
            else:
                self.compute = self.link = end
            return Span(asked, self.host.now, start, end)

    def copy_out(self, nbytes: int) -> Span:
        """A copy to the host, which waits for all earlier work in the stream, and for the copy."""
        if self.refuse is not None:
            self.refuse(COPY_OUT)
        with self.host.lock:
            asked = self.host.now
            start = max(asked + self.launch_time, self.compute)
            end = start + self._latency + round(nbytes * self._pageable)
            self.host.now = self.compute = end
            return Span(asked, end, start, end)

    def copy_from(self, source: Lanes, nbytes: int) -> Span:
        """A copy from another device over the link, after all earlier work of both. The host goes on."""
        if self.refuse is not None:
            self.refuse(COPY_ACROSS)
        with self.host.lock:
            asked = self.host.now
            self.host.now += self.launch_time
            start = max(self.host.now, self.compute, source.compute)
            end = start + self._latency + round(nbytes * max(self._pinned, source._pinned))
            self.compute = source.compute = end
            return Span(asked, self.host.now, start, end)

    def record(self) -> None:
        """The host notes a call for the gradient. The time includes following it back later."""
        with self.host.lock:
            self.host.now += self.tape

    def busy_until(self) -> int:
        """When all work requested so far will be done."""
        return max(self.compute, self.copies_in, *self._ends.values())

    def end_of(self, stream: int) -> int:
        """When the work requested so far in this stream will be done."""
        self._ends[self.stream] = self.compute
        if stream:
            return self._ends.get(stream, 0)
        return max(end for number, end in self._ends.items() if number not in self.non_blocking)

    def enter(self, stream: int) -> None:
        """Make this stream the current one."""
        end = self.end_of(stream)
        if stream not in self.non_blocking:
            end = max(end, self._ends.get(0, 0))
        self.stream, self.compute, self.others = stream, end, self._queue[-1]

    def wait_in(self, stream: int, time: int) -> None:
        """Later work in this stream starts at this `time` or after. The host doesn't wait."""
        if stream == self.stream:
            with self.host.lock:
                self.compute = max(self.compute, time)
        else:
            self._ends[stream] = max(time, self._ends.get(stream, 0))

    def synchronize(self, until: int | None = None) -> Span:
        """The host waits for all work, or for this time."""
        with self.host.lock:
            asked = self.host.now
            self.host.now = max(asked, self.busy_until() if until is None else until)
            return Span(asked, self.host.now, asked, self.host.now)


def _nanoseconds(seconds: float) -> int:
    return round(seconds * 1e9)
