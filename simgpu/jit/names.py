"""The names that a kernel uses, those of cupyx.jit: what each one means to you, and what all threads do there.

They mean something only inside a kernel: ``jit.grid(1)``, ``jit.threadIdx.x``, ``jit.syncthreads()``. A function below
gets the translation, the call in the text, and the arguments. It returns the value that threads compute.
"""

import ast
import functools
import inspect
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ..kernels.numbers import ATOMIC
from ..words import in_words
from . import memory
from .errors import KernelError, NeverWritten, Problem, TooMuch
from .lanes import OPERATION, SHUFFLE, WARP, Lanes, Mask
from .memory import Memory, Part, Ref
from .races import Log
from .source import Site
from .types import INT, SIZE, UINT, VOID, ArrayType, held_as
from .values import (
    Expression,
    Known,
    Name,
    Value,
    Waiting,
    accessed,
    apply,
    as_type,
    as_value,
    cast,
    computed,
    pack,
    scalar_type,
    waiting,
)

SHARED_LIMIT = 48 * 1024  # bytes a block may declare: CUDA C++ Programming Guide, technical specifications
FULL_WARP = 0xFFFFFFFF
DYNAMIC = "as large as the launch says"  # its place among a block's shared memory
_FULL, _NONE, _WARP = Known(FULL_WARP), Known(None), Known(WARP)


class Dim3(Name):
    """Three numbers, ``.x``, ``.y`` and ``.z``, each a uint32."""

    wanted = ": write .x, .y or .z after it"

    def __getattr__(self, axis: str) -> NoReturn:
        if axis in ("x", "y", "z"):
            raise RuntimeError(f"jit.{self.name}.{axis} has a value only inside a kernel")
        raise AttributeError(axis)


class Builtin(Name):
    """A function that kernels call. `build` translates the call; `range`, which only loops have, needs none."""

    wanted = ": call it, as in jit.grid(1)"

    def __init__(self, name: str, text: str, build: Callable[..., Value] | None = None) -> None:
        super().__init__(name, text)
        self.build = build

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"jit.{self.name} can be called only inside a kernel: a function under @jit.rawkernel()")


def builtin(build: Callable[..., Value]) -> Builtin:
    """A function that kernels call, with the name and the docstring of the one that translates the call."""
    return Builtin(build.__name__, inspect.cleandoc(build.__doc__ or ""), build)


def known_value(x: Expression, what: str) -> Any:
    if not isinstance(x, Known):
        raise Problem(f"{what} must be known before the launch")
    return x.obj


# -- Where a thread is ----------------------------------------------------------------------------

threadIdx = Dim3("threadIdx", "The number of this thread in its block (CUDA: ``threadIdx``), from 0.")
blockIdx = Dim3("blockIdx", "The number of this thread's block in the grid (CUDA: ``blockIdx``), from 0.")
blockDim = Dim3("blockDim", "How many threads a block has (CUDA: ``blockDim``).")
gridDim = Dim3("gridDim", "How many blocks the launch has (CUDA: ``gridDim``).")
warpsize = Name("warpsize", "How many threads a warp has: 32 (CUDA: ``warpSize``).")


@builtin
def laneid(t: Any, node: Any) -> Value:
    """The number of this thread in its warp, 0 to 31."""
    return Value(UINT, lambda lanes, mask: (np.arange(lanes.width, dtype=np.uint32) % WARP)[None])


@builtin
def grid(t: Any, node: Any, ndim: Expression) -> Value:
    """This thread's number in the whole launch: ``i = int(jit.grid(1))``, or ``column, row = jit.grid(2)``. They're
    unsigned. To subtract from them, or to mix them with other ints, take new names: ``column, row = jit.grid(2);
    i = int(row); j = int(column)``."""

    def index(lanes: Lanes, mask: Mask, axis: int) -> Any:
        mask.spend(OPERATION)
        axes = lanes.axes
        return axes["threadIdx"][axis] + axes["blockIdx"][axis] * axes["blockDim"][axis]

    return _axes(index, ndim, "grid")


