"""How an array lies in memory: its strides, the order of its axes, and which views need no copy. Numbers alone."""

from collections.abc import Sequence
from typing import Any

Shape = tuple[int, ...]


def strides_of(shape: Sequence[int], itemsize: int, axes: Sequence[int] | None = None) -> Shape:
    """The strides of an array without gaps. `axes` go from the slowest to the fastest: by default, row by row."""
    strides = [0] * len(shape)
    for axis in reversed(range(len(shape)) if axes is None else axes):
        strides[axis] = itemsize
        itemsize *= shape[axis] or 1
    return tuple(strides)


def order_axes(ndim: int, order: str | None) -> range:
    """The axes from the slowest to the fastest: column by column for "F"."""
    if order == "F":
        return range(ndim)[::-1]
    return range(ndim)


def contiguity(shape: Shape, strides: Shape, itemsize: int) -> tuple[bool, bool]:
    """Whether such an array lies in one piece row by row, and column by column."""
    if 0 in shape:
        return True, True
    steps = [(n, step) for n, step in zip(shape, strides) if n != 1]
    by_rows = by_columns = True
    expected = itemsize
    for n, step in reversed(steps):
        by_rows = by_rows and step == expected
        expected *= n
    expected = itemsize
    for n, step in steps:
        by_columns = by_columns and step == expected
        expected *= n
    return by_rows, by_columns


def axes_of(x: Any) -> Sequence[int]:
    """The axes of `x` from the slowest to the fastest, as in a copy in NumPy's order "K"."""
    if x.ndim < 2 or x.flags.c_contiguous:
        return range(x.ndim)
    if x.flags.f_contiguous:
        return range(x.ndim)[::-1]
    return sorted(range(x.ndim), key=lambda axis: -abs(x.strides[axis]))


def axes_of_copy(x: Any, order: str | None) -> Sequence[int]:
    """The axes of a copy of `x` in NumPy's `order`, from the slowest to the fastest."""
    if order == "K" or order is None:
        return axes_of(x)
    if order == "A" and x.flags.fnc:
        return order_axes(x.ndim, "F")
    return order_axes(x.ndim, order)


def broadcast(*shapes: Shape) -> Shape | None:
    """What these shapes become together, or None if they don't fit. NumPy's own has a limit on 32-bit computers."""
    ndim = max(map(len, shapes), default=0)
    lengths = [1] * ndim
    for shape in shapes:
        for axis, n in enumerate(shape, ndim - len(shape)):
            if lengths[axis] == 1:
                lengths[axis] = n
            elif n not in (1, lengths[axis]):
                return None
    return tuple(lengths)


def strides_without_copy(x: Any, shape: Shape, order: str) -> Shape | None:
    """The strides of a view of `x` with this shape, or None if its memory doesn't allow one.

    Some axes of `x` and some of the view have equally many elements, then the next ones. In each such group, the steps
    of `x` must fit together. (NumPy: `_attempt_nocopy_reshape`.)
    """
    is_f = order == "F"
    if x.flags.f_contiguous if is_f else x.flags.c_contiguous:
        return strides_of(shape, x.itemsize, order_axes(len(shape), order))
    old = [(n, step) for n, step in zip(x.shape, x.strides) if n != 1]
    strides: list[int] = []
    first = begin = 0
    while begin < len(shape) and first < len(old):
        last, end = first + 1, begin + 1
        size, wanted = old[first][0], shape[begin]
        while size != wanted:
            if wanted < size:
                wanted *= shape[end]
                end += 1
            else:
                size *= old[last][0]
                last += 1
        group = old[first:last]
        if is_f:
            group.reverse()
        for (_, step), (n, smaller) in zip(group, group[1:]):
            if step != n * smaller:
                return None
        strides += strides_of(shape[begin:end], group[-1][1], order_axes(end - begin, order))
        first, begin = last, end
    # Axes of length 1 are left. Their steps make no difference.
    rest = strides[-1] if strides else x.itemsize
    if is_f and strides:
        rest *= shape[begin - 1]
    return (*strides, *[rest] * (len(shape) - begin))


def diagonal(x: Any, offset: int, axis1: int, axis2: int) -> tuple[Shape, Shape, int]:
    """The shape and the strides of a diagonal of `x`, and how many bytes after `x` it begins."""
    rows, columns = x.shape[axis1], x.shape[axis2]
    if offset >= 0:
        columns -= offset
        first = offset * x.strides[axis2]
    else:
        rows += offset
        first = -offset * x.strides[axis1]
    length = min(rows, columns)
    if length < 0:
        length = first = 0
    kept = [axis for axis in range(x.ndim) if axis not in (axis1, axis2)]
    shape = (*[x.shape[axis] for axis in kept], length)
    return shape, (*[x.strides[axis] for axis in kept], x.strides[axis1] + x.strides[axis2]), first


def extent(x: Any, address: int) -> tuple[int, int]:
    """Where the elements of `x` begin and end, if the first one is at this address."""
    if not x.size:
        return address, address
    before = sum([(n - 1) * step for n, step in zip(x.shape, x.strides) if step < 0])
    after = sum([(n - 1) * step for n, step in zip(x.shape, x.strides) if step > 0])
    return address + before, address + after + x.itemsize


def length_of(places: range) -> int:
    """How many places these are. On a 32-bit computer, `len` has a limit."""
    if not places:
        return 0
    return (places[-1] - places[0]) // places.step + 1


class Few:
    """Small lengths that stand for others, one for each. 0 and 1 stand for themselves."""

    def __init__(self) -> None:
        self._few: dict[int, int] = {}
        self._whole: dict[int, int] = {}

    def few(self, n: int) -> int:
        if n < 2:
            return n
        if n not in self._few:
            self._few[n] = len(self._few) + 2
            self._whole[self._few[n]] = n
        return self._few[n]

    def whole(self, n: int) -> int:
        return self._whole.get(n, n)
