"""What a kernel's threads read and write: variables, arrays of their own, arrays in memory, and pointers to all these.

A *place* has `read`, `write` and `address`. A pointer is an `Address`, which counts bytes as a card does, so that it
can be cast and moved. What it points into has a method `at`, which gives the place.
"""

import copy
import math
from typing import Any, NamedTuple

import numpy as np

from .numbers import SIZE, cast
from .preprocess import no_translation

_ZERO = SIZE.type(0)
ALL, NONE = np.True_, np.False_


class Address(NamedTuple):
    """What a pointer holds: a place in something, in bytes from its beginning, with a number for each thread."""

    base: Any
    offset: Any
    dtype: np.dtype  # of what it points to
    is_const: bool
    line: Any

    def plus(self, steps: Any) -> "Address":
        return self._replace(offset=self.offset + cast(steps, SIZE) * SIZE.type(self.dtype.itemsize))

    def place(self, mask: Any, line: Any) -> Any:
        """What's there. Raises `NotImplementedError` if that's across two elements for one of the active threads."""
        size = self.dtype.itemsize  # a power of 2: bits are faster than a division
        if np.any(((self.offset & SIZE.type(size - 1)) != 0) & mask):
            raise no_translation(line, "a pointer between two elements")
        number = self.offset >> SIZE.type(size.bit_length() - 1)
        if isinstance(self.base, Variable):
            number = np.where(mask, number, 0)
        return self.base.at(number, self.dtype, self.is_const, line)


class Variable:
    """A name for which each thread has a value of its own."""

    value: Any

    def __init__(self, value: Any, is_const: bool = False) -> None:
        self.dtype, self.is_const = value.dtype, is_const
        self.write(ALL, value)

    def read(self, mask: Any) -> Any:
        return self.value

    def write(self, mask: Any, value: Any) -> None:
        if mask is not ALL:
            value = np.where(mask, value, self.value)
        self.value = value if value.base is None else value.copy()  # a view of an argument may change

    def address(self, line: Any) -> Address:
        return Address(self, _ZERO, self.dtype, self.is_const, line)

    def at(self, number: Any, dtype: np.dtype, is_const: bool, line: Any) -> Any:
        if dtype != self.dtype:
            raise no_translation(line, f"a variable of type {self.dtype} as {dtype}")
        if np.any(number):
            raise IndexError(f"a pointer to one variable went past it: {line}")
        return self


class Own(Variable):
    """An argument of which each thread has one element."""

    read_bytes = written_bytes = 0

    def __init__(self, values: np.ndarray, shape: Any, is_const: bool) -> None:
        self.dtype, self.nbytes, self.is_const = values.dtype, values.nbytes, is_const
        if values.shape != shape:
            self.value = np.broadcast_to(values, shape)
        else:
            self.value = values.view()

    def read(self, mask: Any) -> Any:
        self.read_bytes = self.nbytes
        return self.value

    def write(self, mask: Any, value: Any) -> None:
        self.written_bytes = self.nbytes
        np.copyto(self.value, value, where=mask)


class Pointer:
    """A variable that holds an address. It's None before the first one."""

    is_const = False

    def __init__(self, address: Address | None) -> None:
        self.address_in = address

    def read(self, mask: Any) -> Address | None:
        return self.address_in

    def write(self, mask: Any, address: Address) -> None:
        if mask is not ALL and self.address_in is not None:
            address = choose_address(mask, address, self.address_in)
        self.address_in = address


def choose_address(holds: Any, x: Address, y: Address) -> Address:
    """The first address for the threads for which it holds, and the second one for the others."""
    if x.base is not y.base:
        raise no_translation(x.line, "a pointer that points into several arrays")
    return x._replace(offset=np.where(holds, x.offset, y.offset))