@builtin
def gridsize(t: Any, node: Any, ndim: Expression) -> Value:
    """How many threads the whole launch has: ``jit.gridsize(1)``."""
    return _axes(lambda lanes, _, axis: lanes.axes["blockDim"][axis] * lanes.axes["gridDim"][axis], ndim, "gridsize")


def _axes(number: Callable[..., Any], ndim: Expression, name: str) -> Value:
    count = known_value(ndim, f"the number of axes of jit.{name}")
    if not isinstance(count, int):
        raise Problem(f"jit.{name} takes 1, 2 or 3 axes, got {in_words(count)}")
    if count not in (1, 2, 3):
        raise Problem(f"jit.{name} takes 1, 2 or 3 axes, got {count}", ValueError)
    parts = [Value(UINT, functools.partial(number, axis=axis)) for axis in (0, 1, 2)[:count]]
    if count == 1:
        return parts[0]
    return pack(parts)


range = Builtin("range", "Like Python's range, for loops; with ``unroll=4`` or ``unroll=True`` the compiler unrolls.")

# -- Together: barriers and shared memory ---------------------------------------------------------


@builtin
def syncthreads(t: Any, node: Any) -> Value:
    """Wait until all threads of the block are here (CUDA: ``__syncthreads()``). Threads that have returned don't count,
    here and on every card since Volta. One that's still running and doesn't come holds up all others."""
    site = Site(t.source, node)

    def run(lanes: Lanes, mask: Mask) -> Waiting:
        lanes.barrier(mask, site)
        if lanes.takes_turns:
            yield

    return Value(VOID, run, waits=True)


@builtin
def syncwarp(t: Any, node: Any, *, mask: Expression = _FULL) -> Value:
    """Wait until all threads of the warp are here (CUDA: ``__syncwarp()``), or those whose bits `mask` has. Each thread
    that comes must be in the mask, and give the same one as the others in it."""
    site, t.program.needs_warps = Site(t.source, node), True
    if isinstance(mask, Known):
        _check_mask(mask.obj, "jit.syncwarp")
        if mask.obj == FULL_WARP:
            return Value(VOID, lambda lanes, on: lanes.warp_barrier(on, site))
        mask = Known(np.uint32(mask.obj))
    given = _as_int32(mask, "the mask of jit.syncwarp")
    return computed(VOID, [given], lambda lanes, on, bits: lanes.part_barrier(on, bits, site))


def _check_mask(mask: Any, what: str) -> None:
    if not isinstance(mask, (int, np.integer)):
        raise Problem(f"the mask of {what} is an integer, got {in_words(mask)}")
    if not 0 <= mask <= FULL_WARP:
        raise Problem(f"the mask of {what} has 32 bits, got {mask}", ValueError)


def _as_int32(x: Expression, what: str) -> Value:
    """`x` as the int that CUDA's function takes, cut to 32 bits."""
    if scalar_type(x).kind not in "iu":
        raise Problem(f"{what} is an integer, got {scalar_type(x)}")
    return cast(as_value(x), INT, checked=False)


@builtin
def shared_memory(t: Any, node: Any, dtype: Expression, size: Expression, alignment: Expression = _NONE) -> Value:
    """Memory that a block's threads share: ``part = jit.shared_memory(np.float32, 128)``. It begins with garbage. The
    size is one number: for two axes it's ``T * T``, and element ``(row, column)`` is ``part[row * T + column]``. ``T``
    may be a global. With None, the launch says how many bytes there are: ``kernel[1, 32](x, shared_mem=128)``. All
    that ask so get the same memory. Write it before you read it, with `syncthreads` between."""
    count, kind = size.obj if isinstance(size, Known) else 0, np.dtype(known_value(dtype, "the type of shared memory"))
    known_value(alignment, "the alignment")
    if size == _NONE:
        return _as_large_as_the_launch_says(t, node, kind)
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        what = "a number in the text or a global, such as T = 32; of two axes, row * width + column is one index"
        raise Problem(f"the size of shared memory is {what}")
    name, site = t.being_assigned or "shared memory", Site(t.source, node)

    def run(lanes: Lanes, mask: Mask) -> Ref:
        if node in lanes.shared:
            return lanes.shared[node]
        held = held_as(kind)
        lanes.shared_bytes += count * held.itemsize
        if lanes.shared_bytes > SHARED_LIMIT:
            what = f"{lanes.shared_bytes:,} bytes of shared memory; a block has {SHARED_LIMIT:,}."
            raise site.wrong(TooMuch, what)
        lanes.figures.shared_bytes = max(lanes.figures.shared_bytes, lanes.shared_bytes)
        size, flat = lanes.blocks * count, np.zeros((lanes.blocks, count), held)
        made = Memory(size, held.itemsize, Log(size, False, count))
        found = lanes.shared[node] = Ref(Part(name, made, flat, (count,), (1,), is_shared=True))
        return found

    return Value(ArrayType(kind, 1, True), run)


