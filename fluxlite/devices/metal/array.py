"""`MetalArray`: one thin class that makes MLX look like NumPy.

MLX lacks NumPy's protocols, views, and arrays that change in place. How an array lies in memory is NumPy's business
here: each has a `layout`, an array of NumPy's with its shape and strides, in memory that's never read or written, so
that no page of it is ever used. A view's layout is a view of its base's. A write in place replaces the MLX array inside
the base; the views read it again.
"""

import copy
import operator
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ... import arrays
from ...arrays import device_of
from ...autodiff.tracked import ArrayMethods
from ...tree.ties import address
from ..base import DEVICE_TO_DEVICE, HOST_TO_DEVICE, listeners, tell
from ..simulated import HostReads, one_number
from .dtypes import as_dtype, mx, numpy_dtype


class MetalArray(HostReads, ArrayMethods, NDArrayOperatorsMixin):
    """An array on an Apple GPU (Metal.jl: ``MtlArray``). ``device(x)`` makes one, and so do operations on them."""

    __slots__ = ("_values", "device", "layout", "base", "_version", "__weakref__")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, values: Any, device: Any, layout: Any = None, base: Any = None) -> None:
        self._values = values  # of a view: what it read last
        self.device = device
        self.layout = np.empty(values.shape, numpy_dtype(values.dtype)) if layout is None else layout
        self.base = base  # the array that this is a view of, or None
        self._version = 0 if base is None else -1  # how often the base had been written when this was read

    # What the host knows without waiting for the device. `flags` can be set: ``x.flags.writeable = False``.
    shape, strides, ndim, size, dtype, itemsize, nbytes, flags = (
        property(operator.attrgetter(f"layout.{name}"))
        for name in ("shape", "strides", "ndim", "size", "dtype", "itemsize", "nbytes", "flags")
    )

    def view(self, layout: np.ndarray) -> Any:
        return MetalArray(None, self.device, layout, self if self.base is None else self.base)

    @property
    def values(self) -> Any:
        """MLX's array, with all writes so far."""
        if self.base is not None and self._version != self.base._version:
            self._values, self._version = self.base._part(self.layout), self.base._version
        return self._values

    def _part(self, layout: np.ndarray) -> Any:
        """What a view with this layout shows. MLX is quicker with a new shape or turned axes than with strides."""
        axes = list(zip(layout.shape, layout.strides))
        ours = list(zip(self.shape, self.strides))
        if layout.size == self.size and address(layout) == address(self):
            if layout.flags.c_contiguous and self.flags.c_contiguous:
                return self._values.reshape(layout.shape)
            if len({*axes, *ours}) == len(axes) == len(ours):
                return self._values.transpose([ours.index(axis) for axis in axes])
        flat = self._values if self.flags.c_contiguous else self._values.transpose(self._order())
        return mx.as_strided(mx.contiguous(flat), *self._places(layout))

    def _places(self, layout: np.ndarray) -> tuple:
        start: Any = address(layout) - address(self)  # type: ignore[operator]
        return layout.shape, [stride // self.itemsize for stride in layout.strides], start // self.itemsize

    def _order(self) -> list[int]:
        """The axes, from the largest stride to the smallest."""
        return sorted(range(self.ndim), key=lambda axis: -self.strides[axis])

    def replace(self, values: Any) -> Any:
        """Write `values`, with this array's dtype, here and to all arrays that share its memory. Returns this array."""
        whole = self if self.base is None else self.base
        if not (self.flags.writeable and whole.flags.writeable):
            raise ValueError("assignment destination is read-only")
        if values.shape != self.shape:
            values = mx.broadcast_to(values, self.shape)
        if self is whole or _is_same(self, whole):
            whole._values = values
        elif self.size:
            whole._values = whole._with(self.layout, values)
        whole._version += 1
        self.device.made(whole)
        return self

    def _with(self, layout: np.ndarray, values: Any) -> Any:
        """The values of this array after `values` were written to a part of it."""
        order = self._order()
        ordered = self._values.transpose(order)
        flat = copy.copy(ordered.reshape(-1))  # MLX copies if it has to; other users of the values see no change
        flat[mx.as_strided(mx.arange(self.size, dtype=mx.int64), *self._places(layout))] = values
        return flat.reshape(ordered.shape).transpose([order.index(axis) for axis in range(self.ndim)])

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        is_written = any(out is self for out in kwargs.get("out", ()))  # as in x += y: then no other type gets a say
        if not is_written and any(map(_is_foreign, (*inputs, *kwargs.get("out", ())))):
            return NotImplemented
        return self.device.ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: tuple, kwargs: dict) -> Any:
        if not all(issubclass(kind, (MetalArray, np.ndarray)) for kind in types):
            return NotImplemented
        return self.device.function(function, args, kwargs)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"this array is on {self.device}: NumPy copies it to the host only if you write cpu(x)")

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.values.__dlpack__(**keywords)

    def __dlpack_device__(self) -> Any:
        return self.values.__dlpack_device__()

    def __eq__(self, other: Any) -> Any:
        return np.zeros_like(self, dtype=bool) if _never_equal(other) else super().__eq__(other)

    def __ne__(self, other: Any) -> Any:
        return np.ones_like(self, dtype=bool) if _never_equal(other) else super().__ne__(other)

    def __getitem__(self, index: Any) -> Any:
        if _is_basic(index):
            index = index if type(index) is tuple else (index,)
            return self.view(self.layout[index if Ellipsis in index else (*index, ...)])  # NumPy's ... gives an array
        view, places = self._chosen(index)
        return self.device.new(view.values[places])

    def __setitem__(self, index: Any, value: Any) -> None:
        if _is_basic(index):
            part = self[index]
            if not _is_same(part, value):  # x[0] += 1 ends with this assignment, which has nothing left to do
                part.replace(self._to_write(value))
            return
        if isinstance(value, (list, tuple, np.ndarray)):
            value = self.device.copy_in(np.asarray(value, self.dtype), explicit=False)
        self._scatter(index, self._to_write(value))

    def _to_write(self, value: Any) -> Any:
        return as_dtype(value.values if isinstance(value, MetalArray) else one_number(value, self.device), self.dtype)

    def _scatter(self, index: Any, values: Any, add: bool = False) -> None:
        """``x[index] = values`` with an index array, or ``+=``, where repeated positions add up."""
        view, places = self._chosen(index)
        if view.size == 0 or any(getattr(part, "size", 1) == 0 for part in places):
            return
        into = view.values
        if any(isinstance(part, slice) for part in places):  # MLX reads with slices beside arrays, but can't write so
            numbered = mx.arange(view.size, dtype=mx.int64).reshape(view.shape)
            into, places = into.reshape(-1), (numbered[places],)
        changed = into.at[places].add(values) if add else copy.copy(into)
        if not add:
            changed[places] = values
        view.replace(changed.reshape(view.shape))

    def _chosen(self, index: Any) -> tuple[Any, tuple]:
        """An index with arrays in two steps: a view, by slices and new axes; then positions along the view's axes."""
        parts = [self._index_part(part) for part in (index if type(index) is tuple else (index,))]
        idle = self.ndim - sum(map(_axes_of, parts))  # what a ... stands for
        at = next((i for i, part in enumerate(parts) if part is Ellipsis), 0)
        if idle == 0 and not all(map(_is_slice, parts[:at])) and not all(map(_is_slice, parts[at:])):
            raise TypeError("x[i, ..., j] with a ... that stands for no axis: MLX turns no axes, so leave the ... out")
        slices = [
            all_of for part in parts for all_of in ([part] if _is_slice(part) else [slice(None)] * _axes_of(part))
        ]
        view = self[tuple(slices)]
        places: list[Any] = []
        for part in parts:
            length = view.shape[len(places)] if len(places) < view.ndim else 1
            if _is_slice(part):
                places += [slice(None)] * (idle if part is Ellipsis else 1)
            elif isinstance(part, int):
                places.append(range(length)[part])  # raises IndexError where MLX would read garbage
            elif isinstance(part, np.ndarray):  # a mask becomes one array of positions per axis
                if part.shape != view.shape[len(places) : len(places) + part.ndim]:
                    raise IndexError(f"a mask of shape {part.shape} does not fit an array of shape {self.shape}")
                places += map(mx.array, np.nonzero(part))
            elif length == 0 < part.size:
                raise IndexError(f"an index of shape {part.shape} for an axis without elements")
            else:
                places.append(part % max(length, 1))  # out of range, an array's numbers wrap around
        return view, tuple(places)

    def _index_part(self, part: Any) -> Any:
        """A mask on the host; positions as an MLX array. Lists and host arrays are copied to the device."""
        if not isinstance(part, tuple) and _is_basic(part):
            return int(part) if isinstance(part, np.integer) else part
        if not isinstance(part, MetalArray):
            part = np.asarray(part)
            part = part.astype(int) if part.size == 0 and part.dtype != bool else part
        if part.dtype.kind not in "biu" or part.dtype == bool and part.ndim == 0:
            raise IndexError(f"an index is of integers or booleans, got dtype {part.dtype} of shape {part.shape}")
        if isinstance(part, MetalArray):  # how many are True determines the result's shape, so the host has to know
            return self.device.copy_out(part, "getitem with a mask", False) if part.dtype == bool else part.values
        if listeners:
            tell(self.device, HOST_TO_DEVICE, "index", nbytes=part.nbytes, explicit=False)
        return part if part.dtype == bool else mx.array(part.astype(np.int64))

    def __len__(self) -> int:
        return len(self.layout)

    def __iter__(self) -> Iterator[Any]:
        return map(self.__getitem__, range(len(self)))

    real = property(np.real)
    imag = property(np.imag)
    mT = property(np.matrix_transpose)  # noqa: N815

    def item(self, *args: int) -> Any:
        return HostReads.item(self[args] if args else self)

    def __index__(self) -> int:
        raise TypeError(f"an array on {self.device} is no index or count of the host's: use int(x), which copies it")

    def __reduce__(self) -> Any:
        return self.device.unpickled, (self._on_host("pickle"),)

    def fill(self, value: Any) -> None:
        self[...] = value

    def sort(self, axis: int = -1) -> None:
        self[...] = np.sort(self, axis)

    def astype(self, dtype: Any, order: str = "K", casting: Any = None, subok: Any = None, copy: bool = True) -> Any:
        if not copy and np.dtype(dtype) == self.dtype:
            return self
        return self.device.new(as_dtype(self.values, dtype), np.empty_like(self.layout, dtype))

    def copy(self, order: Any = "C") -> Any:
        if listeners:
            tell(self.device, DEVICE_TO_DEVICE, "copy", nbytes=self.nbytes)
        return self.device.new(self.values, np.empty_like(self.layout, order=order))

    __copy__ = copy

    def __deepcopy__(self, memo: dict) -> Any:
        return self.copy()

    def flatten(self, order: str = "C") -> Any:
        return self.copy().ravel(order)


