"""What happens while a stream captures: calls are noted, and what a graph can't have is refused, as CuPy and CUDA do.

A call's result has its shape at once, and no values. What computes them is noted, and runs each time that the graph is
launched, on the same memory. What the call launches becomes the graph's nodes.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import clocks, launches
from ..clocks import Node
from ..dispatch import quiet
from ..formulas import assign
from ..meta import MetaArray
from ..shapes import ASSIGN, Formula, outcome
from .runtime import CUDARuntimeError

# CuPy's cuda/memory.pyx:590 and :715; cupy_backends/cuda/libs: cublas.pyx:643, cusolver.pyx:1500, curand.pyx:145
_CUPYS = {
    clocks.COPY_IN: RuntimeError("the current stream is capturing, so H2D transfers are disallowed"),
    clocks.COPY_OUT: RuntimeError("the current stream is capturing, so D2H transfers are disallowed"),
    clocks.COPY_ACROSS: NotImplementedError("simgpu doesn't capture copies from one card to another"),
    clocks.DRAW: NotImplementedError("calling cuRAND API during stream capture is currently unsupported"),
    "cuBLAS": NotImplementedError("calling cuBLAS API during stream capture is currently unsupported"),
    "cuSOLVER": NotImplementedError("calling cuSOLVER API during stream capture is currently unsupported"),
}
_BY_CUBLAS = {np.dot, np.inner, np.vdot, np.tensordot, np.einsum}
_BY_CUSOLVER = {
    np.linalg.svd, np.linalg.qr, np.linalg.eigh, np.linalg.eigvalsh, np.linalg.inv, np.linalg.pinv, np.linalg.solve,
    np.linalg.det, np.linalg.slogdet, np.linalg.cholesky, np.linalg.lstsq, np.linalg.tensorinv, np.linalg.tensorsolve,
    np.linalg.matrix_rank, np.linalg.cond,
}  # fmt: skip
_MAKES_NOTHING = (np.empty, np.empty_like)  # memory that nothing has been written to


class Note(NamedTuple):
    """A call whose values are computed when the graph is launched, and the result that gets them."""

    function: Callable
    args: tuple
    kwargs: dict[str, Any]
    result: Any

    def run(self) -> None:
        _put(self.result, quiet.run(self.function, *self.args, **self.kwargs))


def _put(result: Any, values: Any) -> None:
    """Write `values` to the memory that `result` has had since the capture. A view is there already."""
    if isinstance(result, (tuple, list)):
        for part, new in zip(result, values):
            _put(part, new)
    elif isinstance(result, np.ndarray) and not np.may_share_memory(result, values):
        np.copyto(result, values, casting="unsafe")


class Capture:
    """A capture, from ``stream.begin_capture()`` to ``end_capture()``: what a graph is made of.

    `streams` are the numbers of the streams that take part: the one where it began, and those that wait for an event
    in it. `unjoined` are those of them that it doesn't wait for yet.
    """

    def __init__(self, device: Any, origin: int) -> None:
        self.device = device
        self.origin = origin
        self.streams = {origin}
        self.unjoined: set[int] = set()
        self.notes: list[Note] = []
        self.nodes: list[Node] = []
        self.is_invalid = False  # CUDA was asked for what can't be captured: there will be no graph
        self._before: Callable | None = None

    def join(self, stream: int) -> None:
        """This stream takes part from now on."""
        self.device.lanes.captures[stream] = self
        self.streams.add(stream)
        self.unjoined.add(stream)

    def end(self) -> None:
        """Its streams work as before."""
        for stream in self.streams:
            del self.device.lanes.captures[stream]
        follow(self.device)

    # -- while one of its streams is the current one -----------------------------------------------------------------

    def resume(self) -> None:
        """From now on, the device notes its calls here."""
        lanes = self.device.lanes
        self._before = self.device.instead
        self.device.instead = self.note
        lanes.nodes = self.nodes
        lanes.refuse = self.refuse
        lanes.is_capturing = True

    def pause(self) -> None:
        lanes = self.device.lanes
        self.device.instead = self._before
        lanes.nodes = lanes.refuse = None
        lanes.is_capturing = False

    def note(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        """What stands in for computing: the result's memory, and a note of what fills it."""
        if self.is_invalid:
            raise CUDARuntimeError(901, "operation failed due to a previous error during capture")
        library = _library_of(function, args, kwargs)
        if library:
            self.refuse(library)
        if self._before is not None:  # an estimate computes only shapes, also when the graph is launched
            return self._before(function, *args, **kwargs)
        if function is ASSIGN:  # it raises now what it would raise then
            _assign_to_a_copy(*args)
        try:
            result = _in_memory(outcome(function, *args, **kwargs))
        except (ValueError, OverflowError, TypeError):
            if type(function) is not Formula:
                raise
            result = function(*args, **kwargs)  # CuPy's rules allow it, and NumPy's don't
        if isinstance(result, np.generic):
            result = np.asarray(result)  # so that it has a place in memory
        if getattr(function, "of", function) not in _MAKES_NOTHING:
            self.notes.append(Note(function, args, kwargs, result))
        return result

    def refuse(self, what: str) -> None:
        """Raise for what a graph can't have. CuPy's refusals leave the capture as it is; CUDA's end it."""
        if what == clocks.WAIT:
            self.is_invalid = True
            raise CUDARuntimeError(900, "operation not permitted when stream is capturing")
        if what in (clocks.COPY_IN, clocks.COPY_OUT) and self.notes and self.notes[-1].result is not None:
            self.notes.pop()  # of the same call: nobody gets its result
        error = _CUPYS[what]
        raise type(error)(*error.args)


