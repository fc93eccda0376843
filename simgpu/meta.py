"""Arrays without memory: a shape, a type and strides, as PyTorch's meta tensors have them.

A card's accounting needs nothing else, so a 16 GB card fits into any computer. What's a view of NumPy's array is a view
here, with the same strides, by NumPy's rules. `shapes.py` says what a function makes of them.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

SMALL = 2**16  # bytes; fewer are just as fast in memory, and views of them are faster


def is_small(shape: Sequence[int], dtype: Any) -> bool:
    """Whether an array of this shape and type is made in memory."""
    return math.prod(shape) * np.dtype(dtype).itemsize < SMALL


class TooLargeError(MemoryError):
    """The values of an array of `nbytes` are asked for, and this computer has no memory for them."""

    def __init__(self, nbytes: int) -> None:
        super().__init__(f"this computer has no memory for an array of {nbytes:,} bytes")
        self.nbytes = nbytes


# -- How arrays lie in memory ------------------------------------------------------------------------------------------


def laid_out(shape: Sequence[int], itemsize: int, axes: Sequence[int] | None = None) -> tuple[int, ...]:
    """The strides of an array without gaps. `axes` go from the slowest to the fastest: by default, row by row."""
    strides = [0] * len(shape)
    for axis in reversed(range(len(shape)) if axes is None else axes):
        strides[axis] = itemsize
        itemsize *= shape[axis] or 1
    return tuple(strides)


def contiguity(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> tuple[bool, bool]:
    """Whether such an array lies in one piece row by row, and column by column."""
    if 0 in shape:
        return True, True
    steps = [(n, step) for n, step in zip(shape, strides) if n != 1]
    rows = columns = itemsize
    is_c = is_f = True
    for n, step in reversed(steps):
        is_c = is_c and step == rows
        rows *= n
    for n, step in steps:
        is_f = is_f and step == columns
        columns *= n
    return is_c, is_f


def axes_as_they_lie(x: Any) -> Sequence[int]:
    """The axes of `x` from the slowest to the fastest, as in a copy in NumPy's order "K"."""
    if x.flags.c_contiguous or x.ndim < 2:
        return range(x.ndim)
    if x.flags.f_contiguous:
        return range(x.ndim)[::-1]
    return sorted(range(x.ndim), key=lambda axis: -abs(x.strides[axis]))


def axes_in_order(x: Any, order: str | None) -> Sequence[int]:
    """The axes of a copy of `x` in NumPy's `order`, from the slowest to the fastest."""
    if order == "K" or order is None:
        return axes_as_they_lie(x)
    if order == "F" or order == "A" and x.flags.f_contiguous and not x.flags.c_contiguous:
        return range(x.ndim)[::-1]
    return range(x.ndim)


def broadcast_shape(*shapes: tuple[int, ...]) -> tuple[int, ...] | None:
    """What these shapes become together. None: they don't fit. NumPy's own has a limit on 32-bit computers."""
    ndim = max(map(len, shapes), default=0)
    lengths = [1] * ndim
    for shape in shapes:
        for axis, n in enumerate(shape, ndim - len(shape)):
            if lengths[axis] == 1:
                lengths[axis] = n
            elif n not in (1, lengths[axis]):
                return None
    return tuple(lengths)


class Flags:
    """What ``x.flags`` says of an array without memory, as NumPy's. Only `writeable` can be set."""

    __slots__ = ("_of", "c_contiguous", "f_contiguous")
    aligned = True
    _NAMES: ClassVar = {
        "C": "c_contiguous", "CONTIGUOUS": "c_contiguous", "F": "f_contiguous", "FORTRAN": "f_contiguous",
        "O": "owndata", "W": "writeable", "A": "aligned",
    }  # fmt: skip

    def __init__(self, x: "MetaArray") -> None:
        self._of = x
        self.c_contiguous, self.f_contiguous = contiguity(x.shape, x.strides, x.itemsize)

    contiguous = property(lambda self: self.c_contiguous)
    fortran = fnc = property(lambda self: self.f_contiguous and not self.c_contiguous)
    forc = property(lambda self: self.f_contiguous or self.c_contiguous)
    owndata = property(lambda self: self._of.base is None)

    @property
    def writeable(self) -> bool:
        return self._of.is_writeable

    @writeable.setter
    def writeable(self, value: bool) -> None:
        self._of.is_writeable = bool(value)

    def __getitem__(self, name: str) -> bool:
        return getattr(self, self._NAMES.get(name, name.lower()))


