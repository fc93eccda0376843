"""Streams are queues of work on a card, and events are marks in them, with times. `clocks.py` says when what runs."""

import itertools
import warnings
from typing import Any, ClassVar

from .. import events
from ..clocks import WAIT
from ..words import Missing, in_words
from .capture import Capture, Note, blocking_capture, follow, refuse_null_stream
from .graph import Graph, graph_of
from .runtime import CUDARuntimeError, card

_numbers = itertools.count(16)


class Stream:
    """A queue of work on the current card, which runs in order. `Stream.null` is there from the start.

    Streams wait for the null stream and it waits for them, unless they're `non_blocking`. A stream is current for all
    threads; in CuPy, for one. Raises `RuntimeError` if you enter it while another card is current.
    """

    null: ClassVar[Any]
    ptds: ClassVar[Any]

    def __init__(
        self, null: bool = False, non_blocking: bool = False, ptds: bool = False, priority: int | None = None
    ) -> None:
        self._card = None if null or ptds else card()
        self.ptr = 0 if null or ptds else next(_numbers)
        self._earlier: list[Stream] = []  # what was current before each open ``with`` block
        if non_blocking and self._card:
            self._card.lanes.non_blocking.add(self.ptr)

    device_id = property(lambda self: -1 if self._card is None else self._card.index)
    _on = property(lambda self: self._card or card())  # the null stream is on each card

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.ptr == other.ptr

    def __hash__(self) -> int:
        return self.ptr

    def __enter__(self) -> "Stream":
        earlier = get_current_stream()
        self.use()
        self._earlier.append(earlier)
        return self

    def __exit__(self, *exc_info: Any) -> None:
        self._earlier.pop()._become_current(self._on)

    def use(self) -> "Stream":
        """Make it the current stream. Returns it."""
        if self._on is not card():
            raise RuntimeError(f"this stream is on {self._on}, and the current device is {card()}: with x.device:")
        self._become_current(self._on)
        return self

    def _become_current(self, on: Any) -> None:
        on.lanes.enter(self.ptr)
        on.lanes.known_as = self
        if on.lanes.captures or on.lanes.follows:
            follow(on)

    @property
    def done(self) -> bool:
        """Whether all work in it is done. While it captures, CUDA has no answer, and there will be no graph."""
        capture = self._capture()
        if capture is not None:
            capture.is_invalid = True
            return False
        return self._on.lanes.end_of(self.ptr) <= self._on.host.now

    def synchronize(self) -> None:
        """Wait for all work in it. `CUDARuntimeError` while it captures."""
        capture = self._capture()
        if capture is not None:
            capture.refuse(WAIT)
        _wait(self._on, self._on.lanes.end_of(self.ptr))

    def record(self, event: Any = None) -> "Event":
        """Put `event`, or a new one, behind the work in this stream. Returns the event."""
        (event := event or Event()).record(self)
        return event

    def wait_event(self, event: "Event") -> None:
        """Later work in this stream starts after `event`. The host doesn't wait.

        If the event was recorded in a stream that captures, this one captures, too. `CUDARuntimeError` if this one
        captures, and the event is from outside.
        """
        capture = self._capture()
        if event._capture is not None and event._capture.origin in self._on.lanes.captures:
            if capture is None:
                event._capture.join(self.ptr)
                follow(self._on)
            event._capture.unjoined.discard(event._recorded_in)
            return
        if capture is not None and event._time is not None:
            capture.is_invalid = True
            raise CUDARuntimeError(905, "dependency created on uncaptured work in another stream")
        self._on.lanes.wait_in(self.ptr, event._time or 0)

    # -- capturing: what's asked for becomes a graph -----------------------------------------------------------------

    def begin_capture(self, mode: int | None = None) -> None:
        """From now on, nothing that goes to this stream runs: it's noted, and `end_capture` makes a graph of it.

        `mode` is one of ``cuda.runtime.streamCaptureMode…``, and makes no difference here. What a graph can't have
        raises, as in CuPy: reading values and copies to and from the host `RuntimeError`, products and other calls of
        CUDA's libraries `NotImplementedError`, waiting `CUDARuntimeError`.
        """
        if self.ptr == 0:
            raise RuntimeError("cannot capture on the default (legacy) stream")
        if mode not in (None, 0, 1, 2):
            raise CUDARuntimeError(1, "invalid argument")
        if self._capture() is not None:
            raise CUDARuntimeError(401, "the operation cannot be performed in the present state")
        self._on.lanes.captures[self.ptr] = Capture(self._on, self.ptr)
        follow(self._on)

    def end_capture(self) -> Graph:
        """The graph of what has been asked for since `begin_capture`. `CUDARuntimeError` if it can't be one."""
        capture = self._capture()
        if capture is None:
            raise CUDARuntimeError(401, "the operation cannot be performed in the present state")
        if capture.origin != self.ptr:
            capture.is_invalid = True
            raise CUDARuntimeError(903, "the capture was not initiated in this stream")
        capture.end()
        if capture.is_invalid:
            raise CUDARuntimeError(901, "operation failed due to a previous error during capture")
        if capture.unjoined:
            raise CUDARuntimeError(904, "capturing stream has unjoined work")
        return graph_of(capture)

    def is_capturing(self) -> bool:
        """Whether it captures. Raises `RuntimeError` if there will be no graph, because of an error."""
        if self.ptr == 0:
            if blocking_capture(self._on) is not None:
                refuse_null_stream()
            return False
        capture = self._capture()
        if capture is not None and capture.is_invalid:
            raise RuntimeError("the stream was capturing, but an error has invalidated the capture sequence")
        return capture is not None

    def _capture(self) -> Capture | None:
        return self._on.lanes.captures.get(self.ptr)

    def launch_host_func(self, callback: Any, arg: Any) -> None:
        """Call ``callback(arg)`` on the host, after the work in this stream. Here, values are there at once."""
        capture = self._capture()
        if capture is None:
            callback(arg)
        else:
            capture.notes.append(Note(callback, (arg,), {}, None))

    def __cuda_stream__(self) -> tuple[int, int]:
        """For another library: the protocol's version, and the stream's number."""
        return 0, self.ptr

    @classmethod
    def from_external(cls, obj: Any) -> "Stream":
        """The stream behind another library's object, which says its number by ``__cuda_stream__()``."""
        if not hasattr(obj, "__cuda_stream__"):
            raise TypeError(f"from_external takes an object with __cuda_stream__, got {in_words(obj)}")
        version, ptr = obj.__cuda_stream__()
        made = cls(null=ptr == 0)
        made.ptr = ptr
        return made

    def __getattr__(self, name: str) -> Any:
        raise Missing(f"Stream.{name} isn't simulated")


