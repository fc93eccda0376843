"""Indexing wrapped arrays: numbers and slices give views, index arrays give new arrays.

In an index array, numbers out of range wrap around, as on other GPUs. A single number out of range raises. A mask
becomes positions on the host, which waits, since the number of True values determines the result's shape.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import events
from ..events import listeners, tell
from ..simulated import one_number
from . import views

_BASIC = (int, slice, type(None), type(Ellipsis), np.integer)


def is_basic(index: Any) -> bool:
    """Whether `index` has only numbers and slices, so that reading gives a view."""
    if type(index) is tuple:
        return all(map(is_basic, index))
    return isinstance(index, _BASIC) and not isinstance(index, bool)


def getitem(x: Any, index: Any) -> Any:
    """``x[index]``: a view for numbers and slices, a new array for a list or an array."""
    if is_basic(index):
        return part_of(x, index)
    places = _places(x, index)
    if _names_nothing(x, places):
        return x.device.copy_in(_host_part(x, places), explicit=False)
    return x.device.new(x.values[places])


def part_of(x: Any, index: Any) -> Any:
    """The view ``x[index]`` for numbers and slices."""
    full, strides, start = views.part_of_layout(index if type(index) is tuple else (index,), x.shape, x.strides)
    return x.view(views.Part(full), strides, start)


def setitem(x: Any, index: Any, value: Any) -> None:
    """``x[index] = value``, converted to `x`'s dtype."""
    if is_basic(index):
        part = part_of(x, index)
        if not _is_same_memory(part, value):  # x[0] += 1 ends with this assignment, which has nothing left to do
            part.replace(_spread(x.device, _to_write(x, value), part))
        return
    if isinstance(value, (list, tuple, np.ndarray)):
        value = x.device.copy_in(np.asarray(value, x.dtype), explicit=False)
    places = _places(x, index)
    if not _names_nothing(x, places):
        x.replace(_scattered(x, places, _to_write(x, value)))


def scatter_add(x: Any, index: Any, values: Any) -> None:
    """``x[index] += values`` with an index array. Repeated positions add up."""
    places = _places(x, index)
    if not _names_nothing(x, places):
        x.replace(_scattered(x, places, x.device.cast(values.values, x.dtype), add=True))


def write_all(x: Any, values: Any) -> Any:
    """``x[...] = values`` for a library array that was just computed. Returns `x`."""
    x.replace(_spread(x.device, x.device.cast(values, x.dtype), x))
    return x


def _spread(device: Any, values: Any, part: Any) -> Any:
    return values if values.shape == part.shape else device.spread(values, part.shape)


def _to_write(x: Any, value: Any) -> Any:
    """What can be written to a part of `x`: an array on the same device, or one number."""
    if isinstance(value, type(x)):
        return x.device.cast(value.values, x.dtype)
    return x.device.number(one_number(value, x.device), x.dtype)


def _is_same_memory(part: Any, value: Any) -> bool:
    if not isinstance(value, type(part)) or value.base is None:
        return False
    return (part._address, part.shape, part.strides) == (value._address, value.shape, value.strides)


def _places(x: Any, index: Any) -> tuple:
    """`index` in the library's terms: arrays of positions along the axes, numbers from the start, slices."""
    parts = [_index_part(x, part) for part in (index if type(index) is tuple else (index,))]
    if views.has_idle_ellipsis(tuple(parts), x.ndim):
        raise TypeError(
            f"x[{', '.join('...' if part is Ellipsis else 'i' for part in parts)}] with a ... that stands for no axis, "
            f"between index arrays, does not exist on {x.device}: leave the ... out"
        )
    result: list[Any] = []
    axis = 0
    for part in views.without_ellipsis(tuple(parts), x.ndim):
        if isinstance(part, np.ndarray):  # a mask becomes one array of positions per axis
            if part.shape != x.shape[axis : axis + part.ndim]:
                raise IndexError(f"a mask of shape {part.shape} does not fit axis {axis} of an array of {x.shape}")
            result += [x.device.places(found) for found in np.nonzero(part)]
            axis += part.ndim
        elif part is None or isinstance(part, slice):
            result.append(part)
            axis += part is not None
        elif isinstance(part, (int, np.integer)):
            result.append(views.place(part, axis, x.shape))
            axis += 1
        else:
            result.append(wrapped_around(part, x.shape[axis]))
            axis += 1
    return tuple(result)


def _scattered(x: Any, places: tuple, values: Any, add: bool = False) -> Any:
    """`x`'s values after writing `values` to these positions, or adding them."""
    into = x.values
    has_slices = any(isinstance(part, slice) for part in places)
    has_arrays = not all(part is None or isinstance(part, (slice, int)) for part in places)
    # MLX reads with new axes, and with arrays next to slices, as NumPy does. It can't write that way.
    if any(part is None for part in places) or has_slices and has_arrays:
        numbered = x.device.places(np.arange(x.size)).reshape(x.shape)
        into, places = into.reshape(-1), (numbered[places],)
    changed = into.at[places].add(values) if add else views.Part(places).write(into, values)
    return changed.reshape(x.shape)


def _names_nothing(x: Any, places: tuple) -> bool:
    """Whether no elements are selected. MLX divides by their number."""
    sizes = [
        len(range(*part.indices(length))) if isinstance(part, slice) else getattr(part, "size", 1)
        for part, length in zip((part for part in places if part is not None), x.shape, strict=True)
    ]
    return x.size == 0 or 0 in sizes


def _host_part(x: Any, places: tuple) -> np.ndarray:
    """The selected part of `x`, which has no elements: only its shape matters."""
    like = tuple(np.zeros(part.shape, np.intp) if hasattr(part, "shape") else part for part in places)
    return np.broadcast_to(np.zeros((), x.dtype), x.shape)[like]


def wrapped_around(places: Any, length: int) -> Any:
    """Positions along an axis of this length; those out of range wrap around."""
    return places % length if length else places


def _index_part(x: Any, part: Any) -> Any:
    """A mask as a host array; positions as a library array. Lists and host arrays are copied to the device."""
    if is_basic(part):
        return part
    device = x.device
    if isinstance(part, type(x)):
        if part.dtype != bool:
            if part.dtype.kind not in "iu":
                raise IndexError(f"an index is of integers or booleans, got dtype {part.dtype}")
            return part.values
        return device.copy_out(part, "getitem with a mask", explicit=False)
    part = np.asarray(part)
    part = part.astype(np.int32) if part.size == 0 and part.dtype != bool else part
    if part.dtype.kind not in "biu" or part.dtype == bool and part.ndim == 0:
        raise IndexError(f"an index is of integers or booleans, got dtype {part.dtype} of shape {part.shape}")
    if listeners:
        tell(device, events.HOST_TO_DEVICE, "index", nbytes=part.nbytes, explicit=False)
    return part if part.dtype == bool else device.places(part)
