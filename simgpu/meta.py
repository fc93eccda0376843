"""Arrays without memory: a shape, a type and strides, as PyTorch's meta tensors have them.

A card's accounting needs nothing else, so a 16 GB card fits into any computer. What's a view of NumPy's array is a view
here, with the same strides, by NumPy's rules. `shapes.py` says what a function makes of them.
"""

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from . import layout
from .layout import Few, axes_of, length_of, order_axes, strides_of

SMALL = 2**16  # bytes; arrays with fewer are in memory, where NumPy itself makes their views


def is_small(shape: Sequence[int], dtype: Any) -> bool:
    """Whether an array of this shape and type is made in memory."""
    return math.prod(shape) * np.dtype(dtype).itemsize < SMALL


class TooLargeError(MemoryError):
    """The values of an array of `nbytes` are asked for, and this computer has no memory for them."""

    def __init__(self, nbytes: int) -> None:
        super().__init__(f"this computer has no memory for an array of {nbytes:,} bytes")
        self.nbytes = nbytes


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
        self.c_contiguous, self.f_contiguous = layout.contiguity(x.shape, x.strides, x.itemsize)

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

    __slots__ = (
        "_flags", "_memory", "_root", "address", "dtype", "is_writeable", "itemsize", "nbytes", "ndim", "shape", "size",
        "strides",
    )  # fmt: skip
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
        self.strides = strides_of(self.shape, self.itemsize) if strides is None else tuple(strides)
        self.address = _address_for(self.nbytes) if address is None else address
        self.is_writeable = True
        self._root = root  # the array that this one is a view of
        self._flags: Flags | None = None
        self._memory: Any = None  # its bytes, once they were asked for

    @property
    def base(self) -> Any:
        """The array whose memory this is a view of. Once its values were asked for, a whole array views them."""
        if self._root is None:
            return self._memory
        return self._root

    @property
    def flags(self) -> Flags:
        if self._flags is None:
            self._flags = Flags(self)
        return self._flags

    def view_by(self, shape: Sequence[int], strides: Sequence[int], offset: int = 0, dtype: Any = None) -> Any:
        """A view of the same memory that begins `offset` bytes further on."""
        root = self if self._root is None else self._root
        kind = self.dtype if dtype is None else dtype
        view = MetaArray(shape, kind, strides, root, self.address + offset)
        view.is_writeable = self.is_writeable
        return view

    def in_memory(self) -> np.ndarray:
        """The values, in memory: zeros at first, and then what was written there. Raises `TooLargeError`."""
        root = self if self._root is None else self._root
        memory: Any = root
        begin = address_of(root)
        if type(root) is MetaArray:
            if root._memory is None:
                try:
                    root._memory = np.zeros(root.nbytes, np.uint8)
                except (MemoryError, ValueError):
                    raise TooLargeError(root.nbytes) from None
            memory = root._memory
        values: np.ndarray = np.ndarray(self.shape, self.dtype, memory, self.address - begin, self.strides)
        values.flags.writeable = self.is_writeable
        return values

    # -- NumPy asks these ------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return MetaArray.outcome(getattr(ufunc, method), *inputs, **kwargs)

    def __array_function__(self, function: Callable, types: Any, args: tuple, kwargs: dict) -> Any:
        return MetaArray.outcome(function, *args, **kwargs)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy:
            return MetaArray(self.shape, dtype or self.dtype).in_memory()
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

    # -- parts -----------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        if is_of_fields(index):
            return self._field(index)
        parts = _parts_of(index)
        if any([isinstance(part, np.ndarray) for part in parts]):
            return pick(self, index)
        return self._part(parts, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        """Nothing is written. What NumPy raises, this raises."""
        part = self[index]
        if layout.broadcast(np.shape(value), part.shape) != part.shape:
            stand_in(self)[index] = value

    def _part(self, parts: tuple, index: Any) -> "MetaArray":
        """The view at numbers and slices."""
        missing = self.ndim - sum(map(_axes_taken, parts))
        if missing < 0 or parts.count(Ellipsis) > 1:
            raise _numpys_error(self, index)
        if Ellipsis not in parts:
            parts = (*parts, Ellipsis)
        shape: list[int] = []
        strides: list[int] = []
        axis = offset = 0
        for part in parts:
            if part is None:
                shape.append(1)
                strides.append(0)
            elif part is Ellipsis:
                shape += self.shape[axis : axis + missing]
                strides += self.strides[axis : axis + missing]
                axis += missing
            else:
                n, step = self.shape[axis], self.strides[axis]
                axis += 1
                if isinstance(part, int):
                    if not -n <= part < n:
                        raise _numpys_error(self, index)
                    offset += step * (part % n)
                    continue
                places = range(*part.indices(n))
                shape.append(length_of(places))
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

    # -- views -----------------------------------------------------------------------------------

    @property
    def T(self) -> "MetaArray":  # noqa: N802  (NumPy's name)
        return self.view_by(self.shape[::-1], self.strides[::-1])

    @property
    def mT(self) -> "MetaArray":  # noqa: N802
        if self.ndim < 2:
            stand_in(self).mT  # noqa: B018  (this raises)
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
        view = self.view_by(*layout.diagonal(self, offset, axis1 % self.ndim, axis2 % self.ndim))
        view.is_writeable = False
        return view

    def reshape(self, *shape: Any, order: Any = "C", copy: bool | None = None) -> "MetaArray":
        """A view if the memory allows it, or a new array."""
        given = shape[0] if len(shape) == 1 else shape
        given = as_shape(given)
        wanted = _complete(self, given)
        if order == "A":
            order = "F" if self.flags.fnc else "C"
        if given == self.shape and not copy:
            return self.view_by(self.shape, self.strides)
        if not copy:
            strides = layout.strides_without_copy(self, wanted, order)
            if strides is not None:
                return self.view_by(wanted, strides)
        if copy is False:
            raise ValueError("Unable to avoid creating a copy while creating an array as requested.")
        return MetaArray(wanted, self.dtype, strides_of(wanted, self.itemsize, order_axes(len(wanted), order)))

    def ravel(self, order: Any = "C") -> "MetaArray":
        flags = self.flags
        if order == "K":
            strides = strides_of(self.shape, self.itemsize, axes_of(self))
            is_view = not self.size or all(
                [n == 1 or step == other for n, step, other in zip(self.shape, self.strides, strides)]
            )
        elif order == "F" or order == "A" and flags.fnc:
            is_view = flags.f_contiguous
        else:
            is_view = flags.c_contiguous
        if is_view:
            return self.view_by((self.size,), (self.itemsize,))
        return MetaArray((self.size,), self.dtype)

    def view(self, dtype: Any = None) -> "MetaArray":
        kind = self.dtype if dtype is None else np.dtype(dtype)
        if kind.itemsize == self.itemsize:
            return self.view_by(self.shape, self.strides, dtype=kind)
        # NumPy shares out the last axis. It's asked with a short one, which is as easy or hard to share out.
        short: Any = np.zeros([1] * self.ndim, self.dtype)
        if self.ndim:
            length = self.shape[-1] % kind.itemsize + 2 * kind.itemsize
            has_gaps = self.size and self.shape[-1] != 1 and self.strides[-1] != self.itemsize
            short = np.zeros((*short.shape[:-1], length, 2 if has_gaps else 1), self.dtype)[..., 0]
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
            return reserve_zeros(length_of(found), self.base.dtype)
        return self.base.dtype.type(0)


def as_shape(shape: Any) -> tuple[int, ...]:
    """A shape of Python's numbers, from a number or several."""
    if isinstance(shape, (int, np.integer)):
        return (int(shape),)
    return tuple(map(int, shape))


def reserve_zeros(shape: Any, dtype: Any, axes: Sequence[int] | None = None) -> Any:
    """Zeros: a few in memory, many without. `axes` lie from the slowest to the fastest: by default, row by row."""
    shape, dtype = as_shape(shape), np.dtype(dtype)
    if not is_small(shape, dtype):
        return MetaArray(shape, dtype, None if axes is None else strides_of(shape, dtype.itemsize, axes))
    rows = range(len(shape))
    if axes is None or len(shape) < 2 or axes == rows:
        return np.zeros(shape, dtype)
    if axes == rows[::-1]:
        return np.zeros(shape, dtype, "F")
    return np.zeros([shape[axis] for axis in axes], dtype).transpose(np.argsort(axes)).copy("K")


# -- What NumPy knows of it --------------------------------------------------------------------------------------------


def stand_in(x: Any, dtype: Any = None) -> np.ndarray:
    """An array for NumPy, with the shape and type of `x`. All its elements lie in one place, so it takes no memory.

    Raises `TooLargeError` if NumPy has no array of this shape: on 32-bit computers, for 2**31 bytes or more.
    """
    one = np.zeros(1, x.dtype if dtype is None else dtype)
    try:
        return np.lib.stride_tricks.as_strided(one, x.shape, (0,) * x.ndim)
    except (OverflowError, ValueError):
        raise TooLargeError(x.nbytes) from None


def address_of(x: Any) -> int:
    """Where in memory an array begins."""
    if type(x) is MetaArray:
        return x.address
    return x.__array_interface__["data"][0]


def _numpys_error(x: Any, index: Any) -> Exception:
    """What NumPy raises for this index."""
    try:
        stand_in(x, bool)[index]
    except (IndexError, TypeError) as error:
        return error
    except TooLargeError:
        pass
    return IndexError(f"index {index} is out of bounds for an array of shape {x.shape}")


def _complete(x: MetaArray, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that `reshape` was given, with a number in place of -1."""
    known = math.prod([n for n in shape if n != -1])
    if shape.count(-1) == 1 and known > 0 and x.size % known == 0:
        shape = tuple([x.size // known if n == -1 else n for n in shape])
    if min(shape, default=0) < 0 or math.prod(shape) != x.size:
        with contextlib.suppress(TooLargeError):
            stand_in(x, bool).reshape(shape)  # this raises
        raise ValueError(f"cannot reshape array of size {x.size} into shape {shape}")
    return shape


# -- Views by functions ------------------------------------------------------------------------------------------------


def view_by_strides(x: Any, shape: Any = None, strides: Any = None) -> Any:
    """`np.lib.stride_tricks.as_strided`."""
    if type(x) is not MetaArray:
        return np.lib.stride_tricks.as_strided(x, shape, strides)
    return x.view_by(x.shape if shape is None else as_shape(shape), x.strides if strides is None else strides)


def view_along_axes(function: Callable, x: Any, *args: Any, **kwargs: Any) -> MetaArray:
    """The view that `function` makes, which puts axes in another place, turns them around, adds or takes away some.

    NumPy does it with an array of ones and twos, whose steps tell which axis of the result was which of `x`.
    """
    short = [1 if n == 1 else 2 for n in x.shape]
    steps = [2**axis for axis in range(x.ndim)]
    found = function(np.lib.stride_tricks.as_strided(np.zeros(1, np.int8), short, steps), *args, **kwargs)
    shape: list[int] = []
    strides: list[int] = []
    offset = 0
    for step in found.strides:
        if not step:
            shape.append(1)
            strides.append(0)
            continue
        axis = abs(step).bit_length() - 1
        n = x.shape[axis]
        shape.append(n)
        if step < 0 < n:
            strides.append(-x.strides[axis])
            offset += (n - 1) * x.strides[axis]
        else:
            strides.append(x.strides[axis])
    return x.view_by(shape, strides, offset)


def stretch(x: Any, shape: tuple[int, ...], is_writeable: bool = False) -> Any:
    """`np.broadcast_to`: lengths of 1 become others, with a step of 0."""
    if type(x) is not MetaArray:
        if math.prod(shape) * x.itemsize <= np.iinfo(np.intp).max:
            return np.broadcast_to(x, shape)
        x = MetaArray(x.shape, x.dtype, x.strides, x if x.base is None else x.base, address_of(x))
    if layout.broadcast(x.shape, shape) != shape:
        np.broadcast_to(stand_in(x), shape)  # this raises
    more = len(shape) - x.ndim
    steps = [step if n == m != 1 else 0 for n, m, step in zip(x.shape, shape[more:], x.strides)]
    view = x.view_by(shape, [0] * more + steps)
    view.is_writeable = is_writeable
    return view


# -- An index with arrays ----------------------------------------------------------------------------------------------


def is_of_fields(index: Any) -> bool:
    """Whether it's the name of a field of records, or a list of names."""
    return isinstance(index, str) or type(index) is list and bool(index) and isinstance(index[0], str)


def _parts_of(index: Any) -> tuple:
    """The parts of an index: Python's numbers, slices, None, Ellipsis, and arrays in place of all else."""
    if type(index) is not tuple:
        index = (index,)
    return tuple([_as_part(part) for part in index])


def _as_part(part: Any) -> Any:
    if part is None or part is Ellipsis or isinstance(part, (slice, np.ndarray)):
        return part
    if isinstance(part, (int, np.integer)) and not isinstance(part, bool):
        return int(part)
    return np.asarray(part)


def _axes_taken(part: Any) -> int:
    """How many axes this part of an index takes."""
    if part is None or part is Ellipsis:
        return 0
    if isinstance(part, np.ndarray) and part.dtype.kind == "b":
        return part.ndim
    return 1


def pick(values: Any, index: Any) -> Any:
    """``values[index]`` as a new array, with an array in the index. A mask without memory picks nothing."""
    parts = _parts_of(index)
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    if not any([type(x) is MetaArray for x in (values, *arrays)]):
        most = math.prod([values.nbytes, *[x.size for x in arrays]])
        if most < 256 * SMALL:
            found = np.asarray(values[index])
            if np.may_share_memory(found, values):  # NumPy takes an array of shape () for a number
                return found.copy()
            return found
    return _Picking(values, index, parts).result()


class _Picking:
    """What an index with arrays picks: NumPy says it of a small array, with an axis for each of those of `values`."""

    def __init__(self, values: Any, index: Any, parts: tuple) -> None:
        self.values, self.index = values, index
        self.few = Few()
        self.lengths: list[int] = []  # of the small array
        self.places: list[Any] = []  # its index
        missing = values.ndim - sum(map(_axes_taken, parts))
        if missing < 0:
            raise _numpys_error(values, index)
        if all([part is not Ellipsis for part in parts]):
            parts = (*parts, Ellipsis)
        axis = 0
        for part in parts:
            taken = missing if part is Ellipsis else _axes_taken(part)
            self.add(part, values.shape[axis : axis + taken])
            axis += taken

    def add(self, part: Any, lengths: tuple[int, ...]) -> None:
        """One part of the index, and the lengths of the axes that it takes."""
        if part is None:
            self.places.append(None)
        elif part is Ellipsis:
            self.keep(*lengths)
        elif isinstance(part, slice):
            self.keep(length_of(range(*part.indices(lengths[0]))))
        elif isinstance(part, int):
            if not -lengths[0] <= part < lengths[0]:
                raise _numpys_error(self.values, self.index)
            self.lengths.append(1)
            self.places.append(0)
        elif part.dtype.kind == "b" and part.ndim:
            if part.shape != lengths:
                stand_in(self.values, bool)[self.index]  # this raises
            count = 0 if type(part) is MetaArray else int(np.count_nonzero(part))
            self.lengths += [1] * part.ndim
            self.places += [np.zeros(self.few.few(count), np.intp)] * part.ndim
        else:
            self.lengths += [min(n, 1) for n in lengths]
            self.places.append(np.zeros([self.few.few(n) for n in part.shape], part.dtype))

    def keep(self, *lengths: int) -> None:
        self.lengths += [self.few.few(n) for n in lengths]
        self.places += [slice(None)] * len(lengths)

    def result(self) -> Any:
        found = np.zeros(self.lengths, bool)[tuple(self.places)]
        return reserve_zeros([self.few.whole(n) for n in found.shape], self.values.dtype, axes_of(found))
