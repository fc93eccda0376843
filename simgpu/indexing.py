"""Reading and writing at an index (views launch nothing, index arrays do), ``np.add.at`` and the like, `x.flat`."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import formulas, launches, records
from .memory import Stored, root_of
from .meta import address_of, pick
from .places import one_device
from .refusals import SCALARS, one_number
from .shapes import ASSIGN, Formula

_BASIC = (int, slice, type(None), type(Ellipsis), np.integer)


def is_basic(index: Any) -> bool:
    """Whether `index` is only numbers and slices. Then reading gives a view."""
    if type(index) is tuple:
        return all(map(is_basic, index))
    return isinstance(index, _BASIC) and not isinstance(index, bool)


def _ending_in_ellipsis(index: Any) -> tuple:
    """`index` with an Ellipsis, so that NumPy gives a view even of a single element, as a GPU does."""
    if type(index) is not tuple:
        if index is Ellipsis:
            return (index,)
        return (index, Ellipsis)
    if Ellipsis in index:
        return index
    return (*index, Ellipsis)


def getitem(x: Any, index: Any) -> Any:
    """``x[index]``: a view for numbers and slices, a new array for a list or an array."""
    if is_basic(index):
        return x.in_same_memory(_part(x, _ending_in_ellipsis(index)))
    if x.host_values.dtype.names is not None:
        if records.is_field(index):
            return x.in_same_memory(records.part(x.host_values, index))
        records.check_kernel(x.host_values.dtype)
    device = x.device.begin()
    place, arrays = index_arrays(device, index, x.host_values.shape)
    if device.instead is not None:
        values = device.instead(_PICKED, x.host_values, place)
    else:
        values = np.asarray(x.host_values[place])
        if root_of(values) is x.buffer.root:  # NumPy treats an index array of shape () as a number
            values = values.copy()
    _count(x, "getitem", arrays, values.nbytes)
    return device.new(values)


def _picked(values: np.ndarray, place: Any) -> np.ndarray:
    """What `getitem` computes."""
    found = np.asarray(values[place])
    if root_of(found) is root_of(values):
        return found.copy()
    return found


_PICKED = Formula(_picked, pick)


def _part(x: Any, place: tuple) -> np.ndarray:
    try:
        return x.host_values[place]
    except TypeError:
        return x.host_values[in_numbers(place)]


def in_numbers(index: Any) -> Any:
    """`index`, with the host's numbers in slices such as ``x[:n]``. If `n` is on a device, the host waits for it."""
    if type(index) is tuple:
        return tuple(map(in_numbers, index))
    if type(index) is slice:
        ends = (index.start, index.stop, index.step)
        return slice(*(int(n) if isinstance(n, Stored) else n for n in ends))  # type: ignore[call-overload]
    return index


def setitem(x: Any, index: Any, value: Any) -> None:
    if is_basic(index):
        _set_part(x, _part(x, _ending_in_ellipsis(index)), value)
        return
    if x.host_values.dtype.names is not None and records.is_field(index):
        _set_part(x, records.part(x.host_values, index), value)
        return
    device = x.device.begin()
    place, arrays = index_arrays(device, index, x.host_values.shape)
    value = array_of(device, value, x.host_values.dtype)
    write(device, x.host_values, place, value.host_values)
    _count(x, "setitem", arrays, value.host_values.nbytes)


def array_of(device: Any, value: Any, dtype: Any) -> Any:
    """`value` as an array on this device: a host array is copied, a number fills a new array there."""
    if isinstance(value, Stored):
        one_device(device, value)
        return value
    if not isinstance(value, SCALARS):
        return device.upload(np.asarray(value, dtype), explicit=False)
    made = device.compute(np.asarray, value, dtype)
    _fill(device, value, made)
    return device.new(made)


def _fill(device: Any, value: Any, part: np.ndarray) -> None:
    """Zeros are a memset if memory lies in one piece. Other numbers take a kernel."""
    if value == 0 and part.flags.c_contiguous:
        device.memset("fill", part.nbytes)
    else:
        device.begin().launch("setitem", part.nbytes)


def scatter_add(x: Any, index: Any, values: Any) -> None:
    """``x[index] += values`` with an index array. Repeated positions add up (`cupyx.scatter_add`)."""
    device = one_device(x.device, values).begin()
    place, arrays = index_arrays(device, index, x.host_values.shape)
    added = device.compute(formulas.cast_floats, values.host_values, x.host_values.dtype)
    device.compute(np.add.at, x.host_values, place, added)
    moved = 3 * values.host_values.nbytes + sum(array.nbytes for array in arrays)
    device.issue("scatter_add", launches.commands_at(arrays, x.host_values), moved, values.host_values.nbytes)


