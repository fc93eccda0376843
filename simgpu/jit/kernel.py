"""A kernel: a function that many threads run at the same time."""

from __future__ import annotations

import contextlib
import copy
import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..memory import Stored
from ..places import device_in_use, one_device
from ..shapes import Formula
from ..words import WRITE
from . import compiled, launch, orders
from .errors import KernelError, Problem, without_our_lines
from .figures import Figures
from .names import SHARED_LIMIT
from .source import Source
from .tracing import Explained, Trace
from .translate import call_of
from .types import is_number


class Simulated:
    """What kernels in Python and in C have in common: a launch on a simulated GPU, and its figures."""

    new_launch: Any = launch.Launch
    shared_limit = SHARED_LIMIT  # bytes of a block that a launch may ask for
    watched: tuple[Any, Any] | None = None
    _seed: int | None = None  # of the order of the warps

    def __init__(self, name: str) -> None:
        self.name = name
        self._figures: Figures | str = f"no launch has finished yet. First launch it, {self.name}[blocks, threads](…)"
        self.most_rounds = 100_000
        self.lock = threading.Lock()

    @property
    def figures(self) -> Figures:
        """What the latest launch on a simulated GPU did. Raises `RuntimeError` if none has ended."""
        if isinstance(self._figures, str):
            raise RuntimeError(f"kernel {self.name}: {self._figures}")
        return self._figures

    def device_of(self, args: Sequence[Any]) -> Any:
        raise NotImplementedError

    def simulate(
        self, grid: Any, block: Any, args: Sequence[Any], shared_mem: int = 0,
        traced: Callable[[Any], Any] | None = None,
    ) -> Any:  # fmt: skip
        """Launch it, and note its figures. What `traced` makes of the launch is returned."""
        device = self.device_of(args)
        try:
            with self.lock:
                in_step = self.new_launch(self, device, grid, block, args, shared_mem)
                in_step.show(self.watched)
                trace = traced(in_step) if traced else None
                if trace is not None:
                    in_step.notes.append(trace.note)
                device.begin()
                if device.lanes.is_capturing:
                    self._figures = self._captured(in_step, device, grid, block, args, shared_mem)
                elif self._seed is None or traced:
                    self._figures = in_step.run()
                else:
                    again = orders.Repeatable(self, device, grid, block, args, shared_mem)
                    self._figures = orders.run_shuffled(in_step, again, self._seed)
        except KernelError as error:
            self._figures = f"the latest launch raised {type(error).__name__}, so there are no figures of it."
            raise error from None
        device.launch(self.name, 0, lasting=round(self.figures.seconds * 1e9), figures=self.figures)
        return trace

    def _captured(self, in_step: Any, device: Any, grid: Any, block: Any, args: Sequence[Any], shared_mem: int) -> Any:
        """For a graph: what one launch does, in figures. It runs when the graph is launched."""
        memory = [x.buffer.root for x in args if isinstance(x, Stored)]
        before = [values.copy() for values in memory]
        try:
            figures = in_step.run()
        finally:
            for values, earlier in zip(memory, before):
                values[...] = earlier

        def run() -> None:
            self.new_launch(self, device, grid, block, args, shared_mem).run()

        device.instead(Formula(run, None))
        return figures