def _in_memory(result: Any) -> Any:
    """A result's memory, which each launch fills."""
    if type(result) is MetaArray:
        return result.in_memory()
    if isinstance(result, tuple):
        return tuple(map(_in_memory, result))
    return result


def _assign_to_a_copy(values: Any, place: Any, new: Any) -> None:
    if isinstance(values, np.flatiter):
        assign(values.base.copy().flat, place, new)
    else:
        assign(values.copy(), place, new)


def _library_of(function: Any, args: tuple, kwargs: dict[str, Any]) -> str:
    """The library that CuPy would call for it, and which refuses to be captured; "" if there's none."""
    called = getattr(function, "of", None) or function
    if called in _BY_CUSOLVER:
        return "cuSOLVER"
    arrays = [x for x in args if isinstance(x, np.ndarray)]
    if any(x.dtype.kind not in "fc" for x in arrays):
        return ""  # CuPy multiplies whole numbers by kernels of its own: _core/_routines_linalg.pyx
    if called is np.matmul:
        is_by_cublas = launches.launches_of_product(*arrays[:2]).library
    elif called in _BY_CUBLAS:
        is_by_cublas = launches.commands_of(called.__name__, args, kwargs).library
    else:
        is_by_cublas = called is np.linalg.matrix_power
    if is_by_cublas:
        return "cuBLAS"
    return ""


def follow(device: Any) -> None:
    """Another stream is current, or one has begun or ended a capture: what the device does now follows from that."""
    lanes = device.lanes
    if lanes.follows is not None:
        lanes.follows.pause()
    lanes.follows = lanes.captures.get(lanes.stream)
    if lanes.stream == 0 and blocking_capture(device) is not None:
        lanes.follows = _UnusableNullStream(device)
    if lanes.follows is not None:
        lanes.follows.resume()


def blocking_capture(device: Any) -> Capture | None:
    """A capture in a stream for which the null stream waits."""
    lanes = device.lanes
    for stream, capture in lanes.captures.items():
        if stream not in lanes.non_blocking:
            return capture
    return None


def refuse_null_stream() -> None:
    """Raise as CUDA does if the null stream is asked for anything that would wait for a capture."""
    raise CUDARuntimeError(906, "operation would make the legacy stream depend on a capturing blocking stream")


class _UnusableNullStream:
    """What the null stream does while a stream captures for which it waits: it raises."""

    def __init__(self, device: Any) -> None:
        self._device = device
        self._before: Callable | None = None

    def resume(self) -> None:
        self._before = self._device.instead
        self._device.instead = self._device.lanes.refuse = self._raise

    def pause(self) -> None:
        self._device.instead = self._before
        self._device.lanes.refuse = None

    def _raise(self, *args: Any, **kwargs: Any) -> None:
        capture = blocking_capture(self._device)
        assert capture is not None
        capture.is_invalid = True
        refuse_null_stream()
