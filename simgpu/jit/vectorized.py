"""`vectorize`: a Python function of numbers becomes a kernel that computes each element, as a card's compiler has it.

It's translated like a function of the device, but by NumPy's rules for types (``mode="numpy"`` in cupyx.jit): a number
in its text is an int64 or a float64. All elements run together, each as one thread.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..device import current
from ..memory import Stored
from ..places import device_among
from ..refusals import SCALARS, refusal
from ..shapes import Formula
from .figures import Figures, card_of
from .lanes import Lanes
from .source import Site, Source
from .translate import Program
from .types import Tuple, held_as, numpys_types
from .values import run_to_end

_AT_ONCE = 1 << 16  # elements; more wouldn't fit into a processor's cache


class vectorize:  # noqa: N801  (CuPy's name)
    """A Python function of numbers, for each element (`cupy.vectorize`). It's compiled, so it's one launch.

    It takes what a kernel takes: `if`, loops, NumPy's functions of numbers. It may return several numbers in a tuple. A
    number written in it is an int64 or a float64, which decides the result's type: with ``x + 1``, int8 gives int64.
    A name from outside keeps what it meant at the first call with such types, and a warning says so.

    >>> import simgpu as cp
    >>> @cp.vectorize
    ... def clipped(x):
    ...     return x if x < 2 else 2
    >>> clipped(cp.arange(4))
    array([0, 1, 2, 2])  # Simulated:0
    """

    def __init__(
        self, pyfunc: Any, otypes: Any = None, doc: Any = None, excluded: Any = None, cache: bool = False,
        signature: Any = None,
    ) -> None:  # fmt: skip
        for name, value in (("otypes", otypes), ("excluded", excluded), ("signature", signature)):
            if value is not None:
                raise NotImplementedError(f"vectorize takes no {name} on a GPU (CuPy does not support it yet)")
        if not callable(pyfunc):
            raise TypeError(f"vectorize takes a function, got {type(pyfunc).__name__}")
        self.pyfunc, self.__doc__ = pyfunc, doc or pyfunc.__doc__
        self._programs: dict[tuple, Program] = {}

    @functools.cached_property
    def _source(self) -> Source:
        return Source(self.pyfunc)

    def __call__(self, *args: Any) -> Any:
        if wrong := [x for x in args if not isinstance(x, (Stored, *SCALARS))]:
            raise refusal(vectorize, wrong[0], current())
        device = device_among(args) or current()
        values = [x.host_values if isinstance(x, Stored) else x for x in args]
        arrays = [x for x in values if isinstance(x, np.ndarray)]
        kinds = tuple([x.dtype if hasattr(x, "dtype") else np.dtype(type(x)) for x in values])
        program = self._program(kinds)
        if not arrays:
            raise ValueError("Loop size is undecided.")
        shape = np.broadcast_shapes(*[x.shape for x in arrays])
        if isinstance(program.result, Tuple):
            types = program.result.types
        else:
            types = (program.result,)
        made = [device.compute(np.empty, shape, kind) for kind in types]
        run = Formula(self._run, None)
        device.compute(run, device, program, values, shape, kinds, made)
        moved = sum(x.nbytes for x in (*arrays, *made))
        device.launch(f"vectorize {self.pyfunc.__name__}", moved)
        results = tuple([device.new(x) for x in made])
        if isinstance(program.result, Tuple):
            return results
        return results[0]

    def _program(self, kinds: tuple[np.dtype, ...]) -> Program:
        """What it's compiled to for arguments of these types, once."""
        source = self._source
        key = tuple([kind.char for kind in kinds])
        if key not in self._programs:
            if len(kinds) != len(source.parameters):
                raise TypeError(f"vectorize: {source.name} {source.takes}, got {len(kinds)}")
            with numpys_types():
                program = Program(source, kinds, is_device=True)
            if isinstance(program.result, Tuple):
                several = program.result.types
            else:
                several = (program.result,)
            if not several or not all(isinstance(kind, np.dtype) for kind in several):
                raise TypeError(f"vectorize: Invalid return type: {source.name} returns {program.result}")
            self._programs[key] = program
        self._programs[key].constants.have_changed()
        return self._programs[key]

    def _run(
        self, device: Any, program: Program, given: list, shape: tuple, kinds: tuple, made: list[np.ndarray]
    ) -> None:
        values = [np.broadcast_to(x, shape).ravel() for x in given]
        end = Site(self._source, self._source.tree)
        flat = [x.reshape(-1) for x in made]
        for first in range(0, flat[0].size, _AT_ONCE):
            part = slice(first, min(first + _AT_ONCE, flat[0].size))
            elements = _Elements(device, program, part.stop - part.start)
            with np.errstate(all="ignore"):
                found = elements.compute([x[part] for x in values], kinds, end)
            for x, value in zip(flat, found if isinstance(found, tuple) else (found,)):
                x[part] = np.broadcast_to(value, elements.lanes.shape)[0, : part.stop - part.start]


class _Elements:
    """A launch with one thread for each element, in what `Lanes` takes for one block."""

    watch, shared_mem, most_rounds = None, 0, 10_000_000

    def __init__(self, device: Any, program: Program, count: int) -> None:
        self.program, self.threads, self.blocks = program, count, 1
        self.grid, self.block = (1, 1, 1), (count, 1, 1)
        self.figures = Figures(program.name, self.grid, self.block, card_of(device.settings[0]))
        self.cycles = self.figures.card.cycles(True)
        self.notes: list = []
        self.memories: list = []
        self.lanes = Lanes(self, 0, 1)

    def compute(self, values: list[np.ndarray], kinds: tuple[np.dtype, ...], end: Site) -> Any:
        """What the function returns, for each element."""
        lanes = self.lanes
        for slot, (value, kind) in enumerate(zip(values, kinds)):
            padded = np.zeros(lanes.shape, held_as(kind))
            padded[0, : self.threads] = value
            lanes.held[slot].put(padded)
        run_to_end(self.program.run(lanes, lanes.top))
        missing = "this element gets to the end without a return."
        return lanes.value_of(lanes.top, self.program.result_slot, end, missing)