def _is_foreign(x: Any) -> bool:
    """Whether `x` has an array type that isn't ours and may know ours. Then NumPy should ask it instead."""
    return not isinstance(x, (MetalArray, np.ndarray, np.generic)) and hasattr(x, "__array_ufunc__")


def _never_equal(x: Any) -> bool:
    """An object without its own equality equals no number: `x == None` is False everywhere, as in NumPy."""
    return x is None or type(x).__eq__ is object.__eq__  # type: ignore[comparison-overlap]


def _is_basic(index: Any) -> bool:
    """Whether reading gives a view."""
    if type(index) is tuple:  # one inside of another is a list of positions
        return all(type(part) is not tuple and _is_basic(part) for part in index)
    return _is_slice(index) or isinstance(index, (int, np.integer)) and not isinstance(index, bool)


def _is_slice(part: Any) -> bool:
    return part is None or part is Ellipsis or isinstance(part, slice)


def _axes_of(part: Any) -> int:
    """How many of the array's axes one part of an index uses."""
    return 0 if part is None or part is Ellipsis else part.ndim if isinstance(part, np.ndarray) else 1


def _is_same(x: Any, y: Any) -> bool:
    """Whether they are the same view of the same memory."""
    return isinstance(y, MetalArray) and (address(x), x.shape, x.strides) == (address(y), y.shape, y.strides)


# -- what fluxlite asks of an array ------------------------------------------------------------------------------

address.register(MetalArray, lambda x: address(x.layout))
device_of.register(MetalArray, operator.attrgetter("device"))
arrays.read_only_types.add(MetalArray)


@arrays.add_at_for(MetalArray)
def _add_at(total: MetalArray, index: Any, values: Any) -> None:
    total._scatter(index, as_dtype(values.values, total.dtype), add=True)