def write(device: Any, values: Any, place: Any, new: Any) -> None:
    """``values[place] = new``, unless only shapes are computed."""
    if device.instead is None:
        device.compute(formulas.assign, values, place, new)
    else:
        device.instead(ASSIGN, values, place, new)


def _set_part(x: Any, part: np.ndarray, value: Any) -> None:
    """Write an array on the same device, or one number, to a part of `x`."""
    if not isinstance(value, Stored):
        if part.dtype.names is not None:
            raise TypeError(f"a GPU's array of {part.dtype} is written from another such array, not from {value!r}")
        value = one_number(value, x.device)
        _fill(x.device, value, part)
        write(x.device, part, ..., value)
        return
    source, value = value, value.host_values
    if part.shape == value.shape and part.strides == value.strides and address_of(part) == address_of(value):
        return  # x[0] += 1 ends with this assignment, and is done already
    is_alike = lies_alike(part, value)
    if not is_alike:
        one_device(x.device, source).begin()
    write(x.device, part, ..., value)
    if is_alike and source.device != x.device:  # no kernel, so from any card to any: CuPy's _routines_indexing.pyx:1100
        x.device.count_copy_from(source.device, part.nbytes)
    elif is_alike:
        x.device.copy_on_card(part.nbytes)
    else:
        if np.may_share_memory(part, value):  # then CuPy copies it first
            x.device.launch("copy", 2 * value.nbytes)
        x.device.launch("setitem", part.nbytes + value.nbytes)


def lies_alike(part: np.ndarray, value: np.ndarray) -> bool:
    """Whether memory can be copied as it is: both lie in one piece, and differ at most in axes of length 1."""
    while value.ndim and value.shape[0] == 1:
        value = value[0]
    same = value.shape == part.shape and value.strides == part.strides and value.dtype == part.dtype
    return same and part.flags.c_contiguous


def index_arrays(device: Any, index: Any, shape: tuple[int, ...]) -> tuple[Any, list[np.ndarray]]:
    """`index` with NumPy arrays in place of ours, of lists and of host arrays, which are copied; and these arrays."""
    if isinstance(index, Stored) and shape and index.host_values.dtype.kind in "iu":  # the usual case, made fast
        one_device(device, index)
        return _wrapped(device, index.host_values, shape[0]), [index.host_values]
    parts = [_index_part(device, part) for part in (index if type(index) is tuple else (index,))]
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    axis, taken = 0, sum(map(_axes_of, parts))
    for i, part in enumerate(parts):
        if isinstance(part, np.ndarray) and part.dtype.kind in "iu" and axis < len(shape):
            parts[i] = _wrapped(device, part, shape[axis])
        axis += len(shape) - taken if part is Ellipsis else _axes_of(part)
    return (tuple(parts) if type(index) is tuple else parts[0]), arrays


def _wrapped(device: Any, indices: np.ndarray, length: int) -> np.ndarray:
    if device.instead is None:
        return wrap_around(indices, length)
    return device.instead(wrap_around, indices, length)


def wrap_around(indices: np.ndarray, length: int) -> np.ndarray:
    """Indices into an axis of this length. Those out of range wrap around, since a kernel can't raise."""
    # In 8 bytes, as on a card: a length of 256 wouldn't fit into indices of uint8.
    if length:
        return np.remainder(indices, length, dtype=np.int64, casting="unsafe")
    return indices


def _index_part(device: Any, part: Any) -> Any:
    if is_basic(part):
        return in_numbers(part)
    if isinstance(part, Stored):
        one_device(device, part)
        return part.host_values
    is_list, part = not isinstance(part, np.ndarray), np.asarray(part)
    if part.dtype.kind not in "biuf":
        raise IndexError(f"arrays used as indices must be of integer or boolean type, this one is of {part.dtype}")
    # An empty list is no places. An empty array's type says whether it's a mask or places.
    return device.upload(part.astype(np.int32) if is_list and part.size == 0 else part, explicit=False).host_values


def _axes_of(part: Any) -> int:
    """How many of the array's axes this part of an index uses."""
    if part is None or part is Ellipsis:
        return 0
    if isinstance(part, np.ndarray) and part.dtype.kind == "b":
        return part.ndim
    return 1