def _as_large_as_the_launch_says(t: Any, node: Any, kind: np.dtype) -> Value:
    """``jit.shared_memory(dtype, None)``: in CUDA ``extern __shared__``, which has one beginning for all."""
    name, held = t.being_assigned or "shared memory", held_as(kind)

    def run(lanes: Lanes, mask: Mask) -> Ref:
        if node in lanes.shared:
            return lanes.shared[node]
        if DYNAMIC not in lanes.shared:
            count = lanes.launch.shared_mem // held.itemsize
            flat = np.zeros((lanes.blocks, count), held)
            made = Memory(flat.size, held.itemsize, Log(flat.size, False, count))
            lanes.shared[DYNAMIC] = Ref(Part(name, made, flat, (count,), (1,), is_shared=True, is_dynamic=True))
        part = lanes.shared[DYNAMIC].part
        if part.flat.itemsize != held.itemsize:
            what = f"shared memory of the launch as {part.flat.dtype} and as {held}, whose items have another size"
            raise NotImplementedError(f"kernel {t.source.name}: {what}")
        found = lanes.shared[node] = Ref(part._replace(name=name, flat=part.flat.view(held)))
        return found

    return Value(ArrayType(kind, 1, True), run)


# Four threads, and what the line makes of x. `__test__` below runs it.
_EXAMPLE = """

>>> from simgpu import asarray, jit
>>> @jit.rawkernel()
... def kernel(x):
...     {line}
>>> x = asarray(np.array([5, 7, 2, 1], np.uint32))
>>> kernel[1, 4](x)
>>> print(x)
{printed}
"""

# -- Atomics: how the new value comes from the old one, and the types that a card has them for --------

_BITS = "int32 uint32 uint64"


def _atomic(operation: str, how: Callable, types: str, does: str, line: str, printed: str) -> Builtin:
    name, count = f"atomic_{operation}", 2 if operation == "cas" else 1

    def build(t: Any, node: Any, array: Expression, index: Expression, /, *given: Expression) -> Value:
        element = ast.copy_location(ast.Subscript(value=node.args[0], slice=node.args[1], ctx=ast.Store()), node)
        kind, find, site = t.element(array, index, element)
        if kind.name not in types.split():
            raise Problem(f"jit.{name} doesn't take {kind}, only {types.replace(' ', ', ')}")
        if len(given) != count:
            raise Problem(f"jit.{name} takes {'two values' if count == 2 else 'one value'} after the index")
        parts, is_used = [cast(x, kind) for x in given], node is not t.unused

        def change(lanes: Lanes, mask: Mask, to: Any, *values: Any) -> Any:
            old = memory.change(lanes, mask, to, how, list(values), site, is_used)
            if is_used:
                return as_type(old, kind)
            return old

        return accessed(kind, [find, *parts], change)

    call = f"``jit.{name}(array, index, {'value, alt_value' if count == 2 else 'value'})``"
    what = f"{does}, in one step that no other thread can interrupt. It returns what was there before."
    return Builtin(name, f"{call} {what}{_EXAMPLE.format(line=f'jit.{name}{line}', printed=printed)}", build)


