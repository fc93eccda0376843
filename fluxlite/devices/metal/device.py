"""Apple GPUs, through MLX, which is imported when it's first needed, never by ``import fluxlite``.

MLX also runs on the CPU, so you can try all of this on any computer, and the tests do. Read `wrapped.py` for the
array, and `functions.py` for which MLX function stands for which NumPy function.
"""

from __future__ import annotations

import functools
import importlib.util
import weakref
from typing import Any

import numpy as np

from ... import arrays
from ...arrays import device_of
from .. import events
from ..base import GPU, Device, Functional, Memory
from ..events import listeners, tell
from . import dtypes as metal_dtypes
from . import functions as metal_functions
from . import indexing, views
from . import ufuncs as metal_ufuncs
from .dtypes import mx
from .random import MetalGenerator
from .wrapped import Wrapped

# MLX is lazy: an array is a plan until we need its values. In a loop that reads nothing, such as `x -= rate * g`, plans
# would build on plans without end. So after this many new arrays, we start those still in use. We don't start each one
# right away: that costs time, and an array that's dropped before then never needs computing.
_STARTED_TOGETHER = 256


class MetalArray(Wrapped):
    """An array on an Apple GPU (Metal.jl: ``MtlArray``). ``device(x)`` makes one, and so do operations on them."""

    __slots__ = ()


