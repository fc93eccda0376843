"""`Wrapped`: one thin class that makes an array library look like NumPy.

It holds one array of a library that lacks NumPy's protocols. It handles operators, NumPy's functions (NEP 13 and 18),
indexing and methods. Its device knows which library function to call. A write in place replaces the array inside;
views know their parent (`views.py`), so a write shows up wherever NumPy would show it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ...methods import ArrayMethods
from ...tree.ties import address
from .. import events
from ..events import listeners, tell
from ..simulated import HostReads
from . import indexing, views

_addresses = itertools.count(1 << 44, 1 << 44)  # farther apart than any array is long


class Wrapped(HostReads, ArrayMethods, NDArrayOperatorsMixin):
    """A library's array on `device`. `base` is the array that this is a view of, or None.

    The library doesn't say how its arrays lie in memory. `strides` says how NumPy would lay them out, so that we can
    see that ``W`` and ``W.T`` are one parameter (`fluxlite.ties`).
    """

    __slots__ = (
        "_values", "device", "strides", "_address", "base", "_parent", "_window", "_version", "_is_writeable",
        "__weakref__",
    )  # fmt: skip
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, values: Any, device: Any, strides: tuple[int, ...] | None = None) -> None:
        self._values = values
        self.device = device
        self.strides = views.strides_in_order(values.shape, values.itemsize) if strides is None else strides
        self._address = next(_addresses)
        self.base: Any = None
        self._parent: Any = None
        self._window: Any = None
        self._version = 0  # how often this was written; for a view, how often its base was written at the latest read
        self._is_writeable = True

    def view(self, window: views.Window, strides: tuple[int, ...], start: int = 0) -> Any:
        """A view of this array through `window`."""
        result = type(self)(window.read(self.values), self.device, strides)
        result.base = self if self.base is None else self.base
        result._parent, result._window = self, window
        result._address = self._address + start
        result._version = result.base._version
        result._is_writeable = self._is_writeable
        return result

    @property
    def values(self) -> Any:
        """The library's array, with all writes so far."""
        if self.base is not None and self._version != self.base._version:
            self._values = self._window.read(self._parent.values)
            self._version = self.base._version
        return self._values

    def replace(self, values: Any) -> None:
        """Write `values`, with this array's shape and dtype, here and to all arrays that share its memory."""
        if not self._is_writeable or self.base is not None and not self.base._is_writeable:
            raise ValueError("assignment destination is read-only")
        owner: Any = self
        while owner._parent is not None:
            values = owner._window.write(owner._parent.values, values)
            owner = owner._parent
        owner._values = values
        owner._version += 1
        owner.device.made(owner)

    # -- NumPy calls these (NEP 13, NEP 18) ------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        is_written = any(out is self for out in kwargs.get("out", ()))  # as in x += y: then no other type gets a say
        if not is_written and any(map(is_foreign, (*inputs, *kwargs.get("out", ())))):
            return NotImplemented
        return self.device.ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: tuple, kwargs: dict) -> Any:
        if not all(issubclass(kind, (Wrapped, np.ndarray)) for kind in types):
            return NotImplemented
        return self.device.function(function, args, kwargs)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(
            f"this array is on {self.device}; NumPy does not copy it to the host by itself. Write cpu(x) to do so."
        )

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.values.__dlpack__(**keywords)

    def __dlpack_device__(self) -> Any:
        return self.values.__dlpack_device__()

    # An object without its own equality never equals a number: `x == None` is False everywhere, as in NumPy.

    def __eq__(self, other: Any) -> Any:
        if other is None or type(other).__eq__ is object.__eq__:  # type: ignore[comparison-overlap]
            return np.zeros_like(self, dtype=bool)
        return super().__eq__(other)

    def __ne__(self, other: Any) -> Any:
        if other is None or type(other).__eq__ is object.__eq__:  # type: ignore[comparison-overlap]
            return np.ones_like(self, dtype=bool)
        return super().__ne__(other)

    # -- what the host knows without waiting for the device ---------------------------------------

    shape = property(lambda self: self._values.shape)
    ndim = property(lambda self: self._values.ndim)
    size = property(lambda self: self._values.size)
    itemsize = property(lambda self: self._values.itemsize)
    nbytes = property(lambda self: self._values.nbytes)
    dtype = property(lambda self: self.device.numpy_dtype(self._values))
    flags = property(lambda self: Flags(self))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array of shape ()")
        return self.shape[0]

    def item(self, *args: int) -> Any:
        return HostReads.item(self[args] if args else self)

    def __index__(self) -> int:
        raise TypeError(f"an array on {self.device} is no index or count of the host's: use int(x), which copies it")

    def __reduce__(self) -> Any:
        return self.device.unpickled, (self._on_host("pickle"),)

    # -- reading and writing parts ---------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        return indexing.getitem(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        indexing.setitem(self, index, value)

    def __iter__(self) -> Iterator[Any]:
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def fill(self, value: Any) -> None:
        self[...] = value

    def sort(self, axis: int = -1) -> None:
        self[...] = np.sort(self, axis)

    # -- methods; ArrayMethods has the others -----------------------------------------------------

    @property
    def mT(self) -> Any:  # noqa: N802
        return np.swapaxes(self, -1, -2)

    @property
    def real(self) -> Any:
        return np.real(self)

    @property
    def imag(self) -> Any:
        return np.imag(self)

    def astype(self, dtype: Any, order: str = "K", casting: Any = None, subok: Any = None, copy: bool = True) -> Any:
        """Convert to a dtype: a new array, or with ``copy=False`` this one if it has that dtype already."""
        if not copy and np.dtype(dtype) == self.dtype:
            return self
        return self.device.converted(self, np.dtype(dtype))

    def copy(self, order: str = "C") -> Any:
        like = self.strides if order in ("K", "A") else None
        strides = views.strides_in_order(self.shape, self.itemsize, like)
        if listeners:
            tell(self.device, events.DEVICE_TO_DEVICE, "copy", nbytes=self.nbytes)
        return self.device.new(self.values, strides)

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: dict) -> Any:
        return self.copy()

    def flatten(self, order: str = "C") -> Any:
        return self.copy().ravel(order)


class Flags:
    """``x.flags``: how the array lies in memory, and whether it's writeable. You can set ``x.flags.writeable``."""

    __slots__ = ("_array",)

    def __init__(self, array: Wrapped) -> None:
        self._array = array

    @property
    def c_contiguous(self) -> bool:
        x = self._array
        return views.lies_in_order(x.shape, x.strides, x.itemsize)

    @property
    def f_contiguous(self) -> bool:
        x = self._array
        return views.lies_in_order(x.shape[::-1], x.strides[::-1], x.itemsize)

    @property
    def owndata(self) -> bool:
        return self._array.base is None

    @property
    def writeable(self) -> bool:
        return self._array._is_writeable

    @writeable.setter
    def writeable(self, value: bool) -> None:
        x = self._array
        if value and x.base is not None and (not x.base._is_writeable or isinstance(x._window, views.Spread)):
            raise ValueError("cannot set WRITEABLE flag to True of this array")
        x._is_writeable = bool(value)

    def __repr__(self) -> str:
        names = ("c_contiguous", "f_contiguous", "owndata", "writeable")
        return "\n".join(f"  {name.upper()} : {getattr(self, name)}" for name in names)


def is_foreign(x: Any) -> bool:
    """Whether `x` has an array type that isn't ours and may know ours. Then NumPy should ask it instead."""
    return not isinstance(x, (Wrapped, np.ndarray, np.generic)) and hasattr(x, "__array_ufunc__")


@address.register
def _(x: Wrapped) -> int:
    return x._address
