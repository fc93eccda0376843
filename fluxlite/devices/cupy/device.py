"""NVIDIA and AMD GPUs, through CuPy, which is imported when it's first needed, never by ``import fluxlite``."""

import contextlib
import functools
import operator
import warnings
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from ...annotations import Array
from ...array_kinds import ArrayKind, register, several_cards
from ...tree.ties import on_card_of
from ..base import DEVICE_TO_DEVICE, DEVICE_TO_HOST, GPU, HOST_TO_DEVICE, SYNCHRONIZE, Device, Memory, Stopwatch, tell
from .usable import usable


class CupyDevice(GPU):
    """A GPU whose arrays are `cupy.ndarray`s."""

    def upload(self, x: np.ndarray) -> Array:
        self.check(x)
        tell(self, HOST_TO_DEVICE, "copy", nbytes=x.nbytes)
        with self._current():
            return _cupy().array(x, order="K")

    def copy_in_pinned(self, x: np.ndarray) -> tuple[Array, Any]:
        self.check(x)
        tell(self, HOST_TO_DEVICE, "copy", nbytes=x.nbytes)
        with self._current():
            return self._copies.copy_in(x)

    def wait_for(self, time: Any) -> None:
        with self._current():
            _cupy().cuda.get_current_stream().wait_event(time)

    @functools.cached_property
    def _copies(self) -> "PinnedCopies":
        return PinnedCopies(_cupy())  # inside ``with self._current():``, since a stream belongs to one device

    def download(self, x: Any) -> np.ndarray:
        tell(self, DEVICE_TO_HOST, "copy", nbytes=x.nbytes)
        tell(self, SYNCHRONIZE, "copy")
        with self._current(), waits_allowed():
            return _cupy().asnumpy(x, order="A")

    def copy_from(self, source: Device, x: Any) -> Any:
        tell(self, DEVICE_TO_DEVICE, f"copy from {source!r}", nbytes=x.nbytes)
        if not (x.flags.c_contiguous or x.flags.f_contiguous):  # CuPy copies only whole blocks from card to card
            with source:
                x = x.copy()
        with self._current():
            return _cupy().array(x, order="K")

    def synchronize(self) -> None:
        tell(self, SYNCHRONIZE, "synchronize")
        with waits_allowed():
            self._current().synchronize()

    def stopwatch(self) -> Stopwatch:
        return CupyStopwatch(self)

    def memory(self) -> Memory:
        with self._current():
            pool = _cupy().get_default_memory_pool()
            free, capacity = _cupy().cuda.runtime.memGetInfo()
            return Memory(pool.used_bytes(), free + pool.free_bytes(), None, capacity)

    def new_generator(self, seed: int | None) -> Any:
        from .random import CupyGenerator

        return CupyGenerator(self, seed)

    def use(self) -> None:
        self._current().use()
        super().use()

    def __enter__(self) -> Device:
        self._current().__enter__()
        return super().__enter__()

    def __exit__(self, *exc_info: Any) -> None:
        super().__exit__(*exc_info)
        self._current().__exit__(*exc_info)

    def _current(self) -> Any:
        return _cupy().cuda.Device(self.index)


class CUDADevice(CupyDevice):
    """An NVIDIA GPU (Flux: ``FluxCUDADevice``)."""

    backend = "CUDA"
    kind_of_id = "CuDevice"


class AMDGPUDevice(CupyDevice):
    """An AMD GPU (Flux: ``FluxAMDGPUDevice``)."""

    backend = "AMDGPU"
    kind_of_id = "HIPDevice"


class CupyStopwatch(Stopwatch):
    """Two marks in the GPU's own work: the time between them leaves out how long the program takes to notice it."""

    def __init__(self, device: CupyDevice) -> None:
        self.device: Any = device
        with device._current():
            self.marks = [_cupy().cuda.Event(), _cupy().cuda.Event()]
            self.marks[0].record()

    def stop(self) -> None:
        with self.device._current():
            self.marks[1].record()

    def seconds(self) -> float:
        with self.device._current(), waits_allowed():
            self.marks[1].synchronize()
            return float(_cupy().cuda.get_elapsed_time(*self.marks)) / 1e3


_MOST = 8  # pieces of pinned memory in use: a program far ahead of the GPU waits here


