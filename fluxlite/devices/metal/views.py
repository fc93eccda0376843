"""Views for a library without views: how to read part of an array, and write it back.

An MLX array cut from another keeps the values it had at that moment. So each of our views remembers the array that it
shows, its parent, and one of the windows below. After a write to the parent, the view reads through its window again.
A write to the view goes back through the window.
"""

from __future__ import annotations

import copy
import math
import operator
from typing import Any, NamedTuple, Protocol


class Window(Protocol):
    """How to get from a parent to its view and back. `values` and `part` are library arrays."""

    def read(self, values: Any) -> Any:
        """The view's values, given its parent's."""

    def write(self, values: Any, part: Any) -> Any:
        """The parent's new values, after `part` was written to the view."""


class Part(NamedTuple):
    """``x[where]``, for numbers, slices and None."""

    where: tuple

    def read(self, values: Any) -> Any:
        return values[self.where]

    def write(self, values: Any, part: Any) -> Any:
        changed = copy.copy(values)  # MLX copies if it has to; other users of `values` see no change
        changed[self.where] = part
        return changed


class Turned(NamedTuple):
    """``np.transpose(x, axes)``."""

    axes: tuple[int, ...]

    def read(self, values: Any) -> Any:
        return values.transpose(self.axes)

    def write(self, values: Any, part: Any) -> Any:
        return part.transpose(tuple(map(self.axes.index, range(len(self.axes)))))


class Reshaped(NamedTuple):
    """``np.reshape(x, shape)`` of an array whose elements lie in order."""

    shape: tuple[int, ...]

    def read(self, values: Any) -> Any:
        return values.reshape(self.shape)

    def write(self, values: Any, part: Any) -> Any:
        return part.reshape(values.shape)


class Spread(NamedTuple):
    """``np.broadcast_to(x, shape)``. Read-only, since one element stands in several positions."""

    broadcast_to: Any
    shape: tuple[int, ...]

    def read(self, values: Any) -> Any:
        return self.broadcast_to(values, self.shape)

    def write(self, values: Any, part: Any) -> Any:
        raise ValueError("assignment destination is read-only")


# -- memory layout: strides in bytes, as in NumPy -----------------------------------------------------------


def strides_in_order(shape: tuple[int, ...], itemsize: int, like: tuple[int, ...] | None = None) -> tuple[int, ...]:
    """The strides of a new array without gaps: row by row, or with its axes in the same order as in `like`.

    >>> strides_in_order((2, 3), 4), strides_in_order((2, 3), 4, like=(400, 8))
    ((12, 4), (12, 4))
    >>> strides_in_order((2, 3), 4, like=(4, 8))
    (4, 8)
    """
    order = axes_by_stride(like) if like else range(len(shape))
    strides, step = [0] * len(shape), itemsize
    for axis in reversed(order):
        strides[axis] = step
        step *= max(shape[axis], 1)
    return tuple(strides)


def axes_by_stride(strides: tuple[int, ...]) -> list[int]:
    """The axes, from the largest stride to the smallest."""
    return sorted(range(len(strides)), key=lambda axis: -abs(strides[axis]))


