"""New arrays on a device: ``np.array(values, like=x)``, and `np.empty`.

Arrays made by `empty` hold a pattern of bits until something is written over it, by a kernel or otherwise. So nothing
has to be told about every write, and a kernel that reads what nobody has written can be found. A program would have to
compute this very pattern to be accused wrongly. With integers of one or two bytes it easily does, so those aren't
looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .indexing import array_of
from .memory import Stored
from .rules import current_card

# What these ask for if the call doesn't say. All of them are `cupy.array`.
_USUALLY: dict[Callable, dict[str, Any]] = {
    np.array: {"copy": True},
    np.asarray: {},
    np.asanyarray: {},
    np.ascontiguousarray: {"order": "C", "ndmin": 1},
    np.asfortranarray: {"order": "F", "ndmin": 1},
}


def from_host(function: Callable, args: tuple, kwargs: dict, device: Any) -> Any:
    """The array that `function` makes, on this device, or on the current one of several cards."""
    device = current_card(device)
    if function not in _USUALLY:  # it reads a file or the like
        return device.copy_in(np.asarray(function(*args, **kwargs)))
    return _array(device, **_USUALLY[function] | dict(zip(("a", "dtype", "order"), args)) | kwargs)


def _array(device, a, dtype=None, order=None, copy=None, subok=False, ndmin=0):
    if subok:
        raise NotImplementedError("subok: a GPU's arrays have no subclasses")
    order = order or "K"
    found: list[Any] = []
    shape = _shape_of(a, found)
    if shape is None:
        values = np.array(a, dtype=dtype, order=order, copy=None, ndmin=ndmin)
        # A number fills memory on the device, without a copy.
        return device.copy_in(values) if values.ndim else array_of(device, values[()], values.dtype)
    if isinstance(a, Stored):
        made = found[0]
    else:  # joined on the device, as by np.concatenate
        made = np.concatenate([x.reshape(1) if x.ndim == 0 else x for x in found]).reshape(shape)
        order, copy = ("F" if order == "F" else "C"), None
    if (copy or made.device != device) and (dtype is None or made.dtype == dtype):
        result = made.copy(order)
    else:
        result = made.astype(made.dtype if dtype is None else dtype, order, copy=bool(copy))
    if copy is False and result is not made:
        raise ValueError("np.array(x, copy=False): this dtype or order takes a copy; copy=None makes one if need be")
    return result.reshape((1,) * (ndmin - result.ndim) + result.shape) if ndmin > result.ndim else result


def _shape_of(values: Any, found: list) -> tuple[int, ...] | None:
    """The shape of nested lists of arrays on a GPU, which go into `found`; None if there's anything else in them."""
    if isinstance(values, Stored):
        found.append(values)
        return values._values.shape
    if not isinstance(values, (list, tuple)):
        return None
    shapes = {_shape_of(part, found) for part in values}
    return (len(values), *shapes.pop()) if len(shapes) == 1 and None not in shapes else None  # type: ignore[misc]


# As a floating-point number, each of these is a NaN that no computation gives.
_PATTERNS = {2: np.uint16(0x7EB7), 4: np.uint32(0x7FEDBEEF), 8: np.uint64(0x7FFEDBEEFCAFEBAD)}


def empty(function: Callable, args: tuple, kwargs: dict, device: Any) -> Any:
    """`np.empty` and `np.empty_like` on a simulated GPU: new memory that nothing has been written to."""
    plain = [x._values if isinstance(x, Stored) else x for x in args]
    named = {name: x._values if isinstance(x, Stored) else x for name, x in kwargs.items()}
    device = current_card(device)
    values = device.compute(function, *plain, **named)
    made = device.new(values)
    pattern = _pattern(values.dtype)
    if pattern is not None and values.size and device.instead is None:
        values.view(pattern.dtype)[...] = pattern
        made._buffer.is_empty = True
    return made


def pattern_of(x: Any) -> Any:
    """The pattern that unwritten elements of `x` hold, or None if all are written."""
    return _pattern(x.dtype) if x._buffer.is_empty else None


def _pattern(dtype: np.dtype) -> Any:
    return None if dtype.itemsize == 2 and dtype.kind != "f" else _PATTERNS.get(dtype.itemsize)