class PinnedCopies:
    """Copies to one GPU that run while it computes: from pinned memory, on a stream of their own.

    The driver never moves the pages of "pinned" memory, so the GPU reads it on its own. Events keep this safe: they're
    marks in a stream that another one, or the program, can wait for. The GPU must be the current one.
    """

    def __init__(self, cupy: Any) -> None:
        self._cuda = cupy.cuda
        self._empty = cupy.empty
        # Non-blocking: work on this stream and on the default stream, where CuPy computes, don't wait for each other.
        self._stream = cupy.cuda.Stream(non_blocking=True)
        self._under_way: deque[tuple[Any, Any]] = deque()  # (event, pinned memory), the oldest copy first

    def copy_in(self, x: np.ndarray) -> tuple[Array, Any]:
        """Copy `x` to the GPU; returns the copy and the event to wait for before computing with it.

        You may drop the copy while it's being made: its memory is this stream's in CuPy's pool, for later copies only.
        """
        order: Any = "C"
        if x.flags.f_contiguous and not x.flags.c_contiguous:
            order = "F"
        dtype = x.dtype.newbyteorder("=")  # a GPU has one byte order
        with self._stream:
            result = self._empty(x.shape, dtype, order=order)
        # After all work launched so far, which may still read an earlier array in the same memory.
        self._stream.wait_event(self._mark(self._cuda.get_current_stream()))
        if x.nbytes:
            memory = self._pinned(x.nbytes)
            staged: np.ndarray = np.ndarray(x.shape, dtype, memory, order=order)
            staged[...] = x
            result.set(staged, stream=self._stream)
        done = self._mark(self._stream)
        if x.nbytes:
            self._under_way.append((done, memory))
        return result, done

    def _mark(self, stream: Any) -> Any:
        event = self._cuda.Event(disable_timing=True)
        event.record(stream)
        return event

    def _pinned(self, nbytes: int) -> Any:
        """Pinned memory from CuPy's pool. What we drop goes back to the pool, once its copy is done."""
        while self._under_way and (self._under_way[0][0].done or len(self._under_way) >= _MOST):
            event, _ = self._under_way.popleft()
            event.synchronize()
        return self._cuda.alloc_pinned_memory(nbytes)


_forbidden: list[Any] = []  # CuPy's own check, while `allowscalar` forbids waits


def forbid_waits(forbid: bool) -> None:
    """From now on, waits in this thread raise `cupyx.DeviceSynchronized`, except inside ``with waits_allowed():``."""
    while _forbidden:
        _forbidden.pop().__exit__(None, None, None)
    if forbid:
        warnings.filterwarnings("ignore", "cupyx.allow_synchronize")  # it's deprecated, but nothing replaces it
        _forbidden.append(_allow_waits(False))
        _forbidden[0].__enter__()


def waits_allowed() -> Any:
    if _forbidden:
        return _allow_waits(True)
    return contextlib.nullcontext()


def _allow_waits(allow: bool) -> Any:
    import cupyx

    return cupyx.allow_synchronize(allow)


def _cupy() -> Any:
    import cupy

    return cupy


def cupy_devices(backend: str) -> list[Device]:
    if not usable(backend):
        return []
    register(_cupy().ndarray, CUPY)
    found: list[Device] = [cupy_device(index) for index in range(_cupy().cuda.runtime.getDeviceCount())]
    if len(found) > 1:
        several_cards.add(_cupy().ndarray)
    return found


@functools.cache
def cupy_device(index: int) -> CupyDevice:
    runtime = _cupy().cuda.runtime
    name = ""
    if usable("CUDA") or usable("AMDGPU"):
        name = runtime.getDeviceProperties(index)["name"].decode()
    if runtime.is_hip:
        return AMDGPUDevice(index, name)
    return CUDADevice(index, name)


# -- what's asked of its arrays --------------------------------------------------------------------------------------


def _device_of(x: Any) -> CupyDevice:
    return cupy_device(x.device.id)


def _address(x: Any) -> int:
    return x.data.ptr


# CuPy adds with atomic operations, which these types lack: they go through one that has them, which changes no integer.
_ADDED_AS = {"b1": "i4", "i1": "i4", "i2": "i4", "u1": "u4", "u2": "u4", "i8": "u8"}


def _add_at(total: Any, index: Any, values: Any) -> None:
    add_at = _cupy().add.at
    instead = _ADDED_AS.get(total.dtype.str[1:])
    with on_card_of(total):
        if total.dtype.kind == "c":
            add_at(total.real, index, values.real)
            add_at(total.imag, index, values.imag)
        elif instead is None:
            add_at(total, index, values)
        else:
            wide = total.astype(instead)
            add_at(wide, index, values.astype(instead))
            total[...] = wide.astype(total.dtype)


def _sliding(x: Array, extent: tuple[int, ...], axes: tuple[int, ...]) -> Array:
    """CuPy's `sliding_window_view` copies the windows' sizes to the card, and waits for checks."""
    lengths = {axis: x.shape[axis] - size + 1 for size, axis in zip(extent, axes)}
    shape = (*(lengths.get(axis, length) for axis, length in enumerate(x.shape)), *extent)
    strides = (*x.strides, *(x.strides[axis] for axis in axes))
    return _cupy().lib.stride_tricks.as_strided(x, shape, strides)


def _launch(function: Callable, args: tuple) -> Any:
    from .fused import launch  # only a program with a card needs to load it

    return launch(function, args)


CUPY = ArrayKind(
    device_of=_device_of,
    address=_address,
    add_at=_add_at,
    sliding=_sliding,
    launch=_launch,
    card=operator.attrgetter("device"),  # CuPy's own, which `with` enters
    why_no_graph="CuPy refuses cuBLAS, and so each matrix product, while a stream captures",
)
register("cupy.ndarray", CUPY)  # by name: CuPy isn't imported yet
