"""A launch: the kernel is translated for its arguments' types, then all threads run, some blocks at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..emptied import pattern_of
from ..memory import Stored
from ..rules import one_device
from .cards import card_of
from .errors import KernelError, TooMuch
from .figures import Costs, Figures
from .lanes import MOST_BLOCKS, WARP, Lanes, unraveled
from .memory import Memory, Part, Ref
from .races import READ, WRITE, Log
from .source import Source
from .translate import Program
from .types import ArrayType, number_as, type_of
from .tracing import Watch

MOST_THREADS = 1024  # a block: CUDA C++ Programming Guide, technical specifications
MOST_IN_GRID = (2**31 - 1, 65_535, 65_535)
MOST_IN_BLOCK = (1024, 1024, 64)
_AT_ONCE = 1 << 16  # lanes; more wouldn't fit into a processor's cache


class Launch:
    """One launch of a kernel on a simulated device."""

    def __init__(
        self, source: Source, programs: dict[Any, Program], device: Any, grid: Any, block: Any, args: Sequence[Any]
    ) -> None:
        self.source, self.device = source, device
        self.grid = _three(grid, "blocks", source.name)
        self.block = _three(block, "threads", source.name)
        self.threads, self.blocks = math.prod(self.block), math.prod(self.grid)
        self._check_size()
        preset = device.settings[0]
        self.figures = Figures(source.name, self.grid, self.block, card_of(preset))
        self.most_rounds = 100_000
        self.tracer: Any = None  # notes what one warp touches: `tracing.py`
        self.watched: tuple[int, int] | None = None
        self.program = _program(source, programs, [_type(source, *given) for given in zip(source.parameters, args)])
        self._args = self._arguments(args)

    def _check_size(self) -> None:
        name = self.source.name
        if self.threads > MOST_THREADS:
            raise TooMuch(f"{self.threads:,} threads a block; a block has at most {MOST_THREADS:,}", kernel=name)
        for axis, most, size in [
            *zip("xyz", MOST_IN_BLOCK, self.block), *zip("xyz", MOST_IN_GRID, self.grid)
        ]:  # fmt: skip
            if size > most:
                raise TooMuch(f"{size:,} along {axis}, and the most is {most:,}", kernel=name)
        if self.blocks >= MOST_BLOCKS:
            raise TooMuch(f"{self.blocks:,} blocks; the simulated GPU takes up to {MOST_BLOCKS - 1:,}", kernel=name)

    # -- arguments -------------------------------------------------------------------------------

    def _arguments(self, args: Sequence[Any]) -> list[Any]:
        """What each parameter holds. Arrays in one memory share one log."""
        self.memories: list[Memory] = []
        self.parts: list[Part] = []
        arrays = {name: x for name, x in zip(self.source.parameters, args) if isinstance(x, Stored)}
        roots: dict[int, list[str]] = {}
        for name, x in arrays.items():
            roots.setdefault(id(x._buffer.root), []).append(name)
        parts: dict[str, Part] = {}
        for names in roots.values():
            parts |= self._parts({name: arrays[name] for name in names})
        self.parts = [parts[name] for name in arrays]
        given = zip(self.source.parameters, args)
        return [Ref(parts[name]) if name in parts else number_as(x, type_of(x)) for name, x in given]

    def _parts(self, arrays: dict[str, Any]) -> dict[str, Part]:
        """The arrays in one piece of memory."""
        root = next(iter(arrays.values()))._buffer.root
        raw = root.ravel(order="K").view(np.uint8)
        begin = root.__array_interface__["data"][0]
        assert raw.__array_interface__["data"][0] == begin, "a device's memory has no gaps"
        offsets = {name: x._values.__array_interface__["data"][0] - begin for name, x in arrays.items()}
        unit = math.gcd(*(x.dtype.itemsize for x in arrays.values()), *(k for k in offsets.values()))
        changed = self.program.changed & arrays.keys()
        log = Log(raw.size // unit, self.blocks > 1) if changed else None
        memory = Memory(raw.size // unit, unit, log)
        self.memories.append(memory)
        return {name: self._part(name, x, memory, raw, offsets[name]) for name, x in arrays.items()}

    def _part(self, name: str, x: Any, memory: Memory, raw: np.ndarray, offset: int) -> Part:
        size, values = x.dtype.itemsize, x._values
        if offset % size or any(stride % size for stride in values.strides):
            raise KernelError(f"{name} does not lie at a multiple of its {size} bytes", kernel=self.source.name)
        if name in self.program.changed and not values.flags.writeable:
            raise ValueError(
                f"kernel {self.source.name} writes into {name}, which is read-only: a gradient still needs it. Let it "
                "write into a new array, made with np.empty_like."
            )
        flat = raw[: raw.size // size * size].view(x.dtype)
        strides = tuple(stride // size for stride in values.strides)
        return Part(name, memory, flat, values.shape, strides, offset // size, unwritten=pattern_of(x))

    # -- running ---------------------------------------------------------------------------------

    def run(self) -> Figures:
        """All threads, and what they did."""
        self.cycles = self.figures.card.cycles(self.blocks == 1)
        for site in self.program.sites:
            site.costs = Costs()
        at_once = max(1, _AT_ONCE // (-(-self.threads // WARP) * WARP))
        cycles: list[np.ndarray] = []
        with np.errstate(all="ignore"):
            for first in range(0, self.blocks, at_once):
                lanes = Lanes(self, first, min(at_once, self.blocks - first))
                for slot, value in enumerate(self._args):
                    lanes.held[slot].put(value)
                self.program.run(lanes, lanes.top)
                lanes.settle()
                cycles.append(lanes.cycles.max(1))
                most = lanes.touches.reshape(4, -1).max(1)
                for kind, times in zip(self.figures.busiest, most):
                    self.figures.busiest[kind] = max(self.figures.busiest[kind], int(times))
        self._finish(cycles)
        return self.figures

    def _finish(self, cycles: list[np.ndarray]) -> None:
        figures = self.figures
        figures.add_lines(self.program.sites)
        figures.unique_sectors = sum(int(np.count_nonzero(memory.near)) for memory in self.memories)
        changed = [memory.atomics for memory in self.memories if memory.atomics is not None]
        figures.queue = max((int(times.max(initial=0)) for times in changed), default=0)
        for part in self.parts:
            is_written = part.name in self.program.changed
            some, size = part.among(part.memory.touched.get(WRITE if is_written else READ))
            if is_written and some < size:
                figures.written[part.name] = some, size
            elif 0 < some < size and not is_written:
                figures.read[part.name] = some, size
        figures.add_times(self.device.settings[0], cycles)

    def watch(self, watched: Any) -> None:
        """Show a thread line by line: ``(block, thread)``. Raises `ValueError` if it isn't one of this launch."""
        if watched is None:
            return
        dims = self.grid, self.block
        found = [_flat(*given) for given in zip(watched, dims)] if isinstance(watched, tuple) else []
        if len(found) != 2 or len(watched) != 2 or -1 in found:
            blocks, threads = (_first_to_last(dim) for dim in dims)
            raise ValueError(
                f"kernel {self.source.name}: watched is (block, thread), such as (0, 5) or ((1, 0), (3, 2)), or None; "
                f"this launch has blocks {blocks} and threads {threads}. Got {watched!r}."
            )
        self.watched = found[0], found[1]

    def watch_for(self, first: int, blocks: int) -> Watch | None:
        """What shows the watched thread line by line, if it's among these blocks."""
        if self.watched is None:
            return None
        block, thread = self.watched
        return Watch(block - first, thread) if first <= block < first + blocks else None


