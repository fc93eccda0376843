"""Asking about a wrong number: the smallest launch that gives one, who wrote it, and what that thread did."""

import ast
import contextlib
import copy
import inspect
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np

from ..device import current
from ..memory import Stored
from ..words import many
from . import advice
from .errors import KernelError, Place
from .kernel import Kernel, simulated_gpu
from .lanes import WARP
from .orders import Repeatable
from .races import ATOMIC, READ

THREADS, PRIMES = 256, (2, 3, 7, 13, 47, 61, 97, 509, 1009)


@dataclass(repr=False)
class Checked:
    """What `check` found. It's true if the kernel is right, and prints as a report.

    - sizes: those that came out right.
    - figures, arrays: of the last launch, if it ended: as in ``kernel.figures``, and what its arrays hold, by name.
    - size, launch: of the smallest wrong launch. If there's none, they're None and empty, like the rest:
    - element, wanted, got, count: the first wrong element, such as ``"out[32]"``, and how many are wrong; or the error.
    - block, thread, line, text: the thread that wrote the element last, and its line; or where the error is; or None.
    - found, steps: all this in words, and what that thread did, line by line.
    """

    kernel: str
    sizes: list[int] = field(default_factory=list)
    figures: Any = None
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    size: int | None = None
    launch: str = ""
    element: str = ""
    wanted: Any = None
    got: Any = None
    count: int = 0
    error: KernelError | None = None
    block: tuple[int, ...] | None = None
    thread: tuple[int, ...] | None = None
    line: int | None = None
    text: str = ""
    found: str = ""
    steps: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return self.size is None

    def __repr__(self) -> str:
        right = f"right with n = {_in_runs(self.sizes)}"
        if self.size is None:
            return f"{self.kernel} is {right}"
        head = f"{self.kernel} is wrong: {self.launch} with n = {self.size:,}"
        if self.sizes:
            head += f"; {right}"
        head += "."
        return "\n  ".join([head, *self.found.splitlines(), *(f"  {step}" for step in self.steps)])


def _in_runs(sizes: list[int]) -> str:
    """``1 to 4, 31, 32``: numbers that follow each other as one run, if there are three or more."""
    parts = []
    for _, pairs in groupby(enumerate(sizes), lambda pair: pair[1] - pair[0]):
        run = [f"{n:,}" for _, n in pairs]
        if len(run) > 2:
            run = [f"{run[0]} to {run[-1]}"]
        parts += run
    return ", ".join(parts)


def check(
    kernel: Kernel, against: Callable[..., Any], sizes: Iterable[int] | None = None, *,
    arguments: Callable[[int], Sequence[Any]] | None = None, launch: Any = None,
    seed: int = 0, rtol: float = 1e-4, atol: float = 1e-4,
) -> Checked:  # fmt: skip
    """Compare a kernel with a function of NumPy arrays, on a simulated GPU. Explain its smallest wrong launch.

    `against` takes the kernel's inputs: by their names in the kernel, or in order. It returns what the other arrays,
    the outputs, should hold: an array, or a tuple of several. If it takes all arrays, the outputs are those that the
    kernel writes. No other array may change.

    - sizes: what `n` is. By default around warps and blocks, and primes; if one is wrong, all from 1 to it.
    - arguments: ``lambda n: (x, out, n)``, NumPy arrays and numbers. By default, inputs are n float32, or (n, n + 1)
      where the kernel uses two indices; outputs are zeros; and what's never indexed is n.
    - launch: threads a block, by default 256, for n threads in all; ``(x, y)`` of them, by default (16, 16), where an
      output has two axes, to cover all arrays that do; or ``lambda n: (blocks, threads)``, and perhaps `shared_mem`.

    A wrong kernel raises nothing. Raises `TypeError` and `ValueError` for what doesn't go together here.

    >>> from simgpu import jit
    >>> @jit.rawkernel()
    ... def doubled(x, out):
    ...     i = int(jit.grid(1))
    ...     if i < min(x.size, 31):
    ...         out[i] = x[i] * 2
    >>> jit.check(doubled, against=lambda x: x * 2)
    doubled is wrong: doubled[1, 256] with n = 32; right with n = 1 to 31.
      out[31] should be -3.0 and is 0.0; 1 of 32 elements is wrong. No thread has written it.
      Block (0), thread (31), which has its number:
        line 3: i = int(jit.grid(1))    i = 31
        line 4: if i < min(x.size, 31):    no
    """
    trial = _Trial(kernel, against, arguments, launch, seed, (rtol, atol))
    each = sorted(trial.usual_sizes() if sizes is None else set(sizes))
    if not each:
        raise ValueError("sizes has no size to try: leave it out, or write sizes=[31, 32, 33]")
    for n in each:
        if wrong := trial.wrong_launch(n):
            smaller = (trial.wrong_launch(m) for m in range(1, n) if sizes is None and m not in trial.right)
            return next(filter(None, smaller), wrong).explain()
    trial.latest.sizes = sorted(trial.right)
    return trial.latest