class Kernel(Simulated):
    """A function that runs on a GPU, once for each thread: ``kernel[blocks, threads](x, out)``.

    `blocks` and `threads` are numbers, or tuples of up to three: ``kernel[(4, 4), (16, 16)](…)``. The same launch is
    ``kernel((4, 4), (16, 16), (x, out))``, as in cupyx.jit. It returns nothing; it writes into its arrays. After these,
    `shared_mem` says how many bytes ``jit.shared_memory(dtype, None)`` has, and `stream` where the launch queues up.

    `figures` says what the latest launch on a simulated GPU did (``help(kernel.figures)`` says what each row means).
    ``kernel.watched = (0, 5)`` prints what thread 5 of block 0 does in each launch, line by line, and with which
    numbers, a line up to eight times; ``((1, 0), (3, 2))`` names them by axes, and None ends it. `most_rounds`, 100,000
    unless you set it, limits the rounds of a loop; if nothing changes, it ends sooner. `explained` shows what each line
    cost, `trace` what one warp touches, `shuffled` what a data race does, and ``kernel.cuda_c(x, out)`` the
    CUDA C, where CuPy is installed.

    It's compiled at its first launch, once for each combination of argument types. What a name from outside means then
    is compiled in: a global, a closure's variable, another function. If it changes, a warning says so, and the kernel
    goes on as it was, as on every card. Run the cell that defines it again to compile it again.
    """

    # What a library above this one refuses: called with the kernel's name, an argument's, and the argument.
    checks: list[Callable[[str, str, Any], None]] = []

    def __init__(self, function: Callable, device: bool = False) -> None:
        functools.update_wrapper(self, function)
        super().__init__(function.__name__)
        self.function, self.device = function, device
        self.cupys_kernels: dict[tuple, Any] = {}  # what CuPy has compiled on a real GPU, by the types of the arguments

    @functools.cached_property
    def source(self) -> Source:
        return Source(self.function)

    def __repr__(self) -> str:
        return f"<{'function of the device' if self.device else 'kernel'} {self.name}>"

    def __getitem__(self, blocks_threads: tuple[Any, Any]) -> Callable[..., None]:
        if not isinstance(blocks_threads, tuple) or len(blocks_threads) != 2:
            raise TypeError(f"write {self.name}[blocks, threads](…): how many blocks, and how many threads in each")
        blocks, threads = blocks_threads

        def launch(*args: Any, shared_mem: int = 0, stream: Any = None) -> None:
            self(blocks, threads, args, shared_mem=shared_mem, stream=stream)

        return without_our_lines(launch)

    @without_our_lines
    def __call__(self, *call: Any, shared_mem: int = 0, stream: Any = None, **keywords: Any) -> None:
        if self.device:
            raise TypeError(f"{self.name} is a function of the device: only a kernel can call it")
        if len(call) != 3 or keywords or not isinstance(call[2], (tuple, list)):
            raise TypeError(f"launch it as {self.name}[blocks, threads](…) or {self.name}(blocks, threads, (…))")
        grid, block, args = call
        if not any(_is_cupys(x) for x in args):
            if stream is None:
                self.simulate(grid, block, args, shared_mem)
                return
            with stream:
                self.simulate(grid, block, args, shared_mem)
            return
        if self._seed is not None:
            raise TypeError(f"kernel {self.name}: only a simulated GPU can shuffle its warps")
        self._check_arguments(args, "on an NVIDIA GPU")
        grid, block = launch.three(grid, "blocks", self.name), launch.three(block, "threads", self.name)
        compiled.launch(self, grid, block, args, shared_mem, stream)

    def device_of(self, args: Sequence[Any]) -> Any:
        """The device that all arrays are on, or the current one."""
        device = functools.reduce(one_device, (x for x in args if isinstance(x, Stored)), None)
        anywhere = f"on an NVIDIA GPU, or on a simulated one after {WRITE['for a GPU']}"
        self._check_arguments(args, f"on {device}" if device else anywhere)
        if device := device or simulated_gpu():
            return device
        raise TypeError(f"kernel {self.name}: give it an array on a GPU, so that it's clear where it runs")

    def _check_arguments(self, args: Sequence[Any], where: str) -> None:
        parameters = self.source.parameters
        if len(args) != len(parameters):
            raise TypeError(f"kernel {self.name}({', '.join(parameters)}) {self.source.takes}, got {len(args)}")
        for name, x in zip(parameters, args):
            for check in self.checks:
                check(self.name, name, x)
            wrong = ""
            if isinstance(x, Stored) or _is_cupys(x):
                if x.dtype.kind not in "biufc":
                    wrong = f"{name} holds {x.dtype}, which isn't a type of numbers"
            elif isinstance(x, np.ndarray):
                wrong = (
                    f"{name} is on the host, an array of shape {x.shape}. A kernel runs {where}. "
                    f"Move it there first: {name} = {WRITE['to the GPU']}({name})."
                )
            elif not is_number(x):
                wrong = f"{name} is {type(x).__name__}; it takes numbers, and arrays on a GPU"
            if wrong:
                raise TypeError(f"kernel {self.name}: {wrong}")

    def explained(self) -> Any:
        """The text, with what each line cost in the latest launch. Raises `RuntimeError` if none has ended."""
        return Explained(self.source, self.figures)

    @without_our_lines
    def trace(
        self, blocks: Any = 1, threads: Any = 32, args: Any = None, block: int = 0, warp: int = 0, shared_mem: int = 0
    ) -> Any:
        """``kernel.trace(blocks, threads, (x, out))`` launches it on a simulated GPU, and lists what one warp touched.

        `block` and `warp` name another warp. Raises `ValueError` if there's no such warp.

        >>> from simgpu import asarray, jit
        >>> @jit.rawkernel()
        ... def column(x, out):
        ...     i = jit.grid(1)
        ...     out[i] = x[i, 0]
        >>> x = asarray(np.ones((32, 32), np.float32))
        >>> column.trace(1, 32, (x, np.zeros_like(x[0])))
        Line 4, out[i] = x[i, 0]: 32 lanes read x, in 32 sectors, 12% of their bytes used.
        Line 4, out[i] = x[i, 0]: 32 lanes write out, in 4 sectors, 100% of their bytes used.
        """
        if not isinstance(args, (tuple, list)):
            write = f"{self.name}.trace(1, 32, ({', '.join(self.source.parameters)},))"
            raise TypeError(f"a trace has its arguments in parentheses: write {write}")
        return self.simulate(blocks, threads, args, shared_mem, lambda launch: Trace(launch, block, warp))

    def shuffled(self, seed: int) -> Kernel:
        """The same kernel, with its warps in an order that `seed` draws: ``kernel.shuffled(3)[blocks, threads](x)``.

        Between two barriers, warps run one by one, not in step, and so do blocks. That shows what a data race does: its
        `DataRace` ends with two outcomes, if this order gives something else than the warps in order. The arrays are
        then as before. Without a race, all seeds give the same, except that atomics come in another order too, so the
        last digits of sums of floats may differ. Raises `TypeError` on a real GPU.
        """
        other = copy.copy(self)
        other.source = self.source  # so both are what was compiled first
        other._seed = seed
        return other

    def cuda_c(self, *args: Any) -> str:
        """The CUDA C for such arguments, without a GPU. Raises `ImportError` without CuPy, `Refused` as CuPy does."""
        try:
            import cupy  # noqa: F401
        except ImportError as error:
            raise ImportError("CuPy makes CUDA C of it, also without a GPU: pip install cupy-cuda12x") from error
        return compiled.transpile(self, args).code

    def as_part_of(self, translation: Any, args: list[Any]) -> Any:
        """Its call inside another kernel, for `translate.py`."""
        if not self.device:
            raise Problem(f"{self.name} is a kernel: only what's under @jit.rawkernel(device=True) can be called here")
        return call_of(self.source, translation, args)


