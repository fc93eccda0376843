"""A launch: the kernel is translated for its arguments' types, then all threads run, some blocks at a time."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dispatch import pattern_of
from ..memory import Stored
from ..words import in_words
from .errors import TooMuch
from .figures import Figures, card_of
from .lanes import MOST_BLOCKS, WARP, Lanes
from .memory import Memory, Part, Ref
from .races import Log
from .source import Source
from .tracing import Watch
from .translate import Program
from .types import ArrayType, held_as, number_as, type_of
from .values import Waiting, run_to_end

MOST_THREADS = 1024  # a block: CUDA C++ Programming Guide, technical specifications
MOST_IN_GRID = (2**31 - 1, 65_535, 65_535)
MOST_IN_BLOCK = (1024, 1024, 64)
_AT_ONCE = 1 << 16  # lanes; more wouldn't fit into a processor's cache


class Launch:
    """One launch of a kernel on a simulated device."""

    def __init__(
        self, kernel: Any, device: Any, grid: Any, block: Any, args: Sequence[Any], shared_mem: int = 0
    ) -> None:
        source: Source = kernel.source
        self.source, self.device, self.most_rounds = source, device, kernel.most_rounds
        self.grid, self.block = three(grid, "blocks", source.name), three(block, "threads", source.name)
        self.threads, self.blocks = math.prod(self.block), math.prod(self.grid)
        name = source.name
        if self.threads > MOST_THREADS:
            raise TooMuch(f"{self.threads:,} threads a block; a block has at most {MOST_THREADS:,}", kernel=name)
        for axis, most, size in zip("xyzxyz", MOST_IN_BLOCK + MOST_IN_GRID, self.block + self.grid):
            if size > most:
                raise TooMuch(f"{size:,} along {axis}, and the most is {most:,}", kernel=name)
        if self.blocks >= MOST_BLOCKS:
            raise TooMuch(f"{self.blocks:,} blocks; the simulated GPU takes up to {MOST_BLOCKS - 1:,}", kernel=name)
        # Of each block, for jit.shared_memory(dtype, None).
        self.shared_mem = _bytes_of(shared_mem, name, kernel.shared_limit)
        self.figures = Figures(source.name, self.grid, self.block, card_of(device.settings[0]))
        self.figures.shared_bytes = self.shared_mem
        self.notes: list[Callable[..., Any]] = []  # called at each access of memory
        self.watch: Watch | None = None
        self.program: Program
        self.parts: dict[str, Part]
        self.memories: list[Memory] = []
        self._args = self.take(kernel, args)
        self.cycles = self.figures.card.cycles(self.blocks == 1)

    def take(self, kernel: Any, args: Sequence[Any]) -> list[Any]:
        """Translate the kernel for these arguments. Returns what its parameters hold."""
        source = self.source
        values = [x.in_memory() if isinstance(x, Stored) else x for x in args]
        types = [ArrayType(x.dtype, x.ndim) if isinstance(x, np.ndarray) else type_of(x) for x in values]
        key = tuple([_compiled_for(kind, x) for kind, x in zip(types, values)])
        if key not in source.programs:
            source.programs[key] = Program(source, types)
        self.program = source.programs[key]
        self.program.constants.have_changed()  # it's compiled once, whatever names from outside mean by now
        self.parts = self._parts({name: x for name, x in zip(source.parameters, args) if isinstance(x, Stored)})
        return [self._held(name, x) for name, x in zip(source.parameters, args)]

    def _held(self, name: str, x: Any) -> Any:
        """What the parameter of this name holds, for the argument `x`: an array, or a number as it's held."""
        if name in self.parts:
            return Ref(self.parts[name])
        kind = type_of(x)
        return held_as(kind).type(number_as(x, kind))

    def _parts(self, arrays: dict[str, Any]) -> dict[str, Part]:
        """The memory that each array is a part of. Arrays that share memory share its log."""
        written = {id(arrays[name].buffer.root) for name in self.program.changed}
        memories: dict[int, Memory] = {}
        parts: dict[str, Part] = {}
        for name, x in arrays.items():
            root, values, size = x.buffer.root, x.host_values, x.dtype.itemsize
            raw = root.ravel(order="K").view(np.uint8)
            begin, offset = (a.__array_interface__["data"][0] for a in (root, values))
            assert raw.__array_interface__["data"][0] == begin, "a device's memory has no gaps"
            if id(root) not in memories:
                if id(root) in written:
                    log = Log(raw.size // size, self.blocks > 1)
                else:
                    log = None
                memories[id(root)] = Memory(raw.size // size, size, log)
            memory = memories[id(root)]
            if memory.itemsize != size or (offset - begin) % size or any(stride % size for stride in values.strides):
                what = f"{name} shares memory with an array whose items have another size, or lies between its items"
                raise NotImplementedError(f"kernel {self.source.name}: {what}")
            if name in self.program.changed and not values.flags.writeable:
                raise ValueError(
                    f"kernel {self.source.name} writes into {name}, which is read-only: a gradient still needs it. Let "
                    "it write into a new array, made with np.empty_like."
                )
            flat = raw[: raw.size // size * size].view(x.dtype)
            strides = tuple(stride // size for stride in values.strides)
            place = values.shape, strides, (offset - begin) // size
            parts[name] = Part(name, memory, flat, *place, unwritten=pattern_of(x))
        self.memories = list(memories.values())
        return parts

    def run(self) -> Figures:
        figures = self.figures
        at_once = max(1, _AT_ONCE // (-(-self.threads // WARP) * WARP))
        cycles: list[np.ndarray] = []
        with np.errstate(all="ignore"):
            for first in range(0, self.blocks, at_once):
                lanes = Lanes(self, first, min(at_once, self.blocks - first))
                run_to_end(self.steps(lanes))
                lanes.settle()
                cycles.append(lanes.cycles.max(1))
                for kind, times in zip(figures.busiest, lanes.touches.reshape(4, -1).max(1)):
                    figures.busiest[kind] = max(figures.busiest[kind], int(times))
                figures.barriers = max(figures.barriers, int(lanes.phase.max()))
        figures.unique_sectors = sum(int(np.count_nonzero(memory.near)) for memory in self.memories)
        figures.queue = max((int(np.max(memory.atomics, initial=0)) for memory in self.memories), default=0)
        for part in [part for name, part in self.parts.items() if name in self.program.changed]:
            seen, size = part.memory.written[part.offset :], math.prod(part.shape)
            some = int(np.count_nonzero(np.lib.stride_tricks.as_strided(seen, part.shape, part.strides)))
            if some < size:
                figures.written[part.name] = some, size
        figures.finish(self.device.settings[0], cycles)
        return figures

    def steps(self, lanes: Lanes) -> Waiting:
        """What these threads do. It yields where another warp may come first."""
        for slot, value in enumerate(self._args):
            lanes.held[slot].put(value)
        return self.program.run(lanes, lanes.top)

    def show(self, watched: Any, say: Callable[[str], Any] = print) -> None:
        """Say line by line what this (block, thread) does. Raises `ValueError` if it isn't one of this launch."""
        if watched is None:
            return
        try:
            block, thread = watched
            self.watch = Watch(_flat(block, self.grid), _flat(thread, self.block), say)
        except (TypeError, ValueError):
            raise ValueError(
                f"kernel {self.source.name}: watched is a (block, thread) of this launch, such as (0, 5) or "
                f"((1, 0), (3, 2)), or None. Got {watched!r}."
            ) from None
        self.notes.append(self.watch.note)


def _bytes_of(shared_mem: Any, name: str, most: int) -> int:
    """The bytes of shared memory that a launch asks for. Raises `TypeError`, `ValueError` and `TooMuch`."""
    if isinstance(shared_mem, bool) or not isinstance(shared_mem, (int, np.integer)):
        raise TypeError(f"kernel {name}: shared_mem is a number of bytes, got {in_words(shared_mem)}")
    if shared_mem < 0:
        raise ValueError(f"kernel {name}: shared_mem is a number of bytes, got {shared_mem}")
    if shared_mem > most:
        raise TooMuch(f"{shared_mem:,} bytes of shared memory; a block has {most:,}.", kernel=name)
    return int(shared_mem)


def _compiled_for(kind: Any, x: Any) -> tuple:
    """What an argument's type is to CuPy, which compiles a kernel once for each (`CArray` in cupyx/jit/_cuda_types.py).

    Of an array, that's also whether it lies in one piece, and whether 32 bits can count its bytes.
    """
    if isinstance(x, np.ndarray):
        return kind, x.flags.c_contiguous, x.nbytes < 2**31
    return kind, kind.char


def _flat(number: Any, dim: tuple[int, ...]) -> int:
    """The number of a block or a thread, which may be given as ``(x, y)``. Raises `ValueError` if there's none."""
    parts = number if isinstance(number, tuple) else (number,)
    if len(parts) == 1:  # it counts through all axes
        return int(np.ravel_multi_index(parts, (math.prod(dim),)))
    padded = [*parts, *[0] * (3 - len(parts))]
    return int(np.ravel_multi_index(tuple(reversed(padded)), dim[::-1]))


def three(given: Any, what: str, name: str) -> tuple[int, int, int]:
    """How many blocks or threads there are along x, y and z. Raises `TypeError` for anything else."""
    parts = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    if not 1 <= len(parts) <= 3 or not all(isinstance(n, (int, np.integer)) and n > 0 for n in parts):
        raise TypeError(f"kernel {name}: {what} are one to three numbers from 1 on, got {given!r}")
    return tuple([int(n) for n in (*parts, 1, 1)[:3]])  # type: ignore[return-value]