class MetalDevice(GPU):
    """An Apple GPU (Flux: ``FluxMetalDevice``). Its arrays are `MetalArray`s, each wrapped around an `mlx.core.array`.

    There's one, number 0. It has no Float64. Where MLX runs on the CPU, ``device(x, dtype=None)`` keeps Float64.
    """

    backend = "Metal"

    def __init__(self, index: int = 0, name: str = "") -> None:
        super().__init__(index, name)
        self._waiting: list[weakref.ref] = []

    # -- moving arrays ---------------------------------------------------------------------------

    def upload(self, x: np.ndarray) -> MetalArray:
        return self.copy_in(x)

    def copy_in(self, x: np.ndarray, explicit: bool = True) -> MetalArray:
        """A copy of a host array on this device. `explicit` means the program asked for it."""
        self.check(x)
        dtype = self.dtype(x.dtype)
        if listeners:
            tell(self, events.HOST_TO_DEVICE, "copy", nbytes=x.nbytes, explicit=explicit)
        strides = views.strides_in_order(x.shape, x.itemsize, x.strides)
        return self.new(mx.array(np.array(x, order="C"), dtype), strides)

    def download(self, x: Any) -> np.ndarray:
        return self.copy_out(x)

    def copy_out(self, x: MetalArray, name: str = "copy", explicit: bool = True) -> np.ndarray:
        """A copy of `x` on the host, in its memory order. Waits for everything that computes `x`."""
        if listeners:
            tell(self, events.DEVICE_TO_HOST, name, nbytes=x.nbytes, explicit=explicit)
            tell(self, events.SYNCHRONIZE, name, explicit=explicit)
        order = views.axes_by_stride(x.strides)
        values = x.values.transpose(order)
        mx.eval(values)  # np.array would wait as well, but block Python's other threads meanwhile
        if x.dtype.kind == "V":  # bfloat16, which NumPy knows only through another package
            host = np.array(values.astype(mx.float32), order="C").astype(x.dtype)
        else:
            host = np.array(values, order="C")
        return host.transpose(tuple(map(order.index, range(x.ndim))))

    @staticmethod
    def unpickled(x: np.ndarray) -> MetalArray:
        return metal_device().copy_in(x)

    # -- computing: what NumPy asks of our arrays -------------------------------------------------

    def ufunc(self, ufunc: np.ufunc, method: str, inputs: tuple, kwargs: dict) -> Any:
        """The result of a ufunc, or of one of its methods."""
        return metal_ufuncs.call_ufunc(self, ufunc, method, inputs, kwargs)

    def function(self, function: Any, args: tuple, kwargs: dict) -> Any:
        """The result of any other NumPy function."""
        return metal_functions.call(self, function, args, kwargs)

    def new(self, values: Any, strides: tuple[int, ...] | None = None) -> MetalArray:
        """Wrap values that were computed here."""
        result = MetalArray(values, self, strides)
        self.made(result)
        return result

    def made(self, x: MetalArray) -> None:
        """Note that `x` has new values, which MLX may not have started to compute."""
        self._waiting.append(weakref.ref(x))
        if len(self._waiting) >= _STARTED_TOGETHER:
            mx.async_eval(self._planned())

    def _planned(self) -> list:
        """Return the values still in use that MLX may not have computed, and forget them."""
        waiting, self._waiting = self._waiting, []
        in_use = {id(x): x for x in (reference() for reference in waiting) if x is not None}
        return [x._values for x in in_use.values()]

    # -- dtypes ----------------------------------------------------------------------------------

    @staticmethod
    def numpy_dtype(values: Any) -> np.dtype:
        """The NumPy dtype of an MLX array."""
        return metal_dtypes.numpy_dtype(values.dtype)

    @staticmethod
    def dtype(dtype: Any) -> Any:
        """MLX's dtype for NumPy's. Raises `TypeError` if MLX has none."""
        return metal_dtypes.mlx_dtype(np.dtype(dtype))

    def cast(self, values: Any, dtype: Any) -> Any:
        """The MLX array `values` as NumPy's `dtype`."""
        return values.astype(self.dtype(dtype))

    def converted(self, x: MetalArray, dtype: np.dtype) -> MetalArray:
        return self.new(self.cast(x.values, dtype), views.strides_in_order(x.shape, dtype.itemsize, x.strides))

    def number(self, value: Any, dtype: Any) -> Any:
        """One number as an MLX array. Raises `OverflowError` for an integer that doesn't fit `dtype`."""
        return metal_dtypes.number(value, np.dtype(dtype))

    def places(self, x: np.ndarray) -> Any:
        """Host integers as an MLX array, for use as an index."""
        return mx.array(np.asarray(x, np.int64))

    def spread(self, values: Any, shape: tuple[int, ...]) -> Any:
        """An MLX array, broadcast."""
        return mx.broadcast_to(values, shape)

    # -- the device itself -----------------------------------------------------------------------

    def synchronize(self) -> None:
        if listeners:
            tell(self, events.SYNCHRONIZE, "synchronize")
        mx.eval(self._planned())
        mx.synchronize()

    def memory(self) -> Memory:
        """What MLX reports. The GPU shares the computer's memory, so how much is free is unknown."""
        return Memory(mx.get_active_memory(), None, mx.get_peak_memory(), mx.device_info().get("memory_size"))

    def new_generator(self, seed: int | None) -> MetalGenerator:
        return MetalGenerator(self, seed)


@functools.cache
def metal_device() -> MetalDevice:
    """The Apple GPU. It's always the same object."""
    return MetalDevice(0, str(mx.device_info().get("device_name", "")))


def metal_devices() -> list[Device]:
    """The Apple GPU in a list, which is empty if there's no usable one."""
    return [metal_device()] if metal_functional() else []


@functools.cache
def metal_functional() -> Functional:
    """Whether MLX and an Apple GPU are here. Checked once: neither comes or goes while a program runs."""
    if importlib.util.find_spec("mlx") is None:
        return Functional("MLX is not installed: pip install mlx", installed=False)
    try:
        has_metal = mx.metal.is_available()
    except Exception as error:  # a broken installation can raise anything
        return Functional(f"MLX is installed and cannot be imported: {error}")
    if not has_metal:
        return Functional("MLX runs here on the CPU: Metal needs an Apple computer")
    return Functional()


@device_of.register
def _(x: MetalArray) -> Any:
    return x.device


@arrays.add_at_for(MetalArray)
def _add_at(total: MetalArray, index: Any, values: Any) -> None:
    indexing.scatter_add(total, index, values)


arrays.read_only_types.add(MetalArray)