atomic_add = _atomic("add", np.add, f"{_BITS} float16 float32 float64", "adds `value`", "(x, 0, 4)", "[21  7  2  1]")
atomic_sub = _atomic("sub", np.subtract, "int32 uint32", "subtracts `value`", "(x, 0, 1)", "[1 7 2 1]")
atomic_exch = _atomic("exch", ATOMIC["atomicExch"], f"{_BITS} float32", "puts `value` there", "(x, 0, 4)", "[4 7 2 1]")
atomic_min = _atomic("min", np.minimum, _BITS, "keeps the smaller", "(x, 0, 4)", "[4 7 2 1]")
atomic_max = _atomic("max", np.maximum, _BITS, "keeps the larger", "(x, 0, 8)", "[8 7 2 1]")
atomic_inc = _atomic(
    "inc", ATOMIC["atomicInc"], "uint32", "counts up to `value`, then starts at 0", "(x, 0, 6)", "[2 7 2 1]",
)  # fmt: skip
atomic_dec = _atomic(
    "dec", ATOMIC["atomicDec"], "uint32", "counts down to 0, then starts at `value`", "(x, 0, 6)", "[1 7 2 1]",
)  # fmt: skip
atomic_cas = _atomic(
    "cas", ATOMIC["atomicCAS"], f"{_BITS} uint16", "puts `alt_value` there if it holds `value`", "(x, 0, 5, 9)",
    "[9 7 2 1]",
)  # fmt: skip
atomic_and = _atomic("and", np.bitwise_and, _BITS, "keeps the bits that both have", "(x, 0, 4)", "[4 7 2 1]")
atomic_or = _atomic("or", np.bitwise_or, _BITS, "sets the bits of `value`", "(x, 0, 2)", "[7 7 2 1]")
atomic_xor = _atomic("xor", np.bitwise_xor, _BITS, "flips the bits of `value`", "(x, 0, 4)", "[5 7 2 1]")

# -- Shuffles: a value of another lane of the warp ------------------------------------------------

_SHUFFLED = "int32 uint32 int64 uint64 float16 float32 float64"


# Which lane each one takes the value from, given its own number, the index, and the width.
_SOURCES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "": lambda lane, by, width: lane // width * width + by % width,
    "_up": lambda lane, by, width: np.where(lane % width >= by, lane - by, lane),
    "_down": lambda lane, by, width: np.where(lane % width + by < width, lane + by, lane),
    "_xor": lambda lane, by, width: np.where((lane ^ by) // width <= lane // width, lane ^ by, lane),
}


def _shuffle(way: str, whose: str, printed: str, unsigned: bool = False) -> Builtin:
    name = f"shfl{way}_sync"

    def build(t, node, mask, var, by, *, width=_WARP):
        kind = scalar_type(var)
        if kind.name not in _SHUFFLED.split():
            raise Problem(f"a shuffle doesn't take {kind}, only {_SHUFFLED.replace(' ', ', ')}")
        _check_mask(known_value(mask, "the mask of a shuffle"), "a shuffle")
        if isinstance(width, Known) and width.obj not in (2, 4, 8, 16, 32):
            raise Problem(f"the width of a shuffle is 2, 4, 8, 16 or 32, got {in_words(width.obj)}", ValueError)
        width_of = waiting(_as_int32(width, "the width of a shuffle"))
        if unsigned and isinstance(by, Value) and scalar_type(by).kind == "i":
            write = f"np.uint32({ast.unparse(node.args[-1])})"
            raise Problem(f"the third argument of {name} must be unsigned: {write}")
        index, site = waiting(cast(by, UINT if unsigned else INT)), Site(t.source, node)
        is_name, value = isinstance(as_value(var).node, ast.Name), waiting(as_value(var))
        t.program.needs_warps = True

        def run(lanes: Lanes, on: Mask) -> Waiting:
            on.spend(SHUFFLE)
            given = yield from index(lanes, on)
            size = np.asarray((yield from width_of(lanes, on))).astype(np.int64)
            check_width(lanes, on, size, site)
            come = givers_of(lanes, way, given, size)
            check_givers(lanes, on, come, site)
            if is_name:
                givers = lanes.mask(_given_to(on.on, come))
            else:
                givers = on
            return of_lanes(np.asarray((yield from value(lanes, givers))), come)

        return Value(kind, run, waits=True)

    if unsigned:
        more = " `index` is unsigned: write ``np.uint32(step)`` for a variable."
    else:
        more = ""
    about = (
        f"``jit.{name}(0xffffffff, value, index)``: the value of {whose}, in this warp, or in each `width` of its "
        f"lanes. The first argument is the mask of lanes that take part; 0xffffffff is all lanes.{more}"
    )
    line = f"i = jit.grid(1); x[i] = jit.{name}(0xF, x[i], 1, width=4)"
    return Builtin(name, about + _EXAMPLE.format(line=line, printed=printed), build)


