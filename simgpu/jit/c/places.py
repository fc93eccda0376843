"""What C can write to: variables, a thread's own arrays, elements of memory, and a struct's fields.

A pointer is a `Ref`: the memory that it's in, and for each thread the number of the element. The memory that it's in is
an array argument, shared memory, or a thread's own array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...kernels.parse import Pointer
from ...kernels.preprocess import CompileException
from .. import memory
from ..errors import KernelError, NeverWritten, OutOfBounds
from ..lanes import NOBODY, Lanes, Mask, where
from ..memory import Memory, Part, Reach, Ref, as_index
from ..races import Log
from .source import CSite
from .terms import StructType, Term, dtype_in_memory, from_memory, to_memory

_MOST_KNOWN = 1024


class Registers:
    """A thread's own array. While its elements are chosen by numbers that all threads share, each is a value of its
    own; after that, all lie in one array, element by element."""

    is_shared = False

    def __init__(self, name: str, lengths: tuple[int, ...], kind: Any) -> None:
        self.name, self.lengths, self.size = name, lengths, int(np.prod(lengths))
        self.parameter: int | None = None  # the place of the parameter that it's a copy of
        self.kind, self.dtype = kind, dtype_in_memory(kind)
        self.cells: list[Any] = [None] * self.size
        self.given: list[Any] = [NOBODY] * self.size  # as in `Held`
        self.all: Any = None
        self.written: Any = None

    def check(self, lanes: Lanes, mask: Mask, at: Any, site: CSite) -> Any:
        """`at`, where threads that don't take part have some element. Raises `OutOfBounds`."""
        if isinstance(at, int):
            if 0 <= at < self.size:
                return at
            bad, first = mask.on, at
        else:
            outside = (at < 0) | (at >= self.size)
            if not outside.any():
                return at
            bad = mask.on & outside
            if not bad.any():
                return np.where(outside, 0, at)
            first = int(np.broadcast_to(at, bad.shape).ravel()[bad.argmax()])
        raise outside_of(self.name, 0, self.size, first, int(bad.sum()) * (lanes.blocks // len(bad)), bad, lanes, site)

    def load(self, lanes: Lanes, mask: Mask, at: Any, site: CSite) -> Any:
        at = self.check(lanes, mask, at, site)
        if isinstance(at, int) and self.all is None:
            self._check_given(lanes, mask, self.given[at], at, site)
            return self.cells[at]
        if self.all is None:
            is_table = all(isinstance(cell, np.generic) for cell in self.cells)
            if is_table:  # the same in all threads
                return np.array(self.cells)[at]
            self._gather(lanes)
        if isinstance(at, int):
            seen, found = self.written[at], self.all[at].copy()
        else:
            row, lane = np.arange(lanes.blocks)[:, None], np.arange(lanes.width)[None]
            seen, found = self.written[at, row, lane], self.all[at, row, lane]
        missing = mask.on & ~seen
        if missing.any():
            raise self._never_written(lanes, missing, site)
        return from_memory(found, self.kind)

    def store(self, lanes: Lanes, mask: Mask, value: Any, at: Any, site: CSite) -> None:
        at = self.check(lanes, mask, at, site)
        if isinstance(at, int) and self.all is None:
            given = self.given[at]
            if mask.count == lanes.alive or given is NOBODY:
                self.cells[at] = value
                self.given[at] = True if mask.count == lanes.alive else mask.on
                return
            self.cells[at] = where(mask.on, value, self.cells[at], site)
            if given is not True and given is not mask.on:
                self.given[at] = given | mask.on
            return
        if self.all is None:
            self._gather(lanes)
        new = np.broadcast_to(to_memory(value, self.kind), lanes.shape)
        on = np.broadcast_to(mask.on, lanes.shape)
        row, lane = on.nonzero()
        number = at if isinstance(at, int) else np.broadcast_to(at, lanes.shape)[row, lane]
        self.all[number, row, lane] = new[row, lane]
        self.written[number, row, lane] = True

    def _gather(self, lanes: Lanes) -> None:
        """From here on, threads choose elements of their own."""
        self.all = np.zeros((self.size, *lanes.shape), self.dtype)
        self.written = np.zeros((self.size, *lanes.shape), bool)
        for k, (cell, given) in enumerate(zip(self.cells, self.given)):
            if given is not NOBODY:
                self.all[k] = to_memory(cell, self.kind)
                self.written[k] = given

    def _check_given(self, lanes: Lanes, mask: Mask, given: Any, at: int, site: CSite) -> None:
        if given is True or given is mask.on:
            return
        missing = mask.on if given is NOBODY else mask.on & ~given
        if missing.any():
            raise self._never_written(lanes, missing, site, at)

    def _never_written(self, lanes: Lanes, missing: np.ndarray, site: CSite, at: int | None = None) -> KernelError:
        name = self.name
        if self.lengths != (1,):
            name += "[…]" if at is None else "".join(f"[{k}]" for k in np.unravel_index(at, self.lengths))
        what = f"{name} has no value in this thread yet: it holds whatever was there before."
        return site.wrong(NeverWritten, what, "Give it a value where it's declared.", lanes.first_of(missing))


def outside_of(
    name: str, low: int, high: int, index: int, count: int, bad: np.ndarray, lanes: Lanes, site: CSite,
    is_dynamic: bool = False,
) -> KernelError:  # fmt: skip
    """The error for an index outside of ``low <= index < high``."""
    size = high - low
    there = f"{size:,} elements, 0 to {size - 1:,}" if size else "no elements"
    what = f"{name} has {there}; index {index - low:,} is outside."
    does = f"{count:,} {'thread does' if count == 1 else 'threads do'} this here. A GPU doesn't check."
    guard = site.guard(0, 1, index, None)
    if is_dynamic:
        guard = f" The launch says how large it is: shared_mem={lanes.launch.shared_mem} bytes."
    return site.wrong(OutOfBounds, what, does + guard, lanes.first_of(bad))


def limits(part: Part) -> tuple[int, int]:
    """The elements of ``part.flat`` that a pointer may mean: those of the array, from its first to its last."""
    if part.is_shared:
        return 0, part.flat.shape[-1]
    if 0 in part.shape:
        return part.offset, part.offset
    steps = [stride * (n - 1) for stride, n in zip(part.strides, part.shape)]
    low, high = (sum(step for step in steps if step < 0), sum(step for step in steps if step > 0))
    return part.offset + low, part.offset + high + 1


def reach(lanes: Lanes, mask: Mask, ref: Ref, site: CSite) -> Reach:
    """Where the threads go with this pointer. Raises `OutOfBounds`."""
    part, at = ref.part, ref.offset
    if isinstance(at, np.ndarray) and (len(mask.on) > 1 or len(at) > 1):
        return Reach(lanes, mask, part, _checked(lanes, mask, part, at, site))
    if len(mask.on) > 1:
        return Reach(lanes, mask, part, _checked(lanes, mask, part, at, site))
    # All blocks do the same, so a loop finds it again.
    key = id(part), at.tobytes() if isinstance(at, np.ndarray) else at
    if key not in mask.known:
        if len(mask.known) > _MOST_KNOWN:
            mask.known.clear()
        mask.known[key] = Reach(lanes, mask, part, _checked(lanes, mask, part, at, site))
    return mask.known[key]


def _checked(lanes: Lanes, mask: Mask, part: Any, at: Any, site: CSite) -> Any:
    low, high = lanes.launch.limits_of(part)
    if isinstance(at, int):
        if low <= at < high:
            return at
        bad, first = mask.on, at
    else:
        if at.min() >= low and at.max() < high:
            return at
        outside = (at < low) | (at >= high)
        bad = mask.on & outside
        if not bad.any():
            return np.where(outside, low, at)
        first = int(np.broadcast_to(at, bad.shape).ravel()[bad.argmax()])
    begin = part.offset if not part.is_shared else 0
    count = int(bad.sum()) * (lanes.blocks // len(bad))
    low, high = low - begin, high - begin
    if low < 0:
        what = f"{part.name} goes from {low:,} to {high - 1:,}; index {first - begin:,} is outside."
        raise site.wrong(OutOfBounds, what, "A GPU doesn't check.", lanes.first_of(bad))
    raise outside_of(part.name, low, high, first - begin, count, bad, lanes, site, part.is_dynamic)


class Place:
    """Something that can be read and written. `find` says where; `load` and `store` get what it found."""

    type: Any
    origin: frozenset = frozenset()
    find: Callable[[Lanes, Mask], Any]
    load: Callable[[Lanes, Mask, Any], Any]
    store: Callable[[Lanes, Mask, Any, Any], None]
    pointer: Term | None = None  # its address, if it has one
    slot: int | None = None  # of the variable that it is, or is in
    stores_to: frozenset = frozenset()  # whose memory changes if it's written: as in `Notes.flows`
    is_const = False

    def read(self) -> Term:
        find, load = self.find, self.load
        return Term(self.type, lambda lanes, mask: load(lanes, mask, find(lanes, mask)), None, self.origin)


def refuse_const(place: Place, line: Any) -> None:
    """Raises `CompileException` if this can't be changed."""
    if place.is_const:
        raise CompileException(f"this is const, so it can't be changed: {line}")


class InVariable(Place):
    """A variable, which is in a register."""

    def __init__(self, kind: Any, slot: int, site: CSite, name: str, is_const: bool, origin: frozenset) -> None:
        self.type, self.slot, self.is_const, self.origin = kind, slot, is_const, origin
        what = f"{name} has no value in this thread yet: it holds whatever was there before."
        fix = "Give it a value where it's declared."
        self.find = lambda lanes, mask: None
        self.load = lambda lanes, mask, found: lanes.value_of(mask, slot, site, what, fix)

        def store(lanes: Lanes, mask: Mask, found: Any, value: Any) -> None:
            lanes.assign(mask, slot, value, site)

        self.store = store

    def read(self) -> Term:
        load = self.load
        return Term(self.type, lambda lanes, mask: load(lanes, mask, None), None, self.origin)


class InMemory(Place):
    """What a pointer points to."""

    def __init__(self, pointer: Term, site: CSite) -> None:
        self.pointer, self.site = pointer, site
        self.type = kind = pointer.type.to
        self.origin = pointer.origin
        self.is_const = pointer.type.is_const
        if not isinstance(kind, Pointer):  # a pointer is only in a thread's own memory
            self.stores_to = pointer.origin
        run, is_struct = pointer.run, isinstance(kind, StructType)

        def find(lanes: Lanes, mask: Mask) -> Any:
            ref = run(lanes, mask)
            if type(ref.part) is Registers:
                return ref
            if ref.part is None:
                what = "this is a null pointer: it points nowhere."
                raise site.wrong(OutOfBounds, what, "A GPU stops with an error.", lanes.first_of(mask.on))
            return reach(lanes, mask, ref, site)

        def load(lanes: Lanes, mask: Mask, to: Any) -> Any:
            if type(to) is Ref:
                own: Any = to.part
                return own.load(lanes, mask, to.offset, site)
            value = memory.load(lanes, mask, to, site)
            return from_memory(value, kind) if is_struct else value

        def store(lanes: Lanes, mask: Mask, to: Any, value: Any) -> None:
            if type(to) is Ref:
                own: Any = to.part
                own.store(lanes, mask, value, to.offset, site)
                return
            memory.store(lanes, mask, to_memory(value, kind) if is_struct else value, to, site)

        self.find, self.load, self.store = find, load, store


class InField(Place):
    """A field of a struct that's somewhere else."""

    def __init__(self, owner: Place, name: str, line: Any) -> None:
        k = owner.type.place(name, line)
        self.type, self.is_const, self.origin = owner.type.fields[k][1], owner.is_const, owner.origin
        self.slot, self.stores_to = owner.slot, owner.stores_to
        self.find = owner.find
        self.load = lambda lanes, mask, found: owner.load(lanes, mask, found)[k]

        def store(lanes: Lanes, mask: Mask, found: Any, value: Any) -> None:
            old = list(owner.load(lanes, mask, found))
            old[k] = value
            owner.store(lanes, mask, found, tuple(old))

        self.store = store


def shared_array(
    lanes: Lanes, key: Any, name: str, kind: Any, lengths: tuple[int, ...], is_dynamic: bool = False
) -> Ref:
    """A block's shared memory, as this type. It's made once for all blocks that run now."""
    if key not in lanes.shared:
        dtype, count = dtype_in_memory(kind), int(np.prod(lengths))
        flat = np.zeros((lanes.blocks, count), dtype)
        made = Memory(flat.size, dtype.itemsize, Log(flat.size, False, count))
        strides = tuple(int(np.prod(lengths[axis + 1 :])) for axis in range(len(lengths)))
        part = Part(name, made, flat, lengths, strides, is_shared=True, is_dynamic=is_dynamic)
        lanes.shared[key] = Ref(part, 0, 0)
    return lanes.shared[key]


def viewed(lanes: Lanes, ref: Ref, kind: Any, site: CSite) -> Ref:
    """The same memory as items of another type: ``(int*)p``. Raises `KernelError` if it begins between two of them."""
    part: Any = ref.part
    if part is None or kind is None or type(part) is Registers:
        return ref
    dtype, own = dtype_in_memory(kind), part.flat.dtype
    if dtype == own:
        return ref
    begin = ref.offset * own.itemsize
    if np.any(np.asarray(begin) % dtype.itemsize):
        what = f"this address isn't a multiple of {dtype.itemsize} bytes, where a {dtype} begins: misaligned address."
        raise site.wrong(KernelError, what, "", lanes.first_of(lanes.going))
    return Ref(lanes.launch.as_type(lanes, part, dtype), 0, as_index(begin // dtype.itemsize))