class _Trial:
    """Launches a kernel with n elements, and judges the result."""

    def __init__(self, kernel, against, arguments, launch, seed, tolerances):
        if not isinstance(kernel, Kernel) or kernel.device:
            raise TypeError(f"check takes a kernel, a function under @jit.rawkernel(); got {kernel!r:.60}")
        self.kernel, self.against, self.arguments, self.launch = kernel, against, arguments, launch
        self.names, self.seed, self.tolerances = kernel.source.parameters, seed, tolerances
        self.device, self.right, self.latest = simulated_gpu() or current(), set[int](), Checked(kernel.name)
        self.axes, self.written = _arrays_in(kernel.source.tree)
        given = [name for name in self.names if arguments or name in self.axes]
        try:
            parameters = inspect.signature(against).parameters.values()
            required = [p for p in parameters if p.default is p.empty and p.kind < p.VAR_POSITIONAL]
            taken = [p.name for p in required]
        except ValueError:  # a function of NumPy's that doesn't say: before NumPy 2.4, all that are written in C
            taken = [name for name in given if name not in self.written]
        if set(taken) <= set(self.names):
            self.inputs = taken
        else:
            self.inputs = given[: len(taken)]
        if len(taken) > len(self.inputs):
            takes = f"`against` takes {', '.join(taken)}, and kernel {kernel.name} {', '.join(self.names)}"
            raise ValueError(f"{takes}: give its arguments the names of the kernel's inputs")

    def usual_sizes(self) -> set[int]:
        arrays = list(self.arguments_and_answers(2)[1].values())
        threads, is_flat = self.blocks_and_threads(1000, arrays)[1], max(x.ndim for x in arrays) < 2
        each = max(threads) if isinstance(threads, tuple) else threads
        near = (WARP, each, 2 * each, *((2 * WARP, 4 * each) if is_flat else ()))
        primes = {n for n in PRIMES if is_flat or n < 50}  # two axes make many elements
        return primes | {1} | {n + k for n in near for k in (-1, 0, 1)}

    def blocks_and_threads(self, n: int, arrays: list[np.ndarray]) -> tuple[Any, ...]:
        """Blocks and threads for these arrays; the first is an output."""
        if callable(self.launch):
            return self.launch(n)
        threads = self.launch or ((16, 16) if arrays[0].ndim == 2 else THREADS)
        if isinstance(threads, tuple):
            shape = np.max([x.shape for x in arrays if x.ndim == arrays[0].ndim], axis=0)
            return tuple(max(1, -(-int(size) // each)) for size, each in zip(shape[::-1], threads)), threads
        return max(1, -(-n // threads)), threads

    def arguments_and_answers(self, n: int) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """The arguments by name, and what the arrays should hold afterwards, the outputs first."""
        if self.arguments is None:
            values = self.usual_arguments(n)
        else:
            values = self.arguments(n)
        if not isinstance(values, (tuple, list)) or len(values) != len(self.names):
            takes = f"kernel {self.kernel.name}({', '.join(self.names)}) {self.kernel.source.takes}"
            raise TypeError(f"{takes}, and arguments({n}) gives {values!r:.80}")
        args = {name: x.get() if isinstance(x, Stored) else x for name, x in zip(self.names, values)}  # type: ignore
        arrays = [name for name, x in args.items() if isinstance(x, np.ndarray)]
        outputs = [name for name in arrays if name not in self.inputs]
        outputs = outputs or [name for name in arrays if name in self.written] or arrays[-1:]
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
            found = self.against(*(copy.copy(args[name]) for name in self.inputs))
        found = list(found) if isinstance(found, tuple) else [found]
        if len(found) != len(outputs):
            has = f"kernel {self.kernel.name} has the outputs {', '.join(outputs) or '(none)'}"
            raise ValueError(f"{has}, and `against` gives {many(len(found), 'array')}")
        wanted = {}
        for name, x in zip(outputs, map(np.asarray, found)):
            if self.arguments is None and name not in self.inputs:
                args[name] = np.zeros(x.shape or 1, {"f": np.float32, "i": np.int32}.get(x.dtype.kind, x.dtype))
            if x.size != args[name].size:
                raise ValueError(f"`against` gives shape {x.shape} for {name}, which has shape {args[name].shape}")
            wanted[name] = x.reshape(args[name].shape)
        return args, wanted | {name: args[name] for name in arrays if name not in wanted}

    def usual_arguments(self, n: int) -> list[Any]:
        numbers = [name for name in self.names if name not in self.axes]
        if len(numbers) > 1:
            say = f"arguments=lambda n: ({', '.join(self.names)})"
            raise ValueError(f"kernel {self.kernel.name} takes {' and '.join(numbers)}. Which numbers are they? {say}")
        rng = np.random.default_rng(self.seed)
        shapes = [tuple(n + k for k in range(self.axes.get(name, 0))) for name in self.names]
        # Eighths, so that sums and products are exact in float32. No 0, since outputs begin with it.
        values = [rng.integers(1, 65, shape) * rng.choice([-1, 1], shape) / 8 for shape in shapes]
        return [x.astype(np.float32) if name in self.axes else n for name, x in zip(self.names, values)]

    def wrong_launch(self, n: int) -> "_Launch | None":
        """The launch of this size, if something's wrong with it."""
        try:
            launch = _Launch(self, n, *self.arguments_and_answers(n))
        except Exception as error:
            error.add_note(f"That's in check, with n = {n}.")
            raise
        if launch.is_wrong():
            return launch
        self.right.add(n)
        self.latest = launch.found
        return None


class _Launch(Repeatable):
    """A launch, and the answers that it should give."""

    def __init__(self, trial: _Trial, n: int, args: dict[str, Any], wanted: dict[str, np.ndarray]) -> None:
        blocks, threads, *shared_mem = trial.blocks_and_threads(n, list(wanted.values()))
        there = trial.device(tuple(args.values()), None)
        self.trial, self.n, self.wanted, self.found = trial, n, wanted, Checked(trial.kernel.name)
        super().__init__(trial.kernel, trial.device, blocks, threads, there, *shared_mem)
        self.text = f"{trial.kernel.name}[{blocks}, {threads}]"
        self.name = ""
        self.index: tuple[int, ...] = ()  # of the first wrong element

    def run(self, note: Any = None, watched: Place | None = None) -> Any:
        """`note` is called at each access. What the `watched` thread does becomes the steps."""
        self.put_back()
        with self.trial.kernel.lock:
            launch = self.new()
            if note:
                launch.notes.append(note)
            launch.show(watched, self.found.steps.append)
            return launch.run()

    def is_wrong(self) -> bool:
        found = self.found
        try:
            found.figures, found.arrays = self.run(), self.values()
        except KernelError as error:
            found.error = error
            return True
        for name, right in self.wanted.items():
            got = found.arrays[name]
            rtol, atol = self.trial.tolerances if right.dtype.kind in "fc" else (0, 0)
            bad = np.argwhere(~np.isclose(got, right, rtol, atol, equal_nan=True))
            if len(bad):
                self.name, self.index = name, tuple(map(int, bad[0]))
                found.element, found.count = f"{name}[{', '.join(map(str, self.index))}]", len(bad)
                found.got, found.wanted = got[self.index], right[self.index]
                if right.dtype.kind == got.dtype.kind:
                    found.wanted = found.wanted.astype(got.dtype)
                return True
        return False

    def explain(self) -> Checked:
        """What's wrong, in all detail."""
        found, which = self.found, ""
        found.sizes, found.size, found.launch = sorted(self.trial.right), self.n, self.text
        if (error := found.error) is not None:
            found.found = f"{type(error).__name__}: {error}"
            found.line, found.text, place = error.line, error.text, error.place
        else:
            size = found.arrays[self.name].size
            others = ""
            if size > 1:
                are = "is" if found.count == 1 else "are"
                others = f"; {found.count:,} of {size:,} elements {are} wrong"
            found.found = f"{found.element} should be {found.wanted} and is {found.got}{others}."
            if writers := self._writers(self.name, self.index):
                site, way, place = writers[-1]
                found.line, found.text = site.line, site.text
                how = "Written"
                if way == ATOMIC:
                    how = f"{many(len(writers), 'atomic')} changed it"
                    if len(writers) > 1:
                        how += ", the last one"
                found.found += f" {how} in line {site.line}: {site.text}"
            else:
                found.found += " No thread has written it."
                place = _with_its_number(found.figures, self.index, found.arrays[self.name].shape)
                which = ", which has its number"
        if place:
            if not which:
                found.block, found.thread = place
            with contextlib.suppress(KernelError):
                self.run(watched=place)
            found.found += f"\n{str(place).capitalize()}{which}:"
        return found

    def _writers(self, name: str, index: tuple[int, ...]) -> list[Any]:
        """Each time that a thread wrote this element: the line, the way and the thread."""
        found: list[Any] = []

        def note(lanes: Any, mask: Any, part: Any, at: Any, way: int, site: Any) -> None:
            if way != READ and part.name == name:
                here = (at == part.offset + np.dot(index, part.strides)) & mask.on
                for row, thread in np.argwhere(np.broadcast_to(here, lanes.shape)):
                    found.append((site, way, lanes.place(int(lanes.number[row]), int(thread))))

        self.run(note)
        return found


def _with_its_number(figures: Any, index: tuple[int, ...], shape: tuple[int, ...]) -> Place | None:
    """The thread with the number of this element, if the launch has one."""
    (width, height, _), (across, down, _) = figures.block, figures.grid
    has_two = height * down > 1
    if has_two and len(index) == 2:
        y, x = index
    else:
        x, y = int(np.ravel_multi_index(index, shape)), 0
    if x >= width * across or y >= height * down:
        return None
    if has_two:
        return Place((x // width, y // height), (x % width, y % height))
    return Place((x // width,), (x % width,))


def _arrays_in(tree: ast.FunctionDef) -> tuple[dict[str, int], set[str]]:
    """The names that the text uses as arrays, with the number of their axes, and those that it writes."""
    axes: dict[str, int] = {}
    written = set()
    for node in ast.walk(tree):  # x[i][j], x.size, jit.atomic_add(x, i, 1), len(x)
        owner: Any = node
        count, writes = 0, False
        if isinstance(node, ast.Call) and node.args:
            function = ast.unparse(node.func).rpartition(".")[2]
            if function.startswith("atomic_"):
                owner = ast.Subscript(value=node.args[0], slice=node.args[1], ctx=ast.Store())
            elif function == "len":
                owner = node.args[0]
        while isinstance(owner, (ast.Subscript, ast.Attribute)):
            if isinstance(owner, ast.Subscript):
                count += len(advice.indices_of(owner))
            writes = writes or isinstance(owner.ctx, ast.Store)
            owner = owner.value
        if isinstance(owner, ast.Name) and owner is not node:
            axes[owner.id] = max(count, 1, axes.get(owner.id, 1))
            if writes:
                written.add(owner.id)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    forgotten = {argument.arg for argument in tree.args.args} - used
    return dict.fromkeys(forgotten, 1) | axes, written