def _count(x: Any, name: str, arrays: list[np.ndarray], moved: int) -> None:
    commands = launches.commands_at(arrays, x.host_values, found=moved > 0)
    x.device.launch(name, 2 * moved + sum(array.nbytes for array in arrays), count=commands.kernels)
    x.device.issue_others(f"{name} with a mask" if commands.reads else name, commands, moved)


# -- ``np.add.at`` and the like: many threads change one place, one after the other, by atomic operations --------

# Which types have them.
_ATOMIC = {
    "add": "i4 i8 u4 u8 f2 f4 f8", "subtract": "i4 u4",
    "maximum": "i4 i8 u4 u8 f4 f8", "minimum": "i4 i8 u4 u8 f4 f8",
    "bitwise_and": "i4 i8 u4 u8", "bitwise_or": "i4 i8 u4 u8", "bitwise_xor": "i4 i8 u4 u8",
}  # fmt: skip


def add_at(ufunc: np.ufunc, x: Any, index: Any, *values: Any) -> None:
    """``np.add.at(x, index, y)`` and the like, which a GPU does with atomic operations."""
    if not isinstance(index, (Stored, np.ndarray, *SCALARS)) or not isinstance(x, Stored):
        given = f"{type(x).__name__} and {type(index).__name__}"
        raise TypeError(f"{ufunc.__name__}.at takes an array on a GPU, and a number or an array as index, got {given}")
    scatter(ufunc, x, index, *values)


def scatter(ufunc: np.ufunc, x: Any, index: Any, *given: Any) -> None:
    """The same, at any index."""
    if ufunc.__name__ not in _ATOMIC:
        raise NotImplementedError(f"{ufunc.__name__}.at does not exist on a GPU")
    if x.host_values.dtype.str[1:] not in _ATOMIC[ufunc.__name__].split():
        raise TypeError(f"{ufunc.__name__}.at does not exist on a GPU for dtype {x.host_values.dtype}")
    device = x.device.begin()
    kind = x.host_values.dtype
    arrays_given = [array_of(device, value, kind).host_values for value in given]
    added = [device.compute(formulas.cast_floats, values, kind) for values in arrays_given]
    place, arrays = index_arrays(device, index, x.host_values.shape)
    device.compute(ufunc.at, x.host_values, place, *added)
    # For each place, what's there is read and written; what's added is read.
    if arrays and arrays[0].dtype.kind != "b":
        places = arrays[0].size
    else:
        places = len(x.host_values)
    moved = 2 * places * x.host_values[:1].nbytes + sum(y.nbytes for y in added + arrays)
    device.issue(f"{ufunc.__name__}.at", launches.commands_at(arrays, x.host_values), moved, x.host_values.nbytes)


def _flat_part(values: np.ndarray, place: Any) -> Any:
    return values.flat[place]


class Flat:
    """``x.flat``: the elements row by row. Each one that's read is a copy by a kernel; ``x.ravel()`` launches none."""

    def __init__(self, base: Any) -> None:
        self.base, self._places = base, iter(range(base.size))

    def __len__(self) -> int:
        return self.base.size

    def __iter__(self) -> Flat:
        return self

    def __next__(self) -> Any:
        return self[next(self._places)]

    def copy(self) -> Any:
        return self.base.flatten()

    def __getitem__(self, index: Any) -> Any:
        place, x = self._place(index), self.base
        if type(place) is tuple:
            return x[place].copy()
        device = x.device.begin()
        values = device.compute(_flat_part, x.host_values, place)
        device.launch("flat", 2 * values.nbytes)
        return device.new(values)

    def __setitem__(self, index: Any, value: Any) -> None:
        place, x = self._place(index), self.base
        if type(place) is tuple:
            x[place] = value
            return
        device = x.device.begin()
        value = array_of(device, value, x.dtype)
        write(device, x.host_values.flat, place, device.compute(formulas.cast_floats, value.host_values, x.dtype))
        device.launch("flat", 2 * x.host_values.itemsize * len(range(*place.indices(x.size))))

    def _place(self, index: Any) -> Any:
        """A slice as it is, a number as a place in the array. CuPy takes nothing else."""
        if index is Ellipsis or isinstance(index, slice):
            if index is Ellipsis:
                return slice(None)
            return in_numbers(index)
        if isinstance(index, bool) or not isinstance(index, (int, np.integer)):
            raise IndexError(f"x.flat takes a whole number or a slice on a GPU, got {type(index).__name__}")
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range: x.flat has {len(self)} elements")
        return np.unravel_index(index % len(self), self.base.shape)
