"""What the names of cupyx.jit do in a kernel: indices, barriers, shared memory, atomics, shuffles."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from . import accesses
from .errors import NeverWritten, TooMuch
from .lanes import OPERATION, SHUFFLE, WARP, Lanes, Mask
from .memory import Memory, Part, Ref, reach
from .races import Log
from .types import INT, SIZE, UINT, VOID, ArrayType, Pointer, Tuple
from .values import Expression, Known, Problem, Value, as_value, called, cast, scalar_type

SHARED_LIMIT = 48 * 1024  # bytes a block may declare: CUDA C++ Programming Guide, technical specifications
FULL_WARP = 0xFFFFFFFF
_FULL, _NONE, _WARP = Known(FULL_WARP), Known(None), Known(WARP)


def known(x: Expression, what: str) -> Any:
    if not isinstance(x, Known):
        raise Problem(f"{what} must be known before the launch")
    return x.obj


def axis_of(name: str, axis: int) -> Value:
    """``jit.threadIdx.x`` and its like."""
    return Value(UINT, lambda lanes, mask: lanes.axes[name][axis])


def grid(t: Any, node: Any, ndim: Expression) -> Value:
    def one(axis: int) -> Value:
        def run(lanes: Lanes, mask: Mask) -> Any:
            mask.spend(OPERATION)
            axes = lanes.axes
            return axes["threadIdx"][axis] + axes["blockIdx"][axis] * axes["blockDim"][axis]

        return Value(UINT, run)

    return _axes(one, ndim, "grid")


def gridsize(t: Any, node: Any, ndim: Expression) -> Value:
    def one(axis: int) -> Value:
        return Value(UINT, lambda lanes, mask: lanes.axes["blockDim"][axis] * lanes.axes["gridDim"][axis])

    return _axes(one, ndim, "gridsize")


def _axes(one: Callable[[int], Value], ndim: Expression, name: str) -> Value:
    count = known(ndim, f"the number of axes of jit.{name}")
    if count not in (1, 2, 3):
        raise Problem(f"jit.{name} takes 1, 2 or 3 axes")
    if count == 1:
        return one(0)
    parts = [one(axis) for axis in range(count)]
    return Value(Tuple((UINT,) * count), lambda lanes, mask: tuple([part.run(lanes, mask) for part in parts]))


def length(t: Any, node: Any, x: Expression) -> Value:
    if not isinstance(x, Value) or not isinstance(x.type, ArrayType) or not x.type.ndim:
        raise Problem("len takes an array argument")
    run = x.run
    return Value(SIZE, lambda lanes, mask: np.int64(run(lanes, mask).shape[0]))


def extreme(name: str) -> Callable:
    def run(t: Any, node: Any, *operands: Expression) -> Value:
        if len(operands) < 2:
            raise Problem(f"{name[:3]} takes two numbers or more")
        result: Expression = operands[0]
        for other in operands[1:]:
            result = called(name, (result, other))
        return result  # type: ignore[return-value]

    return run


def syncthreads(t: Any, node: Any) -> Value:
    def run(lanes: Lanes, mask: Mask) -> None:
        lanes.barrier(mask, node, t.source)

    return Value(VOID, run)


def syncwarp(t: Any, node: Any, *, mask: Expression = _FULL) -> Value:
    if known(mask, "the mask of jit.syncwarp") != FULL_WARP:
        raise Problem("the simulated GPU knows jit.syncwarp() for a whole warp only")

    def run(lanes: Lanes, on: Mask) -> None:
        lanes.warp_barrier(on, node, t.source)

    return Value(VOID, run)


def laneid(t: Any, node: Any) -> Value:
    return Value(UINT, lambda lanes, mask: (np.arange(lanes.width, dtype=np.uint32) % WARP)[None])


def shared_memory(t: Any, node: Any, dtype: Expression, size: Expression, alignment: Expression = _NONE) -> Value:
    if not isinstance(size, Known):
        raise Problem("the size of shared memory must be a number in the text or a global, such as T = 32")
    count, kind = size.obj, np.dtype(known(dtype, "the type of shared memory"))
    known(alignment, "the alignment")
    if count is None:
        raise Problem("the simulated GPU knows shared memory of a fixed size only: jit.shared_memory(np.float32, 128)")
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise Problem(f"the size of shared memory is one number, got {count!r}; of two axes, row * width + column")
    name, source = t.being_assigned or "shared memory", t.source

    def run(lanes: Lanes, mask: Mask) -> Ref:
        if node not in lanes.shared_parts:
            lanes.shared_bytes += count * kind.itemsize
            if lanes.shared_bytes > SHARED_LIMIT:
                raise source.wrong(
                    TooMuch, node, f"{lanes.shared_bytes:,} bytes of shared memory; a block has {SHARED_LIMIT:,}."
                )
            log = Log(lanes.blocks * count, False, count)
            memory = Memory(lanes.blocks * count, kind.itemsize, log)
            values, written = np.zeros((lanes.blocks, count), kind), np.zeros((lanes.blocks, count), bool)
            lanes.shared[node] = memory
            lanes.shared_parts[node] = Ref(Part(name, memory, values, (count,), (1,), written=written))
            lanes.figures.shared_bytes = max(lanes.figures.shared_bytes, lanes.shared_bytes)
        return lanes.shared_parts[node]

    return Value(Pointer(kind), run)


# ---------------------------------------------------------------------------------------------
# Atomics: how the new value comes from the old one, and the types that a card can do it with
# ---------------------------------------------------------------------------------------------

_BITS = "int32 uint32 uint64"
_ATOMICS: dict[str, tuple[Any, str]] = {
    "add": (np.add, f"{_BITS} float16 float32 float64"),
    "sub": (np.subtract, "int32 uint32"),
    "exch": (lambda old, value: value, f"{_BITS} float32"),
    "min": (np.minimum, _BITS),
    "max": (np.maximum, _BITS),
    "inc": (lambda old, value: np.where(old >= value, 0, old + 1).astype(old.dtype), "uint32"),
    "dec": (lambda old, value: np.where((old == 0) | (old > value), value, old - 1).astype(old.dtype), "uint32"),
    "cas": (lambda old, value, new: np.where(old == value, new, old), f"{_BITS} uint16"),
    "and": (np.bitwise_and, _BITS),
    "or": (np.bitwise_or, _BITS),
    "xor": (np.bitwise_xor, _BITS),
}


def atomic(name: str) -> Callable:
    how, types = _ATOMICS[name]

    def build(t: Any, node: Any, array: Expression, index: Expression, *given: Expression) -> Value:
        if not isinstance(array, Value) or not isinstance(array.type, (ArrayType, Pointer)):
            raise Problem(f"jit.atomic_{name} takes an array, an index and a value")
        indices = t.indices(array, index, node)
        if len(indices) != array.type.ndim:
            raise Problem(f"{ast.unparse(node.args[0])} has {array.type.ndim} axes: give as many indices, as in (i, j)")
        kind = array.type.dtype
        if kind.name not in types.split():
            raise Problem(f"jit.atomic_{name} doesn't take {kind}, only {types.replace(' ', ', ')}")
        if len(given) != (2 if name == "cas" else 1):
            raise Problem(f"jit.atomic_{name} takes {'two values' if name == 'cas' else 'one value'} after the index")
        t.program.changed |= array.origin
        values = [cast(x, kind).run for x in given]
        site, is_used = t.site(node), node is not t.unused

        def run(lanes: Lanes, mask: Mask) -> Any:
            ref = array.run(lanes, mask)
            to = reach(lanes, mask, ref, [i.run(lanes, mask) for i in indices], site)
            return accesses.change(lanes, mask, ref, to, how, [v(lanes, mask) for v in values], site, is_used)

        return Value(kind, run)

    return build


# ---------------------------------------------------------------------------------------------
# Shuffles: a value of another lane of the warp
# ---------------------------------------------------------------------------------------------

_SHUFFLED = "int32 uint32 int64 uint64 float16 float32 float64"
_SOURCE: dict[str, Callable] = {
    "": lambda lane, by, width: lane // width * width + by % width,
    "up": lambda lane, by, width: np.where(lane % width >= by, lane - by, lane),
    "down": lambda lane, by, width: np.where(lane % width + by < width, lane + by, lane),
    "xor": lambda lane, by, width: np.where((lane ^ by) // width <= lane // width, lane ^ by, lane),
}


def shuffle(way: str) -> Callable:
    def build(
        t: Any, node: Any, mask: Expression, var: Expression, by: Expression,
        *, width: Expression = _WARP,
    ) -> Value:  # fmt: skip
        kind = scalar_type(var)
        if kind.name not in _SHUFFLED.split():
            raise Problem(f"a shuffle doesn't take {kind}, only {_SHUFFLED.replace(' ', ', ')}")
        if not 0 <= known(mask, "the mask of a shuffle") <= FULL_WARP:
            raise Problem("the mask of a shuffle has 32 bits")
        size = known(width, "the width of a shuffle")
        if size not in (2, 4, 8, 16, 32):
            raise Problem("the width of a shuffle is 2, 4, 8, 16 or 32")
        unsigned = way in ("up", "down")
        if unsigned and isinstance(by, Value) and scalar_type(by).kind == "i":
            write = f"np.uint32({ast.unparse(node.args[-1])})"
            raise Problem(f"the third argument of shfl_{way}_sync must be unsigned: {write}")
        value, index = as_value(var), cast(by, UINT if unsigned else INT)
        source = t.source

        def run(lanes: Lanes, on: Mask) -> Any:
            on.spend(SHUFFLE)
            lane = np.arange(lanes.width) % WARP
            given = np.asarray(index.run(lanes, on)).astype(np.int64)
            come = _SOURCE[way](lane[None], given, size) + (np.arange(lanes.width) - lane)
            asleep = on.on & ~_of_lanes(on.on, come)
            if asleep.any():
                raise source.wrong(
                    NeverWritten, node,
                    "the lane that this thread takes the value from doesn't come here, so there is none.",
                    "Put the shuffle where all threads of a warp pass.", lanes.first_of(asleep),
                )  # fmt: skip
            return _of_lanes(np.asarray(value.run(lanes, on)), come)

        return Value(kind, run)

    return build


def _of_lanes(x: np.ndarray, lane: np.ndarray) -> np.ndarray:
    """What these lanes have of `x`."""
    x, lane = np.broadcast_arrays(x, lane)
    return np.take_along_axis(x, lane, 1)


CALLS: dict[Any, Callable] = {
    "grid": grid, "gridsize": gridsize, "syncthreads": syncthreads, "syncwarp": syncwarp, "laneid": laneid,
    "shared_memory": shared_memory, **{f"atomic_{name}": atomic(name) for name in _ATOMICS},
    "shfl_sync": shuffle(""), **{f"shfl_{way}_sync": shuffle(way) for way in ("up", "down", "xor")},
}  # fmt: skip
PYTHONS: dict[Any, Callable] = {len: length, min: extreme("minimum"), max: extreme("maximum")}