# -- The array ---------------------------------------------------------------------------------------------------------

_next_address = 2**64  # no array of this computer lies there


def _address_for(nbytes: int) -> int:
    """Where an array without memory begins: behind all others."""
    global _next_address
    begin = _next_address
    _next_address += nbytes + -nbytes % 512
    return begin


class MetaArray(NDArrayOperatorsMixin):
    """Stands in for a NumPy array of zeros, and takes no memory.

    ``isinstance(x, np.ndarray)`` is true, since it answers as an array does. NumPy's functions give one if they're
    called with one. To what's written in C, it looks like zeros that all lie in one place. `address` is where it would
    begin, and `strides` are those that it would have.
    """

    __slots__ = ("_flags", "_memory", "_root", "address", "dtype", "is_writeable", "itemsize", "nbytes", "ndim",
                 "shape", "size", "strides")  # fmt: skip
    __class__ = property(lambda self: np.ndarray)  # type: ignore[assignment]
    # What computes with shapes in NumPy's place. `shapes.py` sets it.
    outcome: ClassVar[Callable[..., Any]]

    def __init__(
        self, shape: Sequence[int], dtype: Any, strides: Sequence[int] | None = None, root: Any = None,
        address: int | None = None,
    ) -> None:  # fmt: skip
        self.shape, self.dtype = tuple(shape), np.dtype(dtype)
        self.ndim, self.size, self.itemsize = len(self.shape), math.prod(self.shape), self.dtype.itemsize
        self.nbytes = self.size * self.itemsize
        self.strides = laid_out(self.shape, self.itemsize) if strides is None else tuple(strides)
        self.address = _address_for(self.nbytes) if address is None else address
        self.is_writeable = True
        self._root, self._flags, self._memory = root, None, None

    @property
    def base(self) -> Any:
        """The array whose memory this is a view of. Once its values were asked for, a whole array views them."""
        if self._root is None:
            return self._memory
        return self._root

    @property
    def flags(self) -> "Flags":
        if self._flags is None:
            self._flags = Flags(self)
        return self._flags

    def view_by(
        self, shape: Sequence[int], strides: Sequence[int], offset: int = 0, dtype: Any = None
    ) -> "MetaArray":
        """A view of the same memory that begins `offset` bytes further on."""
        root = self if self._root is None else self._root
        kind = self.dtype if dtype is None else dtype
        view = MetaArray(shape, kind, strides, root, self.address + offset)
        view.is_writeable = self.is_writeable
        return view

    def in_memory(self) -> np.ndarray:
        """The values, in memory: zeros at first, and then what was written there. Raises `TooLargeError`."""
        root = self if self._root is None else self._root
        if type(root) is MetaArray and root._memory is None:
            try:
                root._memory = np.zeros(root.nbytes, np.uint8)
            except (MemoryError, ValueError):
                raise TooLargeError(root.nbytes) from None
        memory, begin = (root._memory, root.address) if type(root) is MetaArray else (root, address_of(root))
        values: np.ndarray = np.ndarray(self.shape, self.dtype, memory, self.address - begin, self.strides)
        values.flags.writeable = self.is_writeable
        return values
    # -- NumPy asks these ------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return MetaArray.outcome(getattr(ufunc, method), *inputs, **kwargs)

    def __array_function__(self, function: Callable, types: Any, args: tuple, kwargs: dict) -> Any:
        return MetaArray.outcome(function, *args, **kwargs)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return stand_in(self, dtype)

    def __getattr__(self, name: str) -> Any:
        """Any other method of NumPy's arrays."""
        method = getattr(np.ndarray, name)
        if not callable(method):
            raise AttributeError(f"an array without memory has no {name}")
        return lambda *args, **kwargs: MetaArray.outcome(method, self, *args, **kwargs)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    # -- views -----------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        parts = index if type(index) is tuple else (index,)
        if isinstance(index, str) or type(index) is list and index and isinstance(index[0], str):
            return self._field(index)
        if not all([part is None or part is Ellipsis or type(part) in (int, slice) for part in parts]):
            parts = tuple([_in_numbers(part) for part in parts])
            if any([_is_array(part) for part in parts]):
                return pick(self, index)
        return self._part(parts, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        """Nothing is written. What NumPy raises, this raises."""
        part = self[index]
        shape = getattr(value, "shape", ())
        if broadcast_shape(shape, part.shape) != part.shape:
            stand_in(self)[index] = value

    def _part(self, parts: tuple, index: Any) -> "MetaArray":
        """The view at numbers and slices."""
        missing = self.ndim - sum([part is not None and part is not Ellipsis for part in parts])
        if missing < 0 or sum([part is Ellipsis for part in parts]) > 1:
            raise _numpys_error(self, index)
        if missing and Ellipsis not in parts:
            parts = (*parts, Ellipsis)
        shape: list[int] = []
        strides: list[int] = []
        axis = offset = 0
        for part in parts:
            if part is None:
                shape.append(1)
                strides.append(0)
                continue
            if part is Ellipsis:
                shape += self.shape[axis : axis + missing]
                strides += self.strides[axis : axis + missing]
                axis += missing
                continue
            n, step = self.shape[axis], self.strides[axis]
            axis += 1
            if type(part) is not slice:
                if not -n <= part < n:
                    raise _numpys_error(self, index)
                offset += step * (part + n if part < 0 else part)
                continue
            places = range(*part.indices(n))
            shape.append(len(places))
            if places:
                offset += step * places.start
                step *= places.step
            strides.append(step)
        return self.view_by(shape, strides, offset)

    def _field(self, name: Any) -> "MetaArray":
        """The field of this name in records, or those of a list of names."""
        one = np.empty((), self.dtype)
        found = one[name]
        return self.view_by(
            self.shape + found.shape, self.strides + found.strides, address_of(found) - address_of(one), found.dtype
        )

    @property
    def T(self) -> "MetaArray":  # noqa: N802  (NumPy's name)
        return self.view_by(self.shape[::-1], self.strides[::-1])

    @property
    def mT(self) -> "MetaArray":  # noqa: N802
        if self.ndim < 2:
            return stand_in(self).mT  # this raises
        return self.swapaxes(-1, -2)

    def transpose(self, *axes: Any) -> "MetaArray":
        if not axes or axes == (None,):
            return self.T
        return view_along_axes(np.ndarray.transpose, self, *axes)

    def swapaxes(self, axis1: int, axis2: int) -> "MetaArray":
        return view_along_axes(np.ndarray.swapaxes, self, axis1, axis2)

    def squeeze(self, axis: Any = None) -> "MetaArray":
        return view_along_axes(np.ndarray.squeeze, self, axis)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> "MetaArray":
        np.empty((1,) * self.ndim).diagonal(0, axis1, axis2)  # it raises for axes that aren't there
        axis1, axis2 = axis1 % self.ndim, axis2 % self.ndim
        rows, columns = self.shape[axis1], self.shape[axis2]
        if offset >= 0:
            columns -= offset
            moved = offset * self.strides[axis2]
        else:
            rows += offset
            moved = -offset * self.strides[axis1]
        length = max(0, min(rows, columns))
        first = moved if min(rows, columns) >= 0 else 0
        kept = [axis for axis in range(self.ndim) if axis not in (axis1, axis2)]
        shape = [*[self.shape[axis] for axis in kept], length]
        strides = [*[self.strides[axis] for axis in kept], self.strides[axis1] + self.strides[axis2]]
        view = self.view_by(shape, strides, first)
        view.is_writeable = False
        return view

    def reshape(self, *shape: Any, order: Any = "C", copy: bool | None = None) -> "MetaArray":
        """A view if the memory allows it, or a new array."""
        given = shape[0] if len(shape) == 1 else shape
        given = (given,) if isinstance(given, (int, np.integer)) else tuple(given)
        wanted = _filled(self, given)
        is_f = order == "F" or order == "A" and self.flags.fnc
        if given == self.shape and not copy:
            return self.view_by(self.shape, self.strides)
        steps = None
        if not copy:
            steps = _steps_without_copy(self, wanted, is_f)
        if steps is not None:
            return self.view_by(wanted, steps)
        if copy is False:
            raise ValueError("Unable to avoid creating a copy while creating an array as requested.")
        return MetaArray(wanted, self.dtype, laid_out(wanted, self.itemsize, range(len(wanted))[:: -1 if is_f else 1]))

    def ravel(self, order: Any = "C") -> "MetaArray":
        flags = self.flags
        if order == "K":
            kept = axes_as_they_lie(self)
            lies_so = self.size == 0 or all(
                self.shape[axis] == 1 or self.strides[axis] == step
                for axis, step in enumerate(laid_out(self.shape, self.itemsize, kept))
            )
        elif order == "F" or order == "A" and flags.fnc:
            lies_so = flags.f_contiguous
        else:
            lies_so = flags.c_contiguous
        if lies_so:
            return self.view_by((self.size,), (self.itemsize,))
        return MetaArray((self.size,), self.dtype)

    def view(self, dtype: Any = None) -> "MetaArray":
        if dtype is None:
            return self.view_by(self.shape, self.strides)
        kind = np.dtype(dtype)
        if kind.itemsize == self.itemsize:
            return self.view_by(self.shape, self.strides, dtype=kind)
        # NumPy shares out the last axis. It's asked with one that's short, and as easy or hard to share out.
        shape = [1] * self.ndim
        if self.ndim:
            shape[-1] = self.shape[-1] % kind.itemsize + 2 * kind.itemsize
        short: Any = np.zeros(shape, self.dtype)
        if self.size and self.strides[-1:] != (self.itemsize,) and self.shape[-1:] not in ((), (1,)):
            short = np.zeros([*shape, 2], self.dtype)[..., 0]
        short.view(kind)
        length = self.shape[-1] * self.itemsize // kind.itemsize
        return self.view_by((*self.shape[:-1], length), (*self.strides[:-1], kind.itemsize), dtype=kind)

    @property
    def real(self) -> "MetaArray":
        if self.dtype.kind != "c":
            return self
        return self.view_by(self.shape, self.strides, dtype=np.empty(0, self.dtype).real.dtype)

    @property
    def imag(self) -> "MetaArray":
        if self.dtype.kind != "c":
            return MetaArray.outcome(np.zeros_like, self)
        return self.view_by(self.shape, self.strides, self.itemsize // 2, np.empty(0, self.dtype).imag.dtype)

    flat = property(lambda self: _Flat(self))


class _Flat:
    """``x.flat``, which gives new arrays."""

    def __init__(self, base: MetaArray) -> None:
        self.base = base

    def __getitem__(self, place: Any) -> Any:
        found = range(self.base.size)[place]
        if isinstance(found, range):
            return reserve_zeros(len(found), self.base.dtype)
        return self.base.dtype.type(0)


# -- What NumPy knows of it ----------------------------------------------------------------------------------------------


def stand_in(x: Any, dtype: Any = None) -> np.ndarray:
    """An array for NumPy, with the shape and type of `x`. All its elements lie in one place, so it takes no memory."""
    one = np.zeros(1, x.dtype if dtype is None else dtype)
    return np.lib.stride_tricks.as_strided(one, x.shape, (0,) * x.ndim)


def address_of(x: Any) -> int:
    """Where in memory an array begins."""
    if type(x) is MetaArray:
        return x.address
    return x.__array_interface__["data"][0]


def _numpys_error(x: MetaArray, index: Any) -> Exception:
    """What NumPy raises for this index."""
    try:
        stand_in(x, bool)[index]
    except (IndexError, TypeError) as error:
        return error
    except ValueError:  # no array of this computer has such a shape
        pass
    return IndexError(f"index {index} is out of bounds for an array of shape {x.shape}")


def _in_numbers(part: Any) -> Any:
    """One part of an index: NumPy's whole numbers become Python's."""
    if isinstance(part, (int, np.integer)) and not isinstance(part, bool):
        return int(part)
    return part


def _is_array(part: Any) -> bool:
    """Whether this part of an index picks elements one by one."""
    return part is not None and part is not Ellipsis and type(part) not in (int, slice)


def reserve_zeros(shape: Any, dtype: Any, axes: Sequence[int] | None = None) -> Any:
    """Zeros: a few in memory, many without. `axes` lie from the slowest to the fastest: by default, row by row."""
    shape = (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(map(int, shape))
    dtype = np.dtype(dtype)
    if not is_small(shape, dtype):
        return MetaArray(shape, dtype, None if axes is None else laid_out(shape, dtype.itemsize, axes))
    rows = range(len(shape))
    if axes is None or len(shape) < 2 or axes == rows:
        return np.zeros(shape, dtype)
    if axes == rows[::-1]:
        return np.zeros(shape, dtype, "F")
    return np.zeros([shape[axis] for axis in axes], dtype).transpose(np.argsort(axes)).copy("K")


# -- Views ---------------------------------------------------------------------------------------------------------------


def strided(x: Any, shape: Any = None, strides: Any = None) -> Any:
    """`np.lib.stride_tricks.as_strided`."""
    if type(x) is not MetaArray:
        return np.lib.stride_tricks.as_strided(x, shape, strides)
    shape = x.shape if shape is None else shape
    return x.view_by((shape,) if isinstance(shape, int) else shape, x.strides if strides is None else strides)


def view_along_axes(function: Callable, x: MetaArray, *args: Any, **kwargs: Any) -> MetaArray:
    """The view that `function` makes, which puts axes in another place, turns them around, adds or takes away some.

    NumPy does it with an array of ones and twos, whose steps tell which axis of the result was which of `x`.
    """
    short = [1 if n == 1 else 2 for n in x.shape]
    one = np.zeros(1, np.int8)
    found = function(np.lib.stride_tricks.as_strided(one, short, [2**axis for axis in range(x.ndim)]), *args, **kwargs)
    shape, strides = [], []
    offset = 0
    for step in found.strides:
        if not step:
            shape.append(1)
            strides.append(0)
            continue
        axis = abs(step).bit_length() - 1
        shape.append(x.shape[axis])
        if step > 0 or x.shape[axis] == 0:
            strides.append(x.strides[axis])
        else:
            strides.append(-x.strides[axis])
            offset += (x.shape[axis] - 1) * x.strides[axis]
    return x.view_by(shape, strides, offset)


def stretched(x: Any, shape: tuple[int, ...], is_writeable: bool = False) -> Any:
    """`np.broadcast_to`: lengths of 1 become others, with a step of 0."""
    if type(x) is not MetaArray:
        if math.prod(shape) * x.itemsize <= np.iinfo(np.intp).max:
            return np.broadcast_to(x, shape)
        root = x if x.base is None else x.base
        x = MetaArray(x.shape, x.dtype, x.strides, root, address_of(x))
    if broadcast_shape(x.shape, shape) != shape:
        return np.broadcast_to(stand_in(x), shape)  # this raises
    more = len(shape) - x.ndim
    steps = [step if n == m != 1 else 0 for n, m, step in zip(x.shape, shape[more:], x.strides)]
    view = x.view_by(shape, [0] * more + steps)
    view.is_writeable = is_writeable
    return view


def _filled(x: MetaArray, shape: Any) -> tuple[int, ...]:
    """The shape that `reshape` takes, with a number in place of -1."""
    wanted = tuple(map(int, shape))
    known = math.prod([n for n in wanted if n != -1])
    if wanted.count(-1) == 1 and known > 0 and x.size % known == 0:
        wanted = tuple([x.size // known if n == -1 else n for n in wanted])
    if min(wanted, default=0) < 0 or math.prod(wanted) != x.size:
        stand_in(x, bool).reshape(wanted)  # this raises
    return wanted


def _steps_without_copy(x: MetaArray, shape: tuple[int, ...], is_f: bool) -> tuple[int, ...] | None:
    """The strides of a view of `x` with this shape, or None if its memory doesn't allow one.

    Some axes of `x` and some of the view have equally many elements, then the next ones. In each such group, the steps
    of `x` must fit together. (NumPy: `_attempt_nocopy_reshape`.)
    """
    if is_f and x.flags.f_contiguous or not is_f and x.flags.c_contiguous:
        return laid_out(shape, x.itemsize, range(len(shape))[:: -1 if is_f else 1])
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
        strides += laid_out(shape[begin:end], group[-1][1], range(end - begin)[:: -1 if is_f else 1])
        first, begin = last, end
    # Axes of length 1 are left. Their steps make no difference.
    rest = strides[-1] if strides else x.itemsize
    if is_f and strides:
        rest *= shape[begin - 1]
    return (*strides, *[rest] * (len(shape) - begin))


def extent(x: Any) -> tuple[int, int]:
    """Where the memory of `x` begins and ends."""
    begin = end = address_of(x)
    if not x.size:
        return begin, begin
    for n, step in zip(x.shape, x.strides):
        if step < 0:
            begin += (n - 1) * step
        else:
            end += (n - 1) * step
    return begin, end + x.itemsize


# -- An index with arrays --------------------------------------------------------------------------------------------------


def pick(values: Any, place: Any) -> Any:
    """``values[place]`` as a new array, with an array in `place`. A mask without memory picks nothing."""
    if isinstance(place, str) or type(place) is list and place and isinstance(place[0], str):
        return values[place]
    parts = [part if isinstance(part, np.ndarray) else _as_part(part) for part in _parts_of(place)]
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    has_all = type(values) is not MetaArray and not any([type(part) is MetaArray for part in arrays])
    if has_all and math.prod([values.nbytes, *[x.size for x in arrays]]) < 256 * SMALL:
        found = np.asarray(values[place])
        if np.may_share_memory(found, values):  # NumPy takes an array of shape () for a number
            return found.copy()
        return found
    return _picked(values, place, parts)


def _parts_of(place: Any) -> tuple:
    if type(place) is tuple:
        return place
    return (place,)


def _as_part(part: Any) -> Any:
    """A part of an index that isn't an array yet: a list becomes one."""
    if part is None or part is Ellipsis or isinstance(part, slice):
        return part
    if isinstance(part, (int, np.integer)) and not isinstance(part, bool):
        return int(part)
    return np.asarray(part)


def _picked(values: Any, place: Any, parts: list) -> Any:
    """NumPy picks from a small array, with an axis for each of those that `parts` take. Its lengths stand for others."""
    taken = sum([_axes_of(part) for part in parts])
    if all([part is not Ellipsis for part in parts]):
        parts = [*parts, Ellipsis]
    lengths: list[int] = []  # of the small array
    index: list[Any] = []
    known = _Few()
    axis = 0
    for part in parts:
        if part is Ellipsis:
            kept = values.shape[axis : axis + values.ndim - taken]
            lengths += map(known.few, kept)
            index += [slice(None)] * len(kept)
            axis += len(kept)
            continue
        here = values.shape[axis : axis + _axes_of(part)]
        if len(here) < _axes_of(part):
            raise _numpys_error(values, place)
        axis += len(here)
        if part is None:
            index.append(None)
        elif isinstance(part, slice):
            lengths.append(known.few(len(range(*part.indices(here[0])))))
            index.append(slice(None))
        elif isinstance(part, int):
            if not -here[0] <= part < here[0]:
                raise _numpys_error(values, place)
            lengths.append(1)
            index.append(0)
        elif part.dtype.kind == "b" and part.ndim:
            if part.shape != here:
                stand_in(values, bool)[(slice(None),) * (axis - len(here)) + (stand_in(part),)]  # this raises
            count = 0 if type(part) is MetaArray else int(np.count_nonzero(part))
            lengths += [1] * part.ndim
            index += [np.zeros(known.few(count), np.intp)] * part.ndim
        else:
            lengths += [min(n, 1) for n in here]
            index.append(np.zeros([known.few(n) for n in part.shape], part.dtype))
    found = np.zeros(lengths, bool)[tuple(index)]
    return reserve_zeros([known.whole(n) for n in found.shape], values.dtype, axes_as_they_lie(found))


class _Few:
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


def _axes_of(part: Any) -> int:
    """How many axes this part of an index takes."""
    if part is None or part is Ellipsis:
        return 0
    if isinstance(part, np.ndarray) and part.dtype.kind == "b":
        return part.ndim
    return 1
