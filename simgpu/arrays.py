"""The simulated GPU's array. It works, raises, waits and copies as a `cupy.ndarray` does."""

from __future__ import annotations

import operator
import pickle
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import parameters, records
from .arithmetic import cast
from .dispatch import array_function, array_ufunc, call, call_ufunc, empty, in_place, put, reduction, take
from .indexing import Flat, getitem, scatter, setitem, write
from .launches import ONE, Commands
from .memory import LACKING_DTYPES, Buffer, Stored, check_dtype, root_of
from .meta import address_of, view_by_strides
from .places import current_card, simulated_in_use, values_on
from .refusals import SCALARS, order_of
from .shapes import Formula
from .words import WRITE, in_words

_OPERANDS = (Stored, *SCALARS)
# DLPack's numbers for kinds of devices.
ON_THE_HOST, ON_CUDA = 1, 2

# -- Operators, which differ only by their names ------------------------------------------------------


def _operators(ufunc: np.ufunc) -> tuple[Callable[[Any, Any], Any], ...]:
    """The operators ``x + y``, ``y + x`` and ``x += y``, where `x` is one of our arrays."""

    def on_the_left(x, y):
        if isinstance(y, _OPERANDS):
            return call_ufunc(ufunc, (x, y))
        if not hasattr(y, "__array_ufunc__"):  # CuPy's _core/core.pyx:109
            if getattr(y, "__array_priority__", 0) > x.__array_priority__:
                return NotImplemented
            return ufunc(x, y)
        if y.__array_ufunc__ is None:
            return NotImplemented
        return ufunc(x, y)  # NumPy asks both operands

    def on_the_right(x, y):
        if isinstance(y, SCALARS):
            return call_ufunc(ufunc, (y, x))
        return ufunc(y, x)

    return on_the_left, on_the_right, lambda x, y: in_place(ufunc, x, y)


def _operator(ufunc: np.ufunc) -> Callable[[Any], Any]:
    return lambda x: call_ufunc(ufunc, (x,))


_FAST_POWERS = {0.5: np.sqrt, 2.0: np.square, -1.0: np.reciprocal}


def _never_equal(x: Any) -> bool:
    """An object that has no equality of its own equals no number: `x == None` is False everywhere, as on a GPU."""
    return x is None or type(x).__eq__ is object.__eq__  # type: ignore[comparison-overlap]


# -- Methods that differ only by their names -------------------------------------------------------


def _method(name: str, function: Callable) -> Any:
    """`function` as the array's method of this name, which a wrong call's error shows."""
    function.__name__, function.__qualname__ = name, f"SimulatedArray.{name}"
    return function


def _reduction(name: str) -> Any:
    def method(self, axis=None, dtype=None, out=None, keepdims=False):
        check_dtype(dtype)
        return reduction(self, name, axis, dtype, out=out, keepdims=keepdims)

    return _method(name, method)


def _extreme(name: str) -> Any:
    def method(self, axis=None, out=None, keepdims=False):
        return reduction(self, name, axis, out=out, keepdims=keepdims)

    return _method(name, method)


def _place(name: str) -> Any:
    def method(self, axis=None, out=None, dtype=None, keepdims=False):
        if type(axis) is tuple:  # as if they were one axis, which takes longer to find out
            places = call(getattr(np, name), (self, axis), {"keepdims": keepdims}, self.device)
        else:
            places = reduction(self, name, axis, keepdims=keepdims)
        if dtype is not None:
            device = self.device
            places = device.new(device.compute(np.ndarray.astype, places.host_values, dtype))
        if out is None:
            return places
        write(self.device, values_on(self.device, out), ..., places.host_values)
        return out

    return _method(name, method)


def _scatter(name: str, ufunc: np.ufunc) -> Any:
    def method(self, slices, value):
        warnings.warn(f"x.{name} is deprecated: use np.{ufunc.__name__}.at(x, …)", DeprecationWarning, 2)
        scatter(ufunc, self, slices, value)

    return _method(name, method)


