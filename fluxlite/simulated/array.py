"""The simulated GPU's array: NumPy's values, a GPU's behaviour.

What works with a `cupy.ndarray` works with this array. What doesn't work there raises here. What costs a wait or a copy
there is counted here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from .. import arrays
from ..arrays import device_of
from ..coming_from import OF_A_DEVICE_ARRAY, knows
from ..devices.base import gpu_in_use
from ..devices.host_reads import HostReads
from ..tree.ties import address
from .asked import ONE
from .dispatch import array_function, array_ufunc, call, call_ufunc, reduction, take
from .indexing import getitem, scatter_add, setitem, write
from .memory import root_of
from .operators import Operators
from .quiet import quietly
from .rules import current_card

Index = Any
Axis = int | tuple[int, ...] | None


@knows(OF_A_DEVICE_ARRAY)
class SimulatedArray(HostReads, Operators):
    """An array on a simulated GPU (CUDA.jl: ``CuArray``). ``device(x)`` makes one, and so do operations on them."""

    __slots__ = ()

    # -- NumPy calls these (NEP 13, NEP 18) ------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return array_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: tuple, kwargs: dict) -> Any:
        return array_function(function, types, args, kwargs, self.device)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(
            f"this array is on {self.device}; NumPy does not copy it to the host by itself. Write cpu(x) to do so."
        )

    def __dlpack__(self, **keywords: Any) -> NoReturn:
        raise BufferError(
            f"this array is on {self.device}, in memory that no other library can read. Copy it first: "
            "np.from_dlpack(cpu(x))"
        )

    __dlpack_device__ = __dlpack__

    def _view(self, values: np.ndarray) -> SimulatedArray:
        """Other values in the same memory."""
        return SimulatedArray(values, self.device, self._buffer, self if self.base is None else self.base)

    def _view_or_copy(self, values: np.ndarray, name: str) -> SimulatedArray:
        """What NumPy made: a view where the memory order allows it, otherwise a copy, which takes a kernel."""
        if root_of(values) is self._buffer.root:
            return self._view(values)
        device, card = self.device, current_card(self.device)
        device.catch_up()
        device.launch(name, 2 * values.nbytes)
        made = device.new(values)
        return made if card is device else card.copy_from(device, made)

    def _call(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        return call(function, (self, *args), kwargs, self.device)

    # -- what the host knows without waiting for the device ---------------------------------------

    shape = property(lambda self: self._values.shape)
    dtype = property(lambda self: self._values.dtype)
    ndim = property(lambda self: self._values.ndim)
    size = property(lambda self: self._values.size)
    itemsize = property(lambda self: self._values.itemsize)
    nbytes = property(lambda self: self._values.nbytes)
    strides = property(lambda self: self._values.strides)
    flags = property(lambda self: self._values.flags)

    def __len__(self) -> int:
        return len(self._values)

    # -- views, which launch no kernel ------------------------------------------------------------

    T = property(lambda self: self._view(self._values.T))
    mT = property(lambda self: self._view(self._values.mT))
    real = property(lambda self: self._view(self._values.real))
    imag = property(lambda self: self._call(np.imag))

    def __getitem__(self, index: Index) -> Any:
        return getitem(self, index)

    def __iter__(self) -> Iterator[SimulatedArray]:
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def view(self, dtype: Any = None) -> SimulatedArray:
        return self._view(self._values.view() if dtype is None else self._values.view(dtype))

    def reshape(self, *shape: Any, order: Any = "C") -> SimulatedArray:
        return self._view_or_copy(self._values.reshape(*shape, order=order), "reshape")

    def ravel(self, order: Any = "C") -> SimulatedArray:
        return self._view_or_copy(self._values.ravel(order), "ravel")

    def transpose(self, *axes: Any) -> SimulatedArray:
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None
        return self._view(self._values.transpose(order))

    def swapaxes(self, axis1: int, axis2: int) -> SimulatedArray:
        return self._view(self._values.swapaxes(axis1, axis2))

    def squeeze(self, axis: Axis = None) -> SimulatedArray:
        return self._view(self._values.squeeze(axis))

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> SimulatedArray:
        return self._view(self._values.diagonal(offset, axis1, axis2))

    def __reduce__(self) -> Any:
        return _unpickled, (self._on_host("pickle"),)

    # -- copies and writes -----------------------------------------------------------------------

    def __setitem__(self, index: Index, value: Any) -> None:
        setitem(self, index, value)

    def copy(self, order: str = "C") -> SimulatedArray:
        device, flags = self.device, self._values.flags
        if (card := current_card(device)) is device:
            return device.copy_within(self, order)
        # Then it's a move to the current card, of whole memory: CuPy's _core/core.pyx:861.
        is_whole = flags.c_contiguous or order in "KA" and flags.f_contiguous
        return card.copy_from(device, self if is_whole else device.copy_within(self, order))

    def __copy__(self) -> SimulatedArray:
        return self.copy()

    def __deepcopy__(self, memo: dict) -> SimulatedArray:
        return self.device.copy_within(self)  # beside the array: core.pyx:1787

    def set(self, x: np.ndarray) -> None:
        """Fill this array from a host array of the same shape."""
        write(self, ..., self.device.copy_in(x)._values)

    def flatten(self, order: str = "C") -> SimulatedArray:
        return self.copy(order).ravel(order)

    def astype(self, dtype: Any, order: str = "K", casting: Any = None, subok: Any = None, copy: bool = True) -> Any:
        if np.dtype(dtype) == self.dtype and not copy:
            return self
        device = self.device.begin()
        if np.dtype(dtype) == self.dtype:
            return device.copy_within(self, order)
        values = quietly(device, np.ndarray.astype, self._values, dtype, order)
        device.launch("astype", self.nbytes + values.nbytes)
        return device.new(values)

    def fill(self, value: Any) -> None:
        self[...] = value

    def sort(self, axis: int = -1) -> None:
        device = self.device.begin()
        device.compute(np.ndarray.sort, self._values, axis)
        device.launch_function("sort", [self._values], [], (), {}, ONE)

    # -- NumPy's functions as methods -------------------------------------------------------------

    def sum(self, axis: Axis = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> SimulatedArray:
        return self._reduced("sum", out, axis, dtype, keepdims)

    def prod(self, axis: Axis = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> SimulatedArray:
        return self._reduced("prod", out, axis, dtype, keepdims)

    def mean(self, axis: Axis = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> SimulatedArray:
        return self._reduced("mean", out, axis, dtype, keepdims)

    def _reduced(self, name: str, out: Any, axis: Axis, dtype: Any, keepdims: bool) -> SimulatedArray:
        if out is None:
            return reduction(self, name, axis, dtype, keepdims=keepdims)
        return self._call(getattr(np, name), axis, dtype, out=out, keepdims=keepdims)

    def var(
        self, axis: Axis = None, dtype: Any = None, out: Any = None, ddof: int = 0, keepdims: bool = False
    ) -> SimulatedArray:
        return self._call(np.var, axis, dtype, out=out, ddof=ddof, keepdims=keepdims)

    def std(
        self, axis: Axis = None, dtype: Any = None, out: Any = None, ddof: int = 0, keepdims: bool = False
    ) -> SimulatedArray:
        return self._call(np.std, axis, dtype, out=out, ddof=ddof, keepdims=keepdims)

    def max(self, axis: Axis = None, out: Any = None, keepdims: bool = False) -> SimulatedArray:
        return self._chosen("max", out, axis, keepdims)

    def min(self, axis: Axis = None, out: Any = None, keepdims: bool = False) -> SimulatedArray:
        return self._chosen("min", out, axis, keepdims)

    def all(self, axis: Axis = None, out: Any = None, keepdims: bool = False) -> SimulatedArray:
        return self._chosen("all", out, axis, keepdims)

    def any(self, axis: Axis = None, out: Any = None, keepdims: bool = False) -> SimulatedArray:
        return self._chosen("any", out, axis, keepdims)

    def _chosen(self, name: str, out: Any, axis: Axis, keepdims: bool) -> SimulatedArray:
        if out is None:
            return reduction(self, name, axis, keepdims=keepdims)
        return self._call(getattr(np, name), axis, out=out, keepdims=keepdims)

    def argmax(self, axis: int | None = None) -> SimulatedArray:
        return reduction(self, "argmax", axis)

    def argmin(self, axis: int | None = None) -> SimulatedArray:
        return reduction(self, "argmin", axis)

    def argsort(self, axis: int = -1) -> SimulatedArray:
        return self._call(np.argsort, axis)

    def cumsum(self, axis: int | None = None, dtype: Any = None) -> SimulatedArray:
        return self._call(np.cumsum, axis, dtype)

    def cumprod(self, axis: int | None = None, dtype: Any = None) -> SimulatedArray:
        return self._call(np.cumprod, axis, dtype)

    def dot(self, other: Any) -> SimulatedArray:
        return self._call(np.dot, other)

    def clip(self, min: Any = None, max: Any = None) -> SimulatedArray:
        return self._call(np.clip, min, max)

    def round(self, decimals: int = 0) -> SimulatedArray:
        return self._call(np.round, decimals)

    def take(self, indices: Any, axis: int | None = None, out: Any = None) -> SimulatedArray:
        return take(self, indices, axis, out)

    def repeat(self, repeats: Any, axis: int | None = None) -> SimulatedArray:
        return self._call(np.repeat, repeats, axis)

    def nonzero(self) -> tuple[SimulatedArray, ...]:
        return self._call(np.nonzero)

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> SimulatedArray:
        return self._call(np.trace, offset, axis1, axis2)

    def conj(self) -> SimulatedArray:
        return call_ufunc(np.conjugate, (self,)) if self.dtype.kind == "c" else self

    def conjugate(self) -> SimulatedArray:
        return self.conj()


def _unpickled(x: np.ndarray) -> Any:
    """An unpickled array goes to the GPU in use, as CuPy's arrays do."""
    return gpu_in_use[0]().receive(x)


@address.register(SimulatedArray)
def _(x: SimulatedArray) -> int:
    return x._values.__array_interface__["data"][0]


@device_of.register(SimulatedArray)
def _(x: SimulatedArray) -> Any:
    return x.device


@arrays.add_at_for(SimulatedArray)
def _add_at(total: SimulatedArray, index: Any, values: Any) -> None:
    scatter_add(total, index, values)


def _fused(fused: Any, args: tuple) -> Any:
    from .fused import launch

    return launch(fused, args)


arrays.read_only_types.add(SimulatedArray)
arrays.fusing[SimulatedArray] = _fused
