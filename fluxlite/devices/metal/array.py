"""`MetalArray`: one thin class that makes MLX look like NumPy; and which of their types correspond.

MLX lacks NumPy's protocols, views, and arrays that change in place. How an array lies in memory is NumPy's business
here: each has a `layout`, an array of NumPy's with its shape and strides, whose values mean nothing. A view's layout is
a view of its base's. A write in place replaces the MLX array inside the base; the views read it again.
"""

import copy
import functools
import operator
from collections.abc import Iterator
from typing import Any

import mlx.core as mx
import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ..plugin import DEVICE_TO_DEVICE, HOST_TO_DEVICE, ArrayKind, ArrayMethods, HostReads, one_number, register, tell


class MetalArray(HostReads, ArrayMethods, NDArrayOperatorsMixin):
    """An array on an Apple GPU (Metal.jl: ``MtlArray``). ``device(x)`` makes one, and so do operations on them."""

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

    def view(self, layout: np.ndarray) -> "MetalArray":
        return MetalArray(None, self.device, layout, self if self.base is None else self.base)

    @property
    def values(self) -> Any:
        """MLX's array, with all writes so far."""
        if self.base is not None and self._version != self.base._version:
            whole = self.base._values.transpose(_by_stride(self.base))
            self._values = mx.as_strided(mx.contiguous(whole), *self._place())
            self._version = self.base._version
        return self._values

    def _place(self) -> tuple:
        """Where a view's elements are in its base's memory, as MLX says it: shape, strides and start."""
        start = _address(self) - _address(self.base)
        return self.shape, [stride // self.itemsize for stride in self.strides], start // self.itemsize

    def replace(self, values: Any) -> "MetalArray":
        """Write `values`, with this array's dtype, here and to all arrays that share its memory. Returns this array."""
        whole = self if self.base is None else self.base
        if not (self.flags.writeable and whole.flags.writeable):
            raise ValueError("assignment destination is read-only")
        values = mx.broadcast_to(values, self.shape)
        if _is_same(self, whole):
            whole._values = values
        elif self.size:
            axes = _by_stride(whole)
            turned = whole._values.transpose(axes)
            flat = copy.copy(turned.reshape(-1))  # MLX copies if it has to; other users of the values see no change
            flat[mx.as_strided(mx.arange(whole.size, dtype=mx.int64), *self._place())] = values
            whole._values = flat.reshape(turned.shape).transpose(np.argsort(axes).tolist())
        whole._version += 1
        self.device.made(whole)
        return self

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        is_written = any(out is self for out in kwargs.get("out", ()))  # as in x += y: then no other type gets a say
        if not is_written and any(map(_is_foreign, (*inputs, *kwargs.get("out", ())))):
            return NotImplemented
        return self.device.ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: tuple, kwargs: dict) -> Any:
        if not all(issubclass(kind, (MetalArray, np.ndarray)) for kind in types):
            return NotImplemented
        return self.device.function(function, args, kwargs)

    def __getitem__(self, index: Any) -> "MetalArray":
        if _is_basic(index):
            if type(index) is not tuple:
                index = (index,)
            if Ellipsis not in index:
                index = (*index, ...)  # with it, NumPy gives an array, also of a single element
            return self.view(self.layout[index])
        return self.device.new(self.values[self._positions(index)])

    def __setitem__(self, index: Any, value: Any) -> None:
        if _is_basic(index):
            part = self[index]
            if not _is_same(part, value):  # x[0] += 1 ends with this assignment, which has nothing left to do
                part.replace(self._to_write(value))
            return
        if isinstance(value, (list, tuple, np.ndarray)):
            value = self.device.upload(np.asarray(value, self.dtype), explicit=False)
        self._scatter(index, self._to_write(value))

    def _to_write(self, value: Any) -> Any:
        if isinstance(value, MetalArray):
            return as_dtype(value.values, self.dtype)
        return as_dtype(one_number(value, self.device), self.dtype)

    def _scatter(self, index: Any, values: Any, add: bool = False) -> None:
        """``x[index] = values`` with an index array, or ``+=``, where repeated positions add up."""
        into = self.values
        places = self._positions(index)
        if 0 in (self.size, *(part.size for part in places if isinstance(part, mx.array))):
            return
        if not all(isinstance(part, mx.array) for part in places):  # MLX can't add to slices next to arrays
            numbered = mx.arange(self.size, dtype=mx.int64).reshape(self.shape)
            into = into.reshape(-1)
            places = (numbered[places],)
        if add:
            changed = into.at[places].add(values)
        else:
            changed = copy.copy(into)
            changed[places] = values
        self.replace(changed.reshape(self.shape))

    def _positions(self, index: Any) -> tuple:
        """`index`, which has arrays in it, as MLX takes it: positions within the shape, and none for masks."""
        parts = [self._index_part(part) for part in (index if type(index) is tuple else (index,))]
        idle = self.ndim - sum(map(_axes_of, parts))  # what a ... stands for
        at = next((i for i, part in enumerate(parts) if part is Ellipsis), len(parts))
        if idle == 0 and not all(map(_is_slice, parts[:at])) and not all(map(_is_slice, parts[at:])):
            raise TypeError("x[i, ..., j] with a ... for no axis: MLX doesn't move axes, so leave the ... out")
        parts[at : at + 1] = [slice(None)] * idle if at < len(parts) else []
        places: list[Any] = []
        axis = 0
        for part in parts:
            if isinstance(part, np.ndarray):  # a mask becomes one array of positions per axis
                if part.shape != self.shape[axis : axis + part.ndim]:
                    raise IndexError(f"a mask of shape {part.shape} doesn't fit an array of shape {self.shape}")
                places += map(mx.array, np.nonzero(part))
            elif isinstance(part, int):
                places.append(range(self.shape[axis])[part])  # raises IndexError where MLX would read garbage
            else:  # out of range, an array's numbers wrap around
                places.append(part if _is_slice(part) else part % max(self.shape[axis], 1))
            axis += _axes_of(part)
        return tuple(places)

    def _index_part(self, part: Any) -> Any:
        """A mask on the host; positions as an MLX array. Lists and host arrays are copied to the device."""
        if not isinstance(part, tuple) and _is_basic(part):
            return int(part) if isinstance(part, np.integer) else part
        if not isinstance(part, MetalArray):
            part = np.asarray(part)
            if part.size == 0 and part.dtype != bool:  # an empty list, of which NumPy makes floats
                part = part.astype(int)
            tell(self.device, HOST_TO_DEVICE, "index", nbytes=part.nbytes, explicit=False)
        if part.dtype.kind in "iu":
            return as_dtype(getattr(part, "values", part), np.int64)
        if part.dtype != bool or part.ndim == 0:
            raise IndexError(f"an index is of integers or booleans, got dtype {part.dtype} of shape {part.shape}")
        # How many are True determines the result's shape, so the host has to know.
        if isinstance(part, np.ndarray):
            return part
        return self.device.download(part, "getitem with a mask", False)

    def __len__(self) -> int:
        return len(self.layout)

    def __iter__(self) -> Iterator[Any]:
        return map(self.__getitem__, range(len(self)))

    def __reduce__(self) -> Any:
        return self.device.unpickled, (self._on_host("pickle"),)

    def fill(self, value: Any) -> None:
        self[...] = value

    def astype(self, dtype: Any, *, copy: bool = True) -> "MetalArray":
        if not copy and np.dtype(dtype) == self.dtype:
            return self
        return self.device.new(as_dtype(self.values, dtype), np.empty_like(self.layout, dtype))

    def copy(self, order: Any = "C") -> "MetalArray":
        tell(self.device, DEVICE_TO_DEVICE, "copy", nbytes=self.nbytes)
        return self.device.new(self.values, np.empty_like(self.layout, order=order))