# -- Reading values on the host, explicitly or as a side effect. The program waits for the device. --------


def _conversion(kind: type) -> Any:
    return lambda self: kind(self._on_host(kind.__name__))


class HostReads:
    """What an array does that can be read on the host: its ``device`` copies it out, and receipts count it."""

    __slots__ = ()
    device: Any
    size: Any
    flags: Any
    copy: Any

    def get(self, stream: Any = None, order: str = "C", out: Any = None, blocking: bool = True) -> np.ndarray:
        """A copy on the host, as a NumPy array (`cupy.asnumpy`): row by row, or as `order` says, or in `out`."""
        order = order.upper()  # stream and blocking change nothing: a copy to ordinary memory waits anyway
        if out is not None:
            check_host("x.get(out=…)", self, out)
            order = "C" if out.flags.c_contiguous else "F"
            if not out.flags.forc:
                raise RuntimeError("x.get(out=…) takes an array that lies in one piece, not a part of another")
        elif order == "A":
            order = "F" if self.flags.f_contiguous else "C"
        if order == "C":
            lies_so = self.flags.c_contiguous
        else:
            lies_so = self.flags.f_contiguous
        values = self.device.download(self if lies_so else self.copy(order))
        if out is None:
            return values
        out[...] = values
        return out

    def _on_host(self, name: str) -> np.ndarray:
        """A copy on the host that the program didn't ask for explicitly."""
        self.device.check_read(name)
        return self.device.download(self, name, explicit=False)

    __int__, __float__, __complex__, __str__ = map(_conversion, (int, float, complex, str))

    def item(self) -> Any:
        return self._on_host("item").item()

    def tolist(self) -> Any:
        return self._on_host("tolist").tolist()

    def tobytes(self, order: Any = "C") -> bytes:
        return self._on_host("tobytes").tobytes(order)

    __bytes__ = tobytes

    def tofile(self, fid: Any, sep: str = "", format: str = "%s") -> None:
        self._on_host("tofile").tofile(fid, sep, format)

    def dump(self, file: Any) -> None:
        pickle.dump(self, file, -1)

    def dumps(self) -> bytes:
        return pickle.dumps(self, -1)

    def __bool__(self) -> bool:
        if self.size == 0:  # as CuPy's _core/core.pyx:1530
            warnings.warn("no elements are neither true nor false: use x.size > 0", DeprecationWarning, stacklevel=2)
            return False
        if self.size > 1:
            raise ValueError("the truth value of an array with several elements is ambiguous: use a.any() or a.all()")
        return bool(self._on_host("bool"))

    def __repr__(self) -> str:
        return f"{self._on_host('repr')!r}  # {self.device}"

    def __format__(self, spec: str) -> str:
        return format(self._on_host("format"), spec)


def check_host(name: str, x: Any, host: Any) -> None:
    """Raises `TypeError` or `ValueError` unless `host` is a host array of the same type and shape as `x`."""
    wanted = f"{name} takes a NumPy array of {x.dtype}, shape {x.shape}, got {in_words(host)}"
    if hasattr(host, "device") and not isinstance(host, np.ndarray):
        wanted += f", on {host.device}"
    if not isinstance(host, np.ndarray) or host.dtype != x.dtype:
        raise TypeError(wanted)
    if host.shape != x.shape:
        raise ValueError(wanted)


# Public names that CuPy's arrays haven't got: other files here use them, and programs shouldn't come across them.
NOT_CUPYS = frozenset(("host_values", "buffer", "in_memory", "in_same_memory"))


class _WithCupysNames(type):
    """What `dir` shows of the class: names that CuPy's has."""

    def __dir__(cls) -> list[str]:
        return [name for name in super().__dir__() if name not in NOT_CUPYS]