class Array:
    """A thread's own array: a value for each element and thread. It may have several axes."""

    def __init__(self, values: np.ndarray, lengths: tuple[int, ...], threads: tuple[int, ...], is_const: bool) -> None:
        self.values = values.reshape(-1, *[1] * len(threads))  # only one for all threads, until they differ
        self.dtype, self.lengths, self.threads, self.is_const = values.dtype, lengths, threads, is_const

    def part(self, number: Any, line: Any) -> Any:
        return Row(self, self.lengths, _ZERO).part(number, line)

    def address(self, line: Any) -> Address:
        return Address(self, _ZERO, self.dtype, self.is_const, line)

    def at(self, number: Any, dtype: np.dtype, is_const: bool, line: Any) -> Any:
        if dtype != self.dtype:
            raise no_translation(line, f"an array of type {self.dtype} as {dtype}")
        return Slot(self, number, line)

    def spread(self) -> None:
        """From now on, each thread has values of its own."""
        if self.values.shape[1:] != self.threads:
            self.values = np.broadcast_to(self.values, (len(self.values), *self.threads)).copy()


class Row(NamedTuple):
    """A part of an array of several axes, such as ``w[1]``, from an element on."""

    array: Array
    lengths: tuple[int, ...]  # of the axes that are left
    first: Any

    @property
    def dtype(self) -> np.dtype:
        return self.array.dtype

    def part(self, number: Any, line: Any) -> Any:
        rest = self.lengths[1:]
        first = self.first + number * SIZE.type(math.prod(rest))
        if rest:
            return Row(self.array, rest, first)
        return Slot(self.array, first, line)

    def address(self, line: Any) -> Address:
        array = self.array
        return Address(array, self.first * SIZE.type(array.dtype.itemsize), array.dtype, array.is_const, line)


class Slot:
    """An element of a thread's own array."""

    def __init__(self, array: Array, number: Any, line: Any) -> None:
        self.array, self.number, self.line, self.dtype, self.is_const = array, number, line, array.dtype, array.is_const

    def _inside(self, mask: Any) -> Any:
        count = len(self.array.values)
        outside = (self.number < 0) | (self.number >= count)
        if np.any(mask & outside):
            raise IndexError(f"an index is outside, there are {count} elements: {self.line}")
        return np.where(outside, 0, self.number)

    def read(self, mask: Any) -> Any:
        number, array = self._inside(mask), self.array
        if np.ndim(number) == 0:
            found = array.values[int(number)]
            if found.shape == array.threads:
                return found.copy()
            return found.reshape(())[()]
        values = np.broadcast_to(array.values, (len(array.values), *array.threads))
        return np.take_along_axis(values, np.broadcast_to(number, array.threads)[None], 0)[0]

    def write(self, mask: Any, value: Any) -> None:
        number, array = self._inside(mask), self.array
        if np.ndim(number) == 0 and np.ndim(value) == 0 and mask is ALL:
            array.values[int(number)] = value
            return
        array.spread()
        if np.ndim(number) == 0:
            np.copyto(array.values[int(number)], value, where=mask)
            return
        number = np.broadcast_to(number, array.threads)[None]
        old = np.take_along_axis(array.values, number, 0)
        np.put_along_axis(array.values, number, np.where(mask, value, old), 0)

    def address(self, line: Any) -> Address:
        offset = self.number * SIZE.type(self.dtype.itemsize)
        return Address(self.array, offset, self.dtype, self.is_const, line)


class Raw:
    """An argument of which a thread takes elements by number."""

    def __init__(self, name: str, values: np.ndarray, shape: Any, is_const: bool) -> None:
        self.name, self.threads, self.is_const = name, shape, is_const
        self.dtype, self.nbytes, self.shape, self.strides = values.dtype, values.nbytes, values.shape, values.strides
        self.array = values
        self.values = values.reshape(-1) if values.flags.c_contiguous else values
        self.moved = {"read": 0, "written": 0}  # bytes, also by way of pointers

    read_bytes = property(lambda self: self.moved["read"])
    written_bytes = property(lambda self: self.moved["written"])

    def at(self, number: Any, dtype: np.dtype, is_const: bool, line: Any) -> "Element":
        """An element of the memory that it lies in, as this type."""
        if dtype == self.dtype and self.values.ndim == 1 and self.array.flags.c_contiguous:
            return Element(self, number, line, is_const)
        memory = _memory(self.array)
        if memory.size % dtype.itemsize:
            raise no_translation(line, f"{self.name} as {dtype}")
        found = copy.copy(self)  # with the same `moved`
        found.values = found.array = memory.view(dtype)
        found.dtype, found.shape = dtype, found.values.shape
        found.name = f"{self.name.partition(' ')[0]} as {dtype}"
        return Element(found, number, line, is_const)

    def offset(self, number: Any) -> Any:
        """Where the element with this number lies in the memory, in bytes."""
        if self.array.flags.c_contiguous:
            return number * SIZE.type(self.dtype.itemsize)
        offset = SIZE.type(-sum(min(0, (n - 1) * step) for n, step in zip(self.shape, self.strides)))
        for length, stride in zip(self.shape[:0:-1], self.strides[:0:-1]):
            offset, number = offset + number % length * stride, number // length
        return offset + number * self.strides[0]