def lies_in_order(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> bool:
    """Whether the elements lie row by row without gaps. Axes of length 1 don't count.

    >>> lies_in_order((2, 3), (12, 4), 4), lies_in_order((3, 2), (4, 12), 4), lies_in_order((2, 1), (4, 77), 4)
    (True, False, True)
    """
    pairs = zip(shape, strides, strides_in_order(shape, itemsize), strict=True)
    return math.prod(shape) == 0 or all(stride == wanted for length, stride, wanted in pairs if length > 1)


def strides_of_reshaped(
    shape: tuple[int, ...], strides: tuple[int, ...], new: tuple[int, ...], itemsize: int
) -> tuple[int, ...] | None:
    """The strides of a view with shape `new`, or None if no view can have that shape.

    >>> strides_of_reshaped((4, 3), (24, 4), (2, 2, 3, 1), 4), strides_of_reshaped((3, 2), (4, 12), (6,), 4)
    ((48, 24, 4, 4), None)
    """
    if math.prod(shape) == 0:
        return strides_in_order(new, itemsize)
    old = [(length, stride) for length, stride in zip(shape, strides, strict=True) if length > 1]
    result = [itemsize] * len(new)
    axis = len(new) - 1
    while old:  # from the last axis backwards, in groups of old and new axes with the same number of elements
        length, step = old.pop()
        covered = 1
        while covered != length:
            if covered < length and length % (covered * new[axis]) == 0:
                result[axis] = step * covered
                covered *= new[axis]
                axis -= 1
            else:  # the group needs another old axis, and it must continue where the last one ends
                if not old or old[-1][1] != step * length:
                    return None
                length *= old.pop()[0]
    return tuple(result)


def part_of_layout(index: tuple, shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[tuple, tuple, int]:
    """For ``x[index]``: the full index with non-negative numbers, the view's strides, and its offset in bytes.

    Raises `IndexError` where NumPy does.

    >>> part_of_layout((-1, slice(None, None, 2)), (2, 3), (12, 4))
    ((1, slice(None, None, 2)), (8,), 12)
    """
    index = without_ellipsis(index, len(shape))
    full: list[Any] = []
    steps: list[int] = []
    axis = start = 0
    for step in index:
        if step is None:
            steps.append(0)
        elif isinstance(step, slice):
            first, stop, stride = step.indices(shape[axis])
            start += first * strides[axis] if range(first, stop, stride) else 0
            steps.append(strides[axis] * stride)
            step = slice(*(end if end is None else operator.index(end) for end in (step.start, step.stop, step.step)))
        else:
            step = place(step, axis, shape)
            start += step * strides[axis]
        axis += step is not None
        full.append(step)
    return tuple(full), tuple(steps), start


def without_ellipsis(index: tuple, ndim: int) -> tuple:
    """`index` with a slice for every axis that it doesn't mention."""
    dots = [i for i, step in enumerate(index) if step is Ellipsis]
    named = sum(_axes_of(step) for step in index)
    if named > ndim or len(dots) > 1:
        what = f"there are {named} indices" if named > ndim else "an index has at most one Ellipsis"
        raise IndexError(f"too many indices: the array has {ndim} axes, {what}")
    at = dots[0] if dots else len(index)
    return index[:at] + (slice(None),) * (ndim - named) + index[at + 1 :]


def has_idle_ellipsis(index: tuple, ndim: int) -> bool:
    """Whether an Ellipsis stands for no axis, but separates two parts of an index with arrays.

    NumPy then puts these arrays' axes first in the result, although nothing lies between them. MLX doesn't.
    """
    dots = [i for i, step in enumerate(index) if step is Ellipsis]
    if len(dots) != 1 or sum(map(_axes_of, index)) != ndim:
        return False
    chosen = [step is not None and step is not Ellipsis and not isinstance(step, slice) for step in index]
    has_arrays = any(hasattr(step, "shape") for step in index)
    return has_arrays and any(chosen[: dots[0]]) and any(chosen[dots[0] :])


def _axes_of(step: Any) -> int:
    """How many of the array's axes one part of an index uses."""
    if step is None or step is Ellipsis:
        return 0
    return step.ndim if str(getattr(step, "dtype", "")) == "bool" else 1


def place(number: Any, axis: int, shape: tuple[int, ...]) -> int:
    """The index `number`, counted from the start. Raises `IndexError` where MLX would read garbage."""
    number = operator.index(number)
    if not -shape[axis] <= number < shape[axis]:
        raise IndexError(f"index {number} is out of bounds for axis {axis} with size {shape[axis]}")
    return number % shape[axis]


# -- NumPy's functions that give views ------------------------------------------------------------------------


def transpose(a: Any, axes: Any = None) -> Any:
    """`np.transpose`."""
    axes = range(a.ndim)[::-1] if axes is None else axes
    order = tuple(axis % a.ndim for axis in axes) if a.ndim else tuple(axes)
    if sorted(order) != list(range(a.ndim)):
        raise ValueError(f"axes don't match array: {tuple(axes)} for an array of shape {a.shape}")
    return a.view(Turned(order), tuple(a.strides[axis] for axis in order))


def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """`np.swapaxes`."""
    order = list(range(a.ndim))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return transpose(a, order)


def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """`np.moveaxis`."""
    sources = [axis % a.ndim for axis in ([source] if isinstance(source, int) else source)]
    targets = [axis % a.ndim for axis in ([destination] if isinstance(destination, int) else destination)]
    order = [axis for axis in range(a.ndim) if axis not in sources]
    for target, axis in sorted(zip(targets, sources, strict=True)):
        order.insert(target, axis)
    return transpose(a, order)


def reshape(a: Any, shape: Any, order: str = "C", copy: Any = None) -> Any:
    """`np.reshape`: a view where NumPy gives one, otherwise a copy."""
    shape = (operator.index(shape),) if not isinstance(shape, (tuple, list)) else tuple(map(operator.index, shape))
    if order == "F":
        return transpose(reshape(transpose(a), shape[::-1]))
    if -1 in shape:
        known = math.prod(length for length in shape if length != -1)
        shape = tuple(a.size // (known or 1) if length == -1 else length for length in shape)
    if math.prod(shape) != a.size:
        raise ValueError(f"cannot reshape array of size {a.size} into shape {shape}")
    strides = strides_of_reshaped(a.shape, a.strides, shape, a.itemsize)
    if strides is None:
        return a.device.new(a.values.reshape(shape))
    return a.view(Reshaped(shape), strides)


def expand_dims(a: Any, axis: Any) -> Any:
    """`np.expand_dims`."""
    axes = [axis] if isinstance(axis, int) else list(axis)
    ndim = a.ndim + len(axes)
    new = {axis % ndim for axis in axes}
    return a[tuple(None if axis in new else slice(None) for axis in range(ndim))]


def squeeze(a: Any, axis: Any = None) -> Any:
    """`np.squeeze`."""
    if axis is None:
        gone = {i for i, length in enumerate(a.shape) if length == 1}
    else:
        gone = {i % a.ndim for i in ([axis] if isinstance(axis, int) else axis)}
    if any(a.shape[i] != 1 for i in gone):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return a[tuple(0 if i in gone else slice(None) for i in range(a.ndim))]


def flip(m: Any, axis: Any = None) -> Any:
    """`np.flip`."""
    axes = range(m.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    turned = {i % m.ndim for i in axes}
    return m[tuple(slice(None, None, -1) if i in turned else slice(None) for i in range(m.ndim))]


def broadcast_to(array: Any, shape: Any) -> Any:
    """`np.broadcast_to`. The view is read-only, since one element stands in several positions."""
    shape = (shape,) if isinstance(shape, int) else tuple(map(operator.index, shape))
    added = len(shape) - array.ndim
    steps = zip(array.shape, array.strides, shape[added:], strict=True)
    strides = (0,) * added + tuple(0 if length == 1 != wanted else step for length, step, wanted in steps)
    result = array.view(Spread(array.device.spread, shape), strides)
    result._is_writeable = False
    return result