class SimulatedArray(HostReads, Stored, metaclass=_WithCupysNames):
    """An array on a simulated GPU (CUDA.jl: ``CuArray``). ``device(x)`` makes one, and so do operations on them."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 100
    __class_getitem__: Any = classmethod(types.GenericAlias)

    def __init__(
        self, shape: Any, dtype: Any = float, memptr: Any = None, strides: Any = None, order: Any = "C"
    ) -> None:
        """``cupy.ndarray(shape, dtype, …)``: memory of the device in use that nothing has been written to."""
        if memptr is not None:
            raise NotImplementedError("simgpu has no addresses: memptr isn't there")
        device = simulated_in_use()
        if shape is None:
            raise TypeError("ndarray takes a shape, got None")
        shape = parameters.plain("ndarray", "shape", shape)
        if strides is None:
            made = empty(np.empty, (shape, dtype, order_of(order or "C")), {}, device)
        else:
            try:
                made = device.new(np.ndarray(shape, dtype, strides=strides, order=order))
            except ValueError as error:
                raise ValueError(f"ndarray() with strides {strides}: {error}") from None
        self.host_values, self.device, self.buffer, self.base = made.host_values, made.device, made.buffer, None

    # -- NumPy calls these (NEP 13, NEP 18) ------------------------------------------------------

    __array_ufunc__ = array_ufunc
    __array_function__ = array_function

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(
            f"this array is on {self.device}; NumPy does not copy it to the host by itself. Write "
            f"{WRITE['to the host']}(x) to do so."
        )

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        """For another library on the host, which asks for it: ``np.from_dlpack(x, device="cpu")`` copies, and waits."""
        if dl_device == (ON_THE_HOST, 0):
            if copy is False:
                raise ValueError("GPU memory cannot be exported to CPU without copy.")
            values = self.device.download(self, "dlpack")
            if max_version is None:
                return values.__dlpack__()
            return values.__dlpack__(max_version=max_version)
        if dl_device is None or dl_device == self.__dlpack_device__():
            raise BufferError(
                f"no other library can read {self.device}, which is simulated. np.from_dlpack(x, device='cpu') copies "
                f"to the host, as {WRITE['to the host']}(x) does"
            )
        raise BufferError("unsupported device requested.")

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """By this, libraries know an array on a GPU, and what it's like: its shape, type, strides and stream.

        Its address is nobody's, neither a card's nor the host's (it's above 2**62). So a library that knows the array
        can't read it: without a card, PyTorch, Numba and CuPy raise an error of their own when they start CUDA. Give
        them ``x.get()``.
        """
        address = address_of(self.host_values) % 2**62 + 2**62 if self.size else 0
        kind = self.dtype
        return {
            "shape": self.shape, "typestr": kind.str, "descr": kind.descr, "stream": self.device.lanes.stream or 1,
            "version": 3, "strides": None if self.flags.c_contiguous else self.strides, "data": (address, False),
        }  # fmt: skip

    def __dlpack_device__(self) -> tuple[int, int]:
        """DLPack's number for CUDA, and the card's."""
        return ON_CUDA, self.device.index

    def __dir__(self) -> list[str]:
        return dir(type(self))

    def in_same_memory(self, values: np.ndarray) -> SimulatedArray:
        """Other values in the same memory."""
        return array_in(values, self.device, self.buffer, self if self.base is None else self.base)

    def _view_or_copy(self, values: np.ndarray, name: str, function: Callable, *args: Any) -> SimulatedArray:
        """What NumPy's `function` has made: a view if the memory order allows it, or a copy, which takes a kernel."""
        if root_of(values) is self.buffer.root:
            return self.in_same_memory(values)
        device, card = self.device, current_card(self.device)
        if device.instead is not None:
            values = device.instead(function, self.host_values, *args)
        device.launch(name, 2 * values.nbytes)
        made = device.new(values)
        if card is device:
            return made
        return card.copy_from(device, made)

    # -- operators: each calls the NumPy function with the same meaning -----------------------------

    __add__, __radd__, __iadd__ = _operators(np.add)
    __sub__, __rsub__, __isub__ = _operators(np.subtract)
    __mul__, __rmul__, __imul__ = _operators(np.multiply)
    __truediv__, __rtruediv__, __itruediv__ = _operators(np.divide)
    __floordiv__, __rfloordiv__, __ifloordiv__ = _operators(np.floor_divide)
    __mod__, __rmod__, __imod__ = _operators(np.remainder)
    __and__, __rand__, __iand__ = _operators(np.bitwise_and)
    __or__, __ror__, __ior__ = _operators(np.bitwise_or)
    __xor__, __rxor__, __ixor__ = _operators(np.bitwise_xor)
    __lshift__, __rlshift__, __ilshift__ = _operators(np.left_shift)
    __rshift__, __rrshift__, __irshift__ = _operators(np.right_shift)
    __divmod__, __rdivmod__ = _operators(np.divmod)[:2]
    __matmul__, __rmatmul__ = _operators(np.matmul)[:2]
    __lt__, __le__ = _operators(np.less)[0], _operators(np.less_equal)[0]
    __gt__, __ge__ = _operators(np.greater)[0], _operators(np.greater_equal)[0]
    __neg__, _positive = _operator(np.negative), _operator(np.positive)
    __abs__, __invert__ = _operator(np.absolute), _operator(np.invert)
    _power, __rpow__ = _operators(np.power)[:2]
    _equal, _not_equal = _operators(np.equal)[0], _operators(np.not_equal)[0]

    def __pow__(self, other: Any) -> Any:
        # As in NumPy's own **: squaring is far cheaper than a power.
        if type(other) is int and other == 2 and self.dtype.kind != "b":
            return call_ufunc(np.square, (self,))
        if type(other) is float and other in _FAST_POWERS:  # CuPy's core.pyx:1651
            ufunc = _FAST_POWERS[other]
            if self.dtype.kind in "fc":
                return call_ufunc(ufunc, (self,))
            return call_ufunc(ufunc, (self,), {"dtype": np.result_type(self.dtype, other)})
        if self.dtype.kind == "b" and type(other) is int:
            return self.astype(int)._power(other)
        return self._power(other)

    def __pos__(self) -> Any:
        if self.dtype.kind != "b":
            return self._positive()
        warnings.warn("+x of booleans is a copy, and in CuPy it will be an error", DeprecationWarning, stacklevel=2)
        return self.copy()

    def __ipow__(self, other: Any) -> Any:
        return call_ufunc(np.power, (self, other), {"out": (self,)})

    def __eq__(self, other: Any) -> Any:
        if _never_equal(other):
            return np.zeros_like(self, dtype=bool)
        return self._equal(other)

    def __ne__(self, other: Any) -> Any:
        if _never_equal(other):
            return np.ones_like(self, dtype=bool)
        return self._not_equal(other)

    # -- what the host knows without asking the device --------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        return self.host_values.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        values = self.host_values.reshape(parameters.plain("reshape", "shape", shape))
        if root_of(values) is not self.buffer.root:
            raise AttributeError(f"incompatible shape: this would need a copy, which x.reshape({shape}) makes")
        self.host_values = values

    dtype, ndim, size, itemsize, nbytes, strides, flags = (
        property(operator.attrgetter(f"host_values.{name}"))
        for name in ("dtype", "ndim", "size", "itemsize", "nbytes", "strides", "flags")
    )

    def __len__(self) -> int:
        return len(self.host_values)

    # -- views, which launch no kernel ------------------------------------------------------------

    __getitem__ = getitem
    T = property(lambda self: self.in_same_memory(self.host_values.T))
    mT = property(lambda self: self.in_same_memory(self.host_values.mT))
    flat = property(lambda self: Flat(self))

    @property
    def real(self) -> SimulatedArray:
        if self.dtype.kind == "c":
            return self.in_same_memory(self.host_values.real)
        return self

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> SimulatedArray:
        return self.in_same_memory(self.host_values.imag) if self.dtype.kind == "c" else np.zeros_like(self)  # type: ignore[return-value]

    @imag.setter
    def imag(self, value: Any) -> None:
        if self.dtype.kind != "c":
            raise TypeError(f"an array of {self.dtype} has no imaginary part to set: x.astype(np.complex64) has one")
        self.imag[...] = value

    def __iter__(self) -> Iterator[SimulatedArray]:
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def view(self, dtype: Any = None) -> SimulatedArray:
        check_dtype(dtype)
        if dtype is None:
            return self.in_same_memory(self.host_values.view())
        return self.in_same_memory(self.host_values.view(dtype))

    def reshape(self, *shape: Any, order: Any = "C", copy: bool | None = None) -> SimulatedArray:
        order = order_of(order)
        if isinstance(copy, str):
            raise ValueError("strings are not allowed for copy=: write True, False or None")
        if len(shape) == 1:
            shape = (parameters.plain("reshape", "shape", shape[0]),)
        values = self.host_values.reshape(*shape, order=order)
        if copy is False and root_of(values) is not self.buffer.root:
            raise ValueError(f"Unable to avoid creating a copy: x.reshape({shape}, copy=False), as x lies in memory")
        if copy:
            values = values.copy(order)
        return self._view_or_copy(values, "reshape", _reshaped, shape, order, copy)

    def reduced_view(self, dtype: Any = None) -> SimulatedArray:
        """The same elements with as few axes as possible: those that lie in one piece become one."""
        shape: list[int] = []
        strides: list[int] = []
        for length, step in zip(self.shape, self.strides):
            if strides and strides[-1] == length * step:
                shape[-1], strides[-1] = shape[-1] * length, step
            elif length != 1:
                shape.append(length)
                strides.append(step)
        if self.flags.c_contiguous:
            shape, strides = [self.size], [self.itemsize]
        if dtype is None and (self.ndim < 2 or len(shape) == self.ndim):
            return self
        return self.in_same_memory(view_by_strides(self.host_values, shape, strides)).view(dtype)

    def ravel(self, order: Any = "C") -> SimulatedArray:
        order = order_of(order)
        return self._view_or_copy(self.host_values.ravel(order), "ravel", np.ndarray.ravel, order)  # type: ignore[arg-type]

    def __reduce__(self) -> Any:
        return _unpickled, (self.device.in_use, self._on_host("pickle"))

    # -- copies and writes -----------------------------------------------------------------------

    __setitem__ = setitem
    put, take = put, take

    def copy(self, order: str = "C") -> SimulatedArray:
        device, flags = self.device, self.host_values.flags
        order = order_of(order)
        if (card := current_card(device)) is device:
            return device.copy_within(self, order)
        # From another card, whole memory moves to the current one: CuPy's _core/core.pyx:861.
        if flags.c_contiguous or (order in "KA" and flags.f_contiguous):
            return card.copy_from(device, self)
        return card.copy_from(device, device.copy_within(self, order))

    __copy__ = copy

    def __deepcopy__(self, memo: dict) -> SimulatedArray:
        return self.device.copy_within(self)  # on the array's own card: core.pyx:1787

    def set(self, arr: np.ndarray, stream: Any = None) -> None:
        """Fill this array from a host array of the same type and shape."""
        check_host("x.set(arr)", self, arr)
        if not self.flags.forc:
            raise RuntimeError("x.set(arr) fills an array that lies in one piece, and this is a part of another")
        write(self.device, self.host_values, ..., self.device.upload(arr).host_values)

    def flatten(self, order: str = "C") -> SimulatedArray:
        return self.copy(order).ravel(order)

    def astype(self, dtype: Any, order: str = "K", casting: Any = None, subok: Any = None, copy: bool = True) -> Any:
        if casting is not None or subok is not None:
            raise TypeError("x.astype takes neither casting= nor subok= on a GPU (CuPy does not support them yet)")
        check_dtype(dtype)
        order, flags = order_of(order or "K"), self.flags
        lies_so = order == "K" or flags.c_contiguous and order in "AC" or flags.f_contiguous and order in "AF"
        same = np.dtype(dtype) == self.dtype
        if same and lies_so and not copy:
            return self
        if self.host_values.dtype.names is not None or np.dtype(dtype).names is not None:
            return self._as_records(np.dtype(dtype), order)
        device = self.device.begin()
        if same and (copy or lies_so):
            return device.copy_within(self, order)
        convert: Any = np.ndarray.astype
        if self.dtype.kind in "fc" and np.dtype(dtype).kind in "iu":
            convert = _CAST
        values = device.compute(convert, self.host_values, dtype, order)
        device.launch("astype", self.nbytes + values.nbytes)
        return device.new(values)

    def _as_records(self, dtype: np.dtype, order: str) -> SimulatedArray:
        """``x.astype(…)`` from or to a structured type: to the same one, a copy."""
        for kind in (self.dtype, dtype):
            records.check_kernel(kind)
        if dtype != self.dtype:
            raise NotImplementedError(f"x.astype from {self.dtype} to {dtype} isn't simulated: copy field by field")
        return self.device.copy_within(self, order)

    def fill(self, value: Any) -> None:
        if getattr(value, "shape", ()) != ():
            raise ValueError(f"x.fill takes one number, got an array of shape {value.shape}")
        self[...] = value

    def byteswap(self, inplace: bool = False) -> SimulatedArray:
        """Each number with its bytes reversed: in new memory, or with `inplace` where it is."""
        if self.host_values.dtype.names is not None:
            raise TypeError("byteswap is not supported for structured dtypes")
        device = self.device.begin()
        values = device.compute(np.ndarray.byteswap, self.host_values)
        device.launch("byteswap", 2 * values.nbytes)
        if not inplace:
            return device.new(values)
        write(device, self.host_values, ..., values)
        return self

    def sort(self, axis: int = -1, kind: Any = None) -> None:
        _check_kind(kind)
        self._put_in_order("sort", parameters.plain("sort", "axis", axis), "stable")

    def partition(self, kth: Any, axis: int = -1) -> None:
        self._put_in_order("partition", parameters.plain("partition", "kth", kth), axis)

    def _put_in_order(self, name: str, *args: Any) -> None:
        """Put this array in order in place. CuPy does that only row by row, and swaps axes for that if it has to."""
        if not self.flags.c_contiguous:
            raise NotImplementedError(f"x.{name}() takes an array that lies row by row; np.{name}(x) makes a new one")
        records.check_call(name, (self.host_values,))
        device = self.device.begin()
        device.compute(getattr(np.ndarray, name), self.host_values, *args)
        axis = args[1] if name == "partition" else args[0]
        is_last = axis in (-1, self.ndim - 1)
        commands = ONE if is_last else Commands(3)
        device.launch_function(name, [self.host_values], [], (), {}, commands)

    # -- NumPy's functions as methods, with CuPy's parameters ------------------------------------

    def argsort(self, axis: int | None = -1, kind: Any = None) -> Any:
        _check_kind(kind)
        return np.argsort(self, axis, "stable")  # type: ignore[call-overload]

    def compress(self, condition: Any, axis: int | None = None, out: Any = None) -> SimulatedArray:
        if not isinstance(condition, Stored):
            condition = np.asarray(condition, np.int64)
        kwargs = {} if out is None else {"out": out}
        return call(np.compress, (condition, self, axis), kwargs, self.device)

    def conj(self) -> SimulatedArray:
        if self.dtype.kind == "c":
            return call_ufunc(np.conjugate, (self,))
        return self

    conjugate = conj

    sum, prod, mean = map(_reduction, ("sum", "prod", "mean"))
    max, min, all, any = map(_extreme, ("max", "min", "all", "any"))
    argmax, argmin = map(_place, ("argmax", "argmin"))
    scatter_add = _scatter("scatter_add", np.add)
    scatter_max = _scatter("scatter_max", np.maximum)
    scatter_min = _scatter("scatter_min", np.minimum)

    def var(self, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False) -> Any:
        return np.var(self, axis, dtype, out, ddof, keepdims)

    def std(self, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False) -> Any:
        return np.std(self, axis, dtype, out, ddof, keepdims)

    def cumsum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        return np.cumsum(self, axis, dtype, out)

    def cumprod(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        return np.cumprod(self, axis, dtype, out)

    def ptp(self, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
        return np.ptp(self, axis, out, keepdims)

    def dot(self, b: Any, out: Any = None) -> Any:
        return np.dot(self, b, out=out)

    def clip(self, min: Any = None, max: Any = None, out: Any = None) -> Any:
        return np.clip(self, min, max, out=out)

    def round(self, decimals: Any = 0, out: Any = None) -> Any:
        return np.round(self, decimals, out)

    def choose(self, choices: Any, out: Any = None, mode: Any = "raise") -> Any:
        return np.choose(self, choices, out, mode)

    def repeat(self, repeats: Any, axis: Any = None) -> Any:
        return np.repeat(self, repeats, axis)

    def searchsorted(self, v: Any, side: Any = "left", sorter: Any = None) -> Any:
        if sorter is None:
            return np.searchsorted(self, v, side)
        if sorter.dtype.kind not in "iu":
            raise TypeError(f"sorter must only contain integers, got {sorter.dtype}")
        if sorter.size < self.size:
            raise ValueError(f"sorter says where each of the {self.size} elements is, got {sorter.size} places")
        return np.searchsorted(self.take(sorter), v, side)

    def trace(self, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None, out: Any = None) -> Any:
        return self.diagonal(offset, axis1, axis2).sum(-1, dtype, out)

    def argpartition(self, kth: Any, axis: Any = -1) -> Any:
        return np.argpartition(self, kth, axis)

    def nonzero(self) -> Any:
        return np.nonzero(self)

    def transpose(self, *axes: Any) -> Any:
        axes = tuple([parameters.plain("transpose", "axes", x) for x in axes])
        return self.in_same_memory(self.host_values.transpose(*axes))

    def swapaxes(self, axis1: Any, axis2: Any) -> Any:
        return self.in_same_memory(self.host_values.swapaxes(axis1, axis2))

    def squeeze(self, axis: Any = None) -> Any:
        return self.in_same_memory(self.host_values.squeeze(parameters.plain("squeeze", "axis", axis)))

    def diagonal(self, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Any:
        return self.in_same_memory(self.host_values.diagonal(offset, axis1, axis2))


_CAST = Formula(cast, np.ndarray.astype)


def _reshaped(values: np.ndarray, shape: tuple, order: Any, copy: Any) -> np.ndarray:
    found = values.reshape(*shape, order=order)
    if copy:
        return found.copy(order)
    return found


def array_in(values: np.ndarray, device: Any, buffer: Buffer, base: Any) -> SimulatedArray:
    """The array with these values, which lie in this buffer."""
    if values.dtype.char in LACKING_DTYPES:
        check_dtype(values.dtype)  # this raises; for each array, asking twice is faster than a call
    x = object.__new__(SimulatedArray)
    x.host_values, x.device, x.buffer = values, device, buffer  # four at once would be slower
    x.base = base
    return x


def _check_kind(kind: Any) -> None:
    if kind not in (None, "stable"):
        raise ValueError(f"kind={kind!r}: a GPU sorts in one way, which is stable. Leave kind out, or write 'stable'")


def _unpickled(in_use: Any, x: np.ndarray) -> Any:
    """An unpickled array goes to the GPU in use, as CuPy's arrays do."""
    return in_use().receive(x)
