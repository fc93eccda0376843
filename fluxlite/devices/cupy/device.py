"""NVIDIA and AMD GPUs, through CuPy, which is imported when it's first needed, never by ``import fluxlite``."""

import abc
import contextlib
import functools
import operator
import warnings
from types import ModuleType
from typing import Any

import numpy as np

from ... import arrays
from ...arrays import device_of
from ...tree.ties import address
from ..base import DEVICE_TO_DEVICE, DEVICE_TO_HOST, GPU, HOST_TO_DEVICE, SYNCHRONIZE, Device, Memory, Stopwatch, tell
from .pinned import PinnedCopies
from .usable import usable


class CupyArray(abc.ABC):  # noqa: B024
    """Stands for `cupy.ndarray`. It recognizes the class by name, so we don't need to import CuPy to refer to it."""

    @classmethod
    def __subclasshook__(cls, kind: type) -> bool:
        return any((base.__module__, base.__qualname__) == ("cupy", "ndarray") for base in kind.__mro__)


class CupyDevice(GPU):
    """A GPU whose arrays are `cupy.ndarray`s."""

    def upload(self, x: np.ndarray) -> Any:
        self.check(x)
        tell(self, HOST_TO_DEVICE, "copy", nbytes=x.nbytes)
        with self._current():
            return _cupy().array(x, order="K")

    def copy_in_pinned(self, x: np.ndarray) -> tuple[Any, Any]:
        self.check(x)
        tell(self, HOST_TO_DEVICE, "copy", nbytes=x.nbytes)
        with self._current():
            return self._copies.copy_in(x)

    def wait_for(self, time: Any) -> None:
        with self._current():
            _cupy().cuda.get_current_stream().wait_event(time)

    @functools.cached_property
    def _copies(self) -> PinnedCopies:
        return PinnedCopies(_cupy())  # inside ``with self._current():``, since a stream belongs to one device

    def download(self, x: Any) -> np.ndarray:
        tell(self, DEVICE_TO_HOST, "copy", nbytes=x.nbytes)
        tell(self, SYNCHRONIZE, "copy")
        with self._current(), waiting():
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
        with waiting():
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

    backend, kind_of_id = "CUDA", "CuDevice"


class AMDGPUDevice(CupyDevice):
    """An AMD GPU (Flux: ``FluxAMDGPUDevice``)."""

    backend, kind_of_id = "AMDGPU", "HIPDevice"


class CupyStopwatch(Stopwatch):
    """Two marks in the GPU's own work: the time between them leaves out how long the program takes to notice it."""

    def __init__(self, device: Any) -> None:
        self.device: Any = device
        self.begin: Any = self._mark()
        self.end: Any = None

    def stop(self) -> None:
        self.end = self._mark()

    def _mark(self) -> Any:
        with self.device._current():
            event = _cupy().cuda.Event()
            event.record()
            return event

    def seconds(self) -> float:
        with self.device._current(), waiting():
            self.end.synchronize()
            return float(_cupy().cuda.get_elapsed_time(self.begin, self.end)) / 1e3


_forbidden: list[Any] = []  # CuPy's own check, while `allowscalar` forbids waits


def forbid_waits(forbid: bool) -> None:
    """From now on, every wait raises `cupyx.DeviceSynchronized` in this thread, except for our own in `waiting`."""
    while _forbidden:
        _forbidden.pop().__exit__(None, None, None)
    if forbid:
        warnings.filterwarnings("ignore", "cupyx.allow_synchronize")  # it's deprecated, but nothing replaces it
        _forbidden.append(_allow_waits(False))
        _forbidden[0].__enter__()


def waiting() -> Any:
    """``with waiting():`` goes around waits that a program asks for."""
    return _allow_waits(True) if _forbidden else contextlib.nullcontext()


def _allow_waits(allow: bool) -> Any:
    import cupyx

    return cupyx.allow_synchronize(allow)


def _cupy() -> ModuleType:
    import cupy

    return cupy


# -- which there are, and what fluxlite asks of their arrays -----------------------------------------------------------


def cupy_devices(backend: str) -> list[Device]:
    """All usable GPUs of this maker, in order."""
    if not usable(backend):
        return []
    from .fused import launch

    _cut_windows_by_strides()
    arrays.fusing[_cupy().ndarray] = launch
    found: list[Device] = [cupy_device(index) for index in range(_cupy().cuda.runtime.getDeviceCount())]
    if len(found) > 1:
        arrays.enter_card[_cupy().ndarray] = operator.attrgetter("device")  # CuPy's own, which `with` enters
    return found


@functools.cache
def cupy_device(index: int) -> CupyDevice:
    """The GPU with this number. It's always the same object."""
    kind = AMDGPUDevice if _cupy().cuda.runtime.is_hip else CUDADevice
    has_any = usable("CUDA") or usable("AMDGPU")
    return kind(index, _cupy().cuda.runtime.getDeviceProperties(index)["name"].decode() if has_any else "")


@functools.cache
def _cut_windows_by_strides() -> None:
    """CuPy's `sliding_window_view` copies their sizes to the card and waits for checks."""
    from ...autodiff.derivatives.windows import sliding

    @sliding.register(_cupy().ndarray)
    def _(x: Any, extent: tuple[int, ...], axes: tuple[int, ...]) -> Any:
        lengths = {axis: x.shape[axis] - size + 1 for size, axis in zip(extent, axes)}
        shape = (*(lengths.get(axis, length) for axis, length in enumerate(x.shape)), *extent)
        strides = (*x.strides, *(x.strides[axis] for axis in axes))
        return _cupy().lib.stride_tricks.as_strided(x, shape, strides)


@address.register(CupyArray)
def _(x: Any) -> int:
    return x.data.ptr


@device_of.register(CupyArray)
def _(x: Any) -> Any:
    return cupy_device(x.device.id)


# CuPy adds with atomic operations, which exist for these types only. Sums of other types are computed in one of these.
_ATOMIC = ("i4", "u4", "u8", "f2", "f4", "f8")
_ADDED_AS = {"b1": "i4", "i1": "i4", "i2": "i4", "u1": "u4", "u2": "u4", "i8": "u8", "c8": "f4", "c16": "f8"}


@arrays.add_at_for(CupyArray)
def _add_at(total: Any, index: Any, values: Any) -> None:
    add_at, kind = _cupy().add.at, total.dtype.str[1:]
    with arrays.on_card_of(total):
        if kind in _ATOMIC:
            add_at(total, index, values)
        elif total.dtype.kind == "c":
            add_at(total.real, index, values.real)
            add_at(total.imag, index, values.imag)
        else:  # integers survive the round trip through the wider type, even negative ones that started as unsigned
            wide = total.astype(_ADDED_AS.get(kind, "f4"))
            add_at(wide, index, values.astype(wide.dtype))
            total[...] = wide.astype(total.dtype)
