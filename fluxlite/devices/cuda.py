"""NVIDIA's GPUs, through CuPy. CuPy is imported when it is first needed, never by ``import fluxlite``."""

from __future__ import annotations

import abc
import functools
import importlib.util
import os
from types import ModuleType
from typing import Any

import numpy as np

from .. import arrays
from ..arrays import device_of
from ..ties import address
from . import events
from .base import GPU, Device, Memory
from .events import listeners, tell
from .functional import Functional


class CupyArray(abc.ABC):  # noqa: B024
    """Stands for `cupy.ndarray`, which it knows by its name, so that CuPy need not be imported to speak of it."""

    @classmethod
    def __subclasshook__(cls, kind: type) -> bool:
        return any((base.__module__, base.__qualname__) == ("cupy", "ndarray") for base in kind.__mro__)


class CUDADevice(GPU):
    """An NVIDIA GPU (Flux: ``FluxCUDADevice``). Its arrays are `cupy.ndarray`s."""

    backend = "CUDA"

    def upload(self, x: np.ndarray) -> Any:
        self.check(x)
        if listeners:
            tell(self, events.HOST_TO_DEVICE, "copy", nbytes=x.nbytes)
        with self._current():
            return _cupy().array(x, order="K")

    def download(self, x: Any) -> np.ndarray:
        if listeners:
            tell(self, events.DEVICE_TO_HOST, "copy", nbytes=x.nbytes)
            tell(self, events.SYNCHRONIZE, "copy")
        with self._current():
            return _cupy().asnumpy(x, order="A")

    def copy_from(self, source: Device, x: Any) -> Any:
        if listeners:
            tell(self, events.DEVICE_TO_DEVICE, "copy", nbytes=x.nbytes)
        with self._current():
            return _cupy().array(x, order="K")

    def synchronize(self) -> None:
        if listeners:
            tell(self, events.SYNCHRONIZE, "synchronize")
        self._current().synchronize()

    def memory(self) -> Memory:
        """As CuPy's pool of this device sees it; the most that was used is not known."""
        with self._current():
            pool = _cupy().get_default_memory_pool()
            free, capacity = _cupy().cuda.runtime.memGetInfo()
            return Memory(pool.used_bytes(), free + pool.free_bytes(), None, capacity)

    def seed(self, seed: int | None) -> None:
        with self._current():
            self._rng = _cupy().random.default_rng(seed)

    def __enter__(self) -> Device:
        self._current().__enter__()
        return super().__enter__()

    def __exit__(self, *exc_info: Any) -> None:
        super().__exit__(*exc_info)
        self._current().__exit__(*exc_info)

    def _current(self) -> Any:
        """CuPy's own object for this device, which makes it the current one inside ``with``."""
        return _cupy().cuda.Device(self.index)


def _cupy() -> ModuleType:
    import cupy

    return cupy


@functools.cache
def cuda_device(index: int) -> CUDADevice:
    """The NVIDIA GPU of this number; always the same object."""
    properties = _cupy().cuda.runtime.getDeviceProperties(index)
    return CUDADevice(index, properties["name"].decode())


def cuda_devices() -> list[Device]:
    """All NVIDIA GPUs that can be used, in order; empty if there is none."""
    if not cuda_functional():
        return []
    return [cuda_device(index) for index in range(_cupy().cuda.runtime.getDeviceCount())]


@functools.cache
def cuda_functional() -> Functional:
    """Whether CuPy and a GPU for it are here. Asked once: neither comes or goes while a program runs."""
    if importlib.util.find_spec("cupy") is None:
        return Functional("CuPy is not installed: pip install cupy-cuda12x")
    try:
        cupy = _cupy()
    except Exception as error:  # what a broken installation raises can be anything
        return Functional(f"CuPy is installed and cannot be imported: {error}")
    if cupy.cuda.is_available():
        return Functional()
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        return Functional("the GPUs are hidden: the environment variable CUDA_VISIBLE_DEVICES is set to none")
    return Functional(f"CuPy {cupy.__version__} is installed, but there is no NVIDIA driver that it can use")


@address.register(CupyArray)
def _(x: CupyArray) -> int:
    return x.data.ptr  # type: ignore[attr-defined]


@device_of.register(CupyArray)
def _(x: CupyArray) -> Any:
    index = x.device.id  # type: ignore[attr-defined]
    return cuda_device(index) if cuda_functional() else CUDADevice(index)


# CuPy adds with atomic operations, which exist for these types; others are added up in one of them.
_ATOMIC = ("i4", "u4", "u8", "f2", "f4", "f8")
_ADDED_AS = {"b1": "i4", "i1": "i4", "i2": "i4", "u1": "u4", "u2": "u4", "i8": "u8", "c8": "f4", "c16": "f8"}


@arrays.add_at_for(CupyArray)
def _add_at(total: Any, index: Any, values: Any) -> None:
    import cupyx

    kind = total.dtype.str[1:]
    if kind in _ATOMIC:
        cupyx.scatter_add(total, index, values)
    elif total.dtype.kind == "c":
        cupyx.scatter_add(total.real, index, values.real)
        cupyx.scatter_add(total.imag, index, values.imag)
    else:  # integers come back unchanged from the wider type, also negative ones from an unsigned one
        wide = total.astype(_ADDED_AS.get(kind, "f4"))
        cupyx.scatter_add(wide, index, values.astype(wide.dtype))
        total[...] = wide.astype(total.dtype)
