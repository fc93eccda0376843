"""A launch of a kernel in C: what its parameters hold, by CuPy's rules for arguments.

CuPy passes an array's address, and a number's bytes: a Python int is an int64, a float a float64 (`_pointer` in
cupy/cuda/function.pyx). The kernel takes as many of them as its parameter has. So an int may go to an ``int``, but of a
float, a ``float`` would get four bytes of eight: a card computes with garbage, and here it's an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dispatch import pattern_of
from ...kernels.parse import Pointer, c_name
from ...lines import warn_at_call
from ...memory import Stored
from ...words import in_words, many
from ..errors import KernelError, TooMuch
from ..lanes import Lanes
from ..launch import Launch
from ..memory import Memory, Part, Ref
from ..names import DYNAMIC, SHARED_LIMIT
from ..races import Log
from .places import limits, shared_array
from .source import CSite
from .terms import NULL, StructType, dtype_in_memory

_BYTES = "bB"


class CLaunch(Launch):
    """One launch of a RawKernel."""

    program: Any

    def take(self, kernel: Any, args: Sequence[Any]) -> list[Any]:
        source, self.shared_limit = kernel.source, kernel.shared_limit
        self.program = program = kernel.program
        self._limits: dict[int, tuple[Any, tuple[int, int]]] = {}
        self._views: dict[Any, tuple[Any, Part]] = {}
        self._globals: dict[str, Part] = {}
        self._roots: dict[tuple[int, int], Memory] = {}
        self._written_roots: set[int] = set()
        takes = f"kernel {source.name} takes {many(len(program.parameters), 'argument')}, got {len(args)}"
        if len(args) < len(program.parameters):
            raise TypeError(f"{takes}: a card would take what else is in memory for the rest")
        if len(args) > len(program.parameters):
            warn_at_call(f"{takes}: a card doesn't look at those that are left", UserWarning)
        given = list(zip(program.parameters, args))
        for variable, x in given:
            if variable.name in program.changed and isinstance(x, Stored):
                self._written_roots.add(id(x.buffer.root))
        self.parts = {}
        return [self._parameter(variable, x) for variable, x in given]

    def steps(self, lanes: Lanes) -> Any:
        for variable, value in zip(self.program.parameters, self._args):
            lanes.held[variable.slot].put(value)
        return self.program.run(lanes, lanes.top)

    def _parameter(self, variable: Any, x: Any) -> Any:
        if isinstance(variable.type, Pointer):
            return self._pointer(variable, x)
        if isinstance(x, Stored):
            what = f"{variable.name} is an array, and the kernel's parameter is {c_name(variable.type)}"
            raise TypeError(f"kernel {self.source.name}: {what}, not a pointer")
        return self._number(variable, x)

    def _number(self, variable: Any, x: Any) -> Any:
        name, kind = variable.name, variable.type
        if isinstance(kind, StructType):
            return self._struct(variable, x)
        if isinstance(x, np.ndarray) and x.ndim == 0:
            x = x[()]
        if isinstance(x, bool):
            value: Any = np.bool_(x)
        elif isinstance(x, int):
            value = np.int64(x) if -(2**63) <= x < 2**63 else np.uint64(x)
        elif isinstance(x, float):
            value = np.float64(x)
        elif isinstance(x, complex):
            value = np.complex128(x)
        elif isinstance(x, np.generic) and x.dtype.kind in "?biufc":
            value = x
        else:
            raise TypeError(f"kernel {self.source.name}: {name} is {in_words(x)}; {c_name(kind)} takes a number")
        has, wants = value.dtype, np.dtype(kind)
        both_whole = has.kind in "iub" and wants.kind in "iub"
        fits = has == wants or both_whole and (has.itemsize >= wants.itemsize)
        if not fits:
            came = f"{name} is {in_words(x)}, which CuPy passes as {has}"
            write = f"np.{wants.name}"
            raise TypeError(
                f"kernel {self.source.name}: {came}, and the kernel's parameter is {c_name(kind)}: a card would take "
                f"its bytes for another number. Write {write}({'…' if isinstance(x, np.generic) else x})."
            )
        return value.astype(wants)

    def _struct(self, variable: Any, x: Any) -> Any:
        kind = variable.type
        dtype = dtype_in_memory(kind)
        if isinstance(x, (np.ndarray, np.void)) and x.dtype.itemsize == dtype.itemsize and np.ndim(x) == 0:
            values = np.frombuffer(np.asarray(x).tobytes(), dtype)[0]
            return tuple([values[name] for name, _ in kind.fields])
        raise TypeError(
            f"kernel {self.source.name}: {variable.name} is {in_words(x)}, and {kind.name} has {dtype.itemsize} bytes: "
            "give it a NumPy array without axes, of a structured type"
        )

    def _pointer(self, variable: Any, x: Any) -> Ref:
        name, kernel = variable.name, self.source.name
        is_zero = isinstance(x, (int, np.int64, np.uint64)) and not isinstance(x, bool) and x == 0
        if x is None or is_zero:  # as 0 has an address's 8 bytes
            return NULL
        if isinstance(x, np.ndarray):
            raise TypeError(
                f"kernel {kernel}: {name} is on the host, {in_words(x)}. Move it first: cupy.asarray({name})"
            )
        if not isinstance(x, Stored):
            raise TypeError(
                f"kernel {kernel}: {name} is {in_words(x)}, and the kernel's parameter is {c_name(variable.type)}: "
                "give it an array on a GPU"
            )
        x.in_memory()
        wants = variable.type.to
        own = x.host_values.dtype
        self._check_type(variable, own, wants)
        dtype = own if wants is None else dtype_in_memory(wants)
        part = self._part(name, x, dtype)
        self.parts[name] = part
        return Ref(part, 0, part.offset)

    def _check_type(self, variable: Any, own: np.dtype, wants: Any) -> None:
        """Raises `TypeError` if a card would take the array's bytes for other numbers."""
        if wants is None or own.char in _BYTES:
            return
        dtype = dtype_in_memory(wants)
        leaf = dtype
        while leaf.fields:
            leaf = next(iter(leaf.fields.values()))[0]
        if own.kind == "V" and own.itemsize == dtype.itemsize or leaf.char in _BYTES:  # a char* is one to bytes
            return
        bare = {"c": "f", "u": "i", "b": "i"}
        is_same = bare.get(own.kind, own.kind) == bare.get(leaf.kind, leaf.kind)
        size = own.itemsize // 2 if own.kind == "c" else own.itemsize
        leaf_size = leaf.itemsize // 2 if leaf.kind == "c" else leaf.itemsize
        if not is_same or size != leaf_size:
            has = f"{variable.name} holds {own}, and the kernel's parameter is {variable.type}"
            raise TypeError(
                f"kernel {self.source.name}: {has}: a card would take its bytes for other numbers. Make it "
                f"{variable.name}.astype(np.{leaf.name}), or change the kernel."
            )

    def _part(self, name: str, x: Any, dtype: np.dtype) -> Part:
        """The memory that a pointer to this array means, as items of this type."""
        root, values, own = x.buffer.root, x.host_values, x.dtype.itemsize
        raw = root.ravel(order="K").view(np.uint8)
        begin, offset = (a.__array_interface__["data"][0] for a in (root, values))
        size = dtype.itemsize
        if (offset - begin) % size:
            raise KernelError(
                f"{name} begins between two items of {size} bytes: misaligned address", "", self.source.name
            )
        if name in self.program.changed and not values.flags.writeable:
            raise ValueError(f"kernel {self.source.name} writes into {name}, which is read-only")
        flat = raw[: raw.size // size * size].view(dtype)
        at = (offset - begin) // size
        if own == size and not any(stride % size for stride in values.strides):
            shape, strides = values.shape, tuple(stride // size for stride in values.strides)
            unwritten = pattern_of(x) if dtype == x.dtype else None
        else:  # from the first byte to the last
            high = sum(max(0, stride * (n - 1)) for stride, n in zip(values.strides, values.shape)) + own
            shape, strides, unwritten = (high // size if values.size else 0,), (1,), None
        memory = self._memory(id(root), flat.size, size, id(root) in self._written_roots)
        return Part(name, memory, flat, shape, strides, at, unwritten=unwritten)

    def _memory(self, root: int, count: int, size: int, is_written: bool) -> Memory:
        key = root, size
        if key not in self._roots:
            log = Log(count, self.blocks > 1) if is_written else None
            self._roots[key] = Memory(count, size, log)
            self.memories.append(self._roots[key])
        return self._roots[key]

    # -- what the lanes ask for ------------------------------------------------------------------

    def limits_of(self, part: Part) -> tuple[int, int]:
        """The elements that a pointer into this memory may mean."""
        found = self._limits.get(id(part))
        if found is None:
            found = self._limits[id(part)] = part, limits(part)
        return found[1]

    def global_variable(self, name: str, values: np.ndarray) -> Ref:
        """A variable outside of functions."""
        if name not in self._globals:
            memory = self._memory(id(values), values.size, values.itemsize, True)
            shape = values.shape
            strides = tuple(stride // values.itemsize for stride in values.strides)
            self._globals[name] = Part(name, memory, values.reshape(-1), shape, strides)
        return Ref(self._globals[name], 0, 0)

    def dynamic_shared(self, lanes: Lanes, key: Any, name: str, kind: Any) -> Ref:
        """``extern __shared__``: all of these have one beginning."""
        dtype = dtype_in_memory(kind)
        if DYNAMIC not in lanes.shared:
            count = self.shared_mem // dtype.itemsize
            lanes.shared[DYNAMIC] = shared_array(lanes, (DYNAMIC, "first"), name, kind, (count,), True)
        whole = lanes.shared[DYNAMIC].part
        if whole.flat.dtype == dtype:
            lanes.shared[key] = lanes.shared[DYNAMIC]
        else:
            lanes.shared[key] = Ref(self.as_type(lanes, whole, dtype)._replace(name=name), 0, 0)
        return lanes.shared[key]

    def count_shared(self, lanes: Lanes, size: int, site: CSite) -> None:
        """A block declares this many bytes of shared memory. Raises `TooMuch`."""
        lanes.shared_bytes += size
        most = max(SHARED_LIMIT, self.shared_limit)
        if lanes.shared_bytes > most:
            what = f"{lanes.shared_bytes:,} bytes of shared memory; a block has {most:,}."
            raise site.wrong(TooMuch, what)
        self.figures.shared_bytes = max(self.figures.shared_bytes, lanes.shared_bytes)

    def as_type(self, lanes: Lanes, part: Part, dtype: np.dtype) -> Part:
        """The same memory as items of this type. Of another size, it has a log of its own."""
        if part.is_shared:
            return self._shared_as_type(lanes, part, dtype)
        key = id(part), dtype
        if key not in self._views:
            raw = part.flat.view(np.uint8)
            flat = raw[: raw.size // dtype.itemsize * dtype.itemsize].view(dtype)
            if dtype.itemsize == part.flat.itemsize:
                made = part._replace(flat=flat, unwritten=None)
            else:
                low, high = self.limits_of(part)
                size, own = dtype.itemsize, part.flat.itemsize
                memory = self._memory(id(part.memory), flat.size, size, part.memory.log is not None)
                made = Part(part.name, memory, flat, ((high - low) * own // size,), (1,), -(-low * own // size))
            self._views[key] = part, made
        return self._views[key][1]

    def _shared_as_type(self, lanes: Lanes, part: Part, dtype: np.dtype) -> Part:
        base = part.memory
        key = "as", id(base), dtype
        if key in lanes.shared:
            return lanes.shared[key].part
        raw = part.flat.view(np.uint8)
        count = raw.shape[1] // dtype.itemsize
        flat = raw[:, : count * dtype.itemsize].view(dtype)
        same_size = [
            ref.part.memory for name, ref in lanes.shared.items()
            if isinstance(name, tuple) and name[:2] == key[:2] and ref.part.flat.itemsize == dtype.itemsize
        ]  # fmt: skip
        if dtype.itemsize == part.flat.itemsize:
            memory = base
        elif same_size:
            memory = same_size[0]
        else:
            memory = Memory(flat.size, dtype.itemsize, Log(flat.size, False, count))
            if part.flat.itemsize > 1:  # it may be written as one type, and read as the other
                memory.written[:] = True
                base.written[:] = True
        made = Part(part.name, memory, flat, (count,), (1,), is_shared=True, is_dynamic=part.is_dynamic)
        lanes.shared[key] = Ref(made, 0, 0)
        return made