def _address(x: MetalArray) -> int:
    """Where its layout starts, in the host's memory; views of one array start where NumPy's views would."""
    return x.layout.__array_interface__["data"][0]


def _by_stride(x: MetalArray) -> list[int]:
    return sorted(range(x.ndim), key=lambda axis: -x.strides[axis])


def _is_same(x: MetalArray, y: object) -> bool:
    return isinstance(y, MetalArray) and (_address(x), x.shape, x.strides) == (_address(y), y.shape, y.strides)


def _is_foreign(x: object) -> bool:
    """Whether `x` has an array type that isn't ours and may know ours. Then NumPy should ask it instead."""
    return not isinstance(x, (MetalArray, np.ndarray, np.generic)) and hasattr(x, "__array_ufunc__")


def _is_basic(index: Any) -> bool:
    """Whether reading gives a view."""
    if type(index) is tuple:  # one inside another is a list of positions
        return all(type(part) is not tuple and _is_basic(part) for part in index)
    if _is_slice(index):
        return True
    return isinstance(index, (int, np.integer)) and not isinstance(index, bool)


def _is_slice(part: object) -> bool:
    return part is None or part is Ellipsis or isinstance(part, slice)


def _axes_of(part: Any) -> int:
    """How many of the array's axes one part of an index uses."""
    if part is None or part is Ellipsis:
        return 0
    if isinstance(part, np.ndarray):  # a mask
        return part.ndim
    return 1


def mlx_dtype(dtype: Any) -> Any:
    """MLX's dtype for a NumPy one. Raises `TypeError` if MLX has none, or none on a GPU."""
    name = np.dtype(dtype).name
    found = getattr(mx, name.replace("bool", "bool_"), None)
    is_wide = name == "float64" and mx.default_device() != mx.cpu
    if not isinstance(found, mx.Dtype) or is_wide or name == "bfloat16":
        raise TypeError(
            f"Metal has no {name}, its widest types are float32 and complex64. gpu(x) makes these; a Python number, "
            "float(x), leaves an array's type alone. To compare with float64, MLX can run on the CPU: "
            "mlx.core.set_default_device(mlx.core.cpu)"
        )
    return found


@functools.cache
def numpy_dtype(dtype: Any) -> np.dtype:
    return np.dtype(str(dtype).removeprefix("mlx.core."))


def as_dtype(x: Any, dtype: Any) -> Any:
    """An MLX array with NumPy's `dtype`, or numbers as one. Raises `OverflowError` for an integer that doesn't fit."""
    if isinstance(x, mx.array):
        return x.astype(mlx_dtype(dtype))
    return mx.array(np.array(x, dtype), mlx_dtype(dtype))


def _add_at(total: MetalArray, index: Any, values: Any) -> None:
    total._scatter(index, as_dtype(values.values, total.dtype), add=True)


register(
    MetalArray,
    ArrayKind(device_of=operator.attrgetter("device"), address=_address, add_at=_add_at, can_freeze=True),
)