def simulated_gpu() -> Any:
    """The simulated GPU in use, or None."""
    with contextlib.suppress(RuntimeError):  # no GPU is in use
        if getattr(device := device_in_use(), "kind_of_time", "") == "simulated":
            return device
    return None


def _is_cupys(x: Any) -> bool:
    return type(x).__module__.partition(".")[0] == "cupy"


def rawkernel(*given: Any, mode: str = "cuda", device: bool = False) -> Callable[[Callable], Kernel]:
    """Make a kernel of the function below: ``@jit.rawkernel()`` (CUDA.jl: a function for ``@cuda``).

    With ``device=True`` it's a function that kernels can call, and that may return a value. Raises `ValueError` for a
    `mode` other than ``"cuda"``, which means C's rules for types.

    >>> from simgpu import jit
    >>> @jit.rawkernel(device=True)
    ... def square(x):
    ...     return x * x
    >>> @jit.rawkernel()
    ... def squares(x, out):
    ...     i = jit.grid(1)
    ...     out[i] = square(x[i])
    >>> squares
    <kernel squares>
    """
    if given:
        raise TypeError("write @jit.rawkernel(), with parentheses")
    if mode != "cuda":
        raise ValueError(f'there is mode="cuda" alone, got {mode!r}')
    return lambda function: Kernel(function, device)