def _memory(values: np.ndarray) -> np.ndarray:
    """The bytes from the array's first element to its last one, as they lie in memory."""
    if values.size == 0:
        return np.empty(0, np.uint8)
    if values.ndim == 0:
        values = values.reshape(1)
    forward = values[tuple([slice(None, None, -1 if step < 0 else 1) for step in values.strides])]
    extent = values.itemsize + sum((n - 1) * abs(step) for n, step in zip(values.shape, values.strides))
    first = forward[tuple([slice(1)] * values.ndim)].reshape(1).view(np.uint8)
    return np.lib.stride_tricks.as_strided(first, (extent,), (1,))


class Element:
    """An element of a raw array, with a number for each thread."""

    def __init__(self, raw: Raw, number: Any, line: Any, is_const: bool = False) -> None:
        self.raw, self.line, self.dtype, self.is_const = raw, line, raw.dtype, raw.is_const or is_const
        self.number = number if raw.shape else _ZERO  # an array without axes has one element, whatever the number

    def address(self, line: Any) -> Address:
        return Address(self.raw, self.raw.offset(self.number), self.dtype, self.is_const, line)

    def read(self, mask: Any) -> Any:
        where = self._where(mask)
        self.raw.moved["read"] += self._bytes(mask)
        return self.raw.values[where]

    def write(self, mask: Any, value: Any, ufunc: Any = None) -> None:
        """If several threads write to one element, one of them wins. With a `ufunc` such as np.add, all count."""
        here: Any = ... if mask is ALL else mask
        *where, value = [np.broadcast_to(part, self.raw.threads)[here] for part in (*self._where(mask), value)]
        self.raw.moved["written"] += self._bytes(mask)
        if ufunc is None:
            self.raw.values[tuple(where)] = value
        else:
            ufunc.at(self.raw.values, tuple(where), value)

    def exchange(self, mask: Any, compute: Any, *operands: Any) -> Any:
        """One thread after the other, as atomics are: ``compute(old, …)`` is the new value. Returns the old ones."""
        threads = self.raw.threads
        places = [np.broadcast_to(part, threads) for part in self._where(mask)]
        spread = [np.broadcast_to(part, threads) for part in operands]
        found = np.zeros(threads, self.dtype)
        for thread in zip(*np.nonzero(np.broadcast_to(mask, threads))):
            place = tuple([part[thread] for part in places])
            old = found[thread] = self.raw.values[place]
            self.raw.values[place] = compute(old, *[part[thread] for part in spread])
        for way in self.raw.moved:
            self.raw.moved[way] += self._bytes(mask)
        return found

    def _bytes(self, mask: Any) -> int:
        is_one = mask is ALL or np.ndim(self.number) == 0
        return self.dtype.itemsize * int(np.size(self.number) if is_one else np.count_nonzero(mask))

    def _where(self, mask: Any) -> tuple:
        """The index that NumPy takes. Raises `IndexError` if an active thread's is outside."""
        raw, number, size = self.raw, self.number, self.raw.values.size
        outside = (number < 0) | (number >= size)
        if np.any(outside & mask):
            i = int(np.argmax(np.broadcast_to(outside & mask, raw.threads)))
            raise IndexError(
                f"{raw.name}[{np.broadcast_to(number, raw.threads).flat[i]}] is outside, {raw.name} has {size:,} "
                f"elements: i = {i}, {self.line}. A GPU doesn't check, and uses what else is in its memory"
            )
        if np.any(outside):
            number = np.where(outside, 0, number)
        if raw.values.ndim == 1:
            return (number,)
        return np.unravel_index(number, raw.shape)


class Indexer(NamedTuple):
    """``_ind``: the axes along which we count the threads, and each thread's number."""

    shape: tuple[int, ...]
    number: Any