class ExternalStream(Stream):
    """The stream of the current card, or of this one, with the number `ptr`, which another library knows it by."""

    def __init__(self, ptr: int, device_id: int = -1) -> None:
        warnings.warn(
            "ExternalStream is deprecated. Use Stream.from_external() instead, with an object that has __cuda_stream__",
            DeprecationWarning,
            stacklevel=2,
        )
        super().__init__(null=ptr == 0)
        self._card = card(None if device_id == -1 else device_id) if ptr else None
        self.ptr = ptr
        self._device_id = device_id

    device_id = property(lambda self: self._device_id)


Stream.null = Stream.ptds = Stream(null=True)


def get_current_stream(device_id: int = -1) -> Stream:
    """The stream that work goes to, on the current card or this one."""
    return card(None if device_id == -1 else device_id).lanes.known_as or Stream.null


class Event:
    """A mark in a stream: `record` puts it behind the work that's there, and `get_elapsed_time` reads two of them."""

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        self._has_time, self._on = not disable_timing, card()
        self._time: int | None = None  # when the work before it is done
        self._capture: Capture | None = None  # of the stream that it was recorded in
        self._recorded_in = 0

    def record(self, stream: Any = None) -> None:
        """Put it into `stream`, or into the current one."""
        if stream is None:
            stream = get_current_stream()
        self._on = stream._on
        self._capture = stream._capture()
        self._recorded_in = stream.ptr
        if self._capture is not None:
            self._time = None
            return
        self._time = max(self._on.host.now, self._on.lanes.end_of(stream.ptr))

    @property
    def done(self) -> bool:
        """Whether the work before it is done. `CUDARuntimeError` if that's captured."""
        self._check()
        return (self._time or 0) <= self._on.host.now

    def _check(self) -> None:
        if self._capture is not None:
            raise CUDARuntimeError(907, "operation not permitted on an event last recorded in a capturing stream")

    def synchronize(self) -> None:
        """Wait for the work before it. `CUDARuntimeError` if that's captured."""
        self._check()
        if self._time is not None:
            _wait(self._on, self._time)


def get_elapsed_time(start_event: Event, end_event: Event) -> float:
    """The milliseconds between two events, simulated.

    Raises `CUDARuntimeError` as CUDA does: cudaErrorNotReady if the work before one of them isn't done yet, so
    synchronize first; cudaErrorInvalidResourceHandle if one wasn't recorded.
    """
    start, end = start_event._time, end_event._time
    if start is None or end is None or not (start_event._has_time and end_event._has_time):
        raise CUDARuntimeError(400, "both events must be recorded, and made without disable_timing")
    if not (start_event.done and end_event.done):
        raise CUDARuntimeError(600, "the work before an event isn't done: call end.synchronize() first")
    return (end - start) / 1e6


def _wait(device: Any, until: int) -> None:
    events.emit(device, events.SYNCHRONIZE, "synchronize", device.lanes.synchronize(until))