def _flat(number: Any, dim: tuple[int, ...]) -> int:
    """The number of a block or a thread, which may be given as ``(x, y)``. -1 if there's none."""
    parts = number if isinstance(number, tuple) else (number,)
    if not 1 <= len(parts) <= 3 or not all(isinstance(part, (int, np.integer)) for part in parts):
        return -1
    x, y, z = (*parts, 0, 0)[:3]
    most = (math.prod(dim), 1, 1) if len(parts) == 1 else dim  # a single number counts through all axes
    inside = 0 <= x < most[0] and 0 <= y < most[1] and 0 <= z < most[2]
    return int(x + dim[0] * (y + dim[1] * z)) if inside else -1


def _first_to_last(dim: tuple[int, ...]) -> str:
    first, last = (unraveled(number, dim) for number in (0, math.prod(dim) - 1))
    return f"{first} to {last}" if len(first) > 1 else f"{first[0]} to {last[0]}"


def _three(given: Any, what: str, name: str) -> tuple[int, int, int]:
    parts = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    if not 1 <= len(parts) <= 3 or not all(isinstance(n, (int, np.integer)) and n > 0 for n in parts):
        raise TypeError(f"kernel {name}: {what} are one to three numbers from 1 on, got {given!r}")
    return tuple([int(n) for n in (*parts, 1, 1)[:3]])  # type: ignore[return-value]


def _type(source: Source, name: str, x: Any) -> Any:
    if isinstance(x, Stored):
        values = x._values
        if values.dtype.kind not in "biufc":
            raise TypeError(f"kernel {source.name}: {name} holds {values.dtype}, which is no number")
        return ArrayType(values.dtype, values.ndim)
    return type_of(x)


def _program(source: Source, programs: dict[Any, Program], types: list[Any]) -> Program:
    key = tuple((kind, getattr(kind, "char", "")) for kind in types)
    found = programs.get(key)
    if found is None or not found.is_current():
        found = programs[key] = Program(source, types)
    return found


def device_of_all(source: Source, args: Sequence[Any], device: Any) -> Any:
    """The device that all arrays are on. Raises `TypeError` for a wrong number of arguments."""
    if len(args) != len(source.parameters):
        names = ", ".join(source.parameters)
        raise TypeError(f"kernel {source.name}({names}) takes {source.takes}, got {len(args)}")
    found: Any = None
    for x in args:
        if isinstance(x, Stored):
            found = one_device(found, x)
    return found or device