def givers_of(lanes: Lanes, way: str, by: Any, width: np.ndarray) -> np.ndarray:
    """From which place in the block each lane takes its value. A card looks at five bits of `by` (PTX: shfl.sync)."""
    place = np.arange(lanes.width)
    lane = place % WARP
    return _SOURCES[way](lane[None], np.asarray(by).astype(np.int64) % WARP, width) + (place - lane)


def check_givers(lanes: Lanes, on: Mask, come: np.ndarray, site: Any) -> None:
    """Raises `NeverWritten` if a lane would take its value from one that isn't here. `come` says from which."""
    asleep = on.on & ~of_lanes(on.on, come)
    if asleep.any():
        what = "the lane that this thread takes the value from doesn't come here, so there is none."
        fix = "Put the shuffle where all threads of a warp pass."
        raise site.wrong(NeverWritten, what, fix, lanes.first_of(asleep))


def check_width(lanes: Lanes, on: Mask, width: np.ndarray, site: Any) -> None:
    """Raises `KernelError` for a width, known only now, with which CUDA's result is undefined."""
    bad = on.on & ~np.isin(width, (1, 2, 4, 8, 16, 32))
    if bad.any():
        first = np.broadcast_to(width, bad.shape)[bad][0]
        what = f"the width of a shuffle is {first}: what it gives is undefined."
        raise site.wrong(KernelError, what, "It can be 1, 2, 4, 8, 16 or 32.", lanes.first_of(bad))


def _given_to(on: np.ndarray, come: np.ndarray) -> np.ndarray:
    """The lanes from which others take a value. Only they need one."""
    on, come = np.broadcast_arrays(on, come)
    found = np.zeros(on.shape, bool)
    row, lane = on.nonzero()
    found[row, come[row, lane]] = True
    return found


def of_lanes(x: np.ndarray, lane: np.ndarray) -> np.ndarray:
    x, lane = np.broadcast_arrays(x, lane)
    return np.take_along_axis(x, lane, 1)


shfl_sync = _shuffle("", "the lane `index`", "[7 7 7 7]")
shfl_up_sync = _shuffle("_up", "the lane that's `index` below", "[5 5 7 2]", unsigned=True)
shfl_down_sync = _shuffle("_down", "the lane that's `index` above", "[7 2 1 1]", unsigned=True)
shfl_xor_sync = _shuffle("_xor", "the lane whose number differs in these bits", "[7 5 1 2]")

__all__ = [name for name, found in list(vars().items()) if isinstance(found, Name)]
# Doctest looks only at functions and classes, so here are the docstrings of these objects.
__test__ = {name: globals()[name].__doc__ for name in __all__}

# -- Python's own functions that a kernel knows ---------------------------------------------------


def _len(t: Any, node: Any, x: Expression) -> Value:
    if not isinstance(x, Value) or not isinstance(x.type, ArrayType) or x.type.is_shared or not x.type.ndim:
        raise Problem("len takes an array argument")
    return computed(SIZE, [x], lambda lanes, mask, array: np.int64(array.shape[0]))


def _extreme(name: str) -> Callable[..., Expression]:
    def build(t: Any, node: Any, *operands: Expression) -> Expression:
        if len(operands) < 2:
            raise Problem(f"{name[:3]} takes two numbers or more")
        return functools.reduce(lambda x, y: apply(name, (x, y)), operands)

    return build


PYTHONS: dict[Any, Callable] = {len: _len, min: _extreme("minimum"), max: _extreme("maximum")}
