"""The names that a kernel uses, as cupyx.jit has them: ``jit.grid(1)``, ``jit.threadIdx.x``, ``jit.syncthreads()``.

They mean something only inside a kernel. `expressions.py` and `builtins.py` say what.
"""

from __future__ import annotations

from typing import Any, NoReturn


class Name:
    """A name that has a meaning inside a kernel only."""

    wanted = ""

    def __init__(self, name: str, text: str) -> None:
        self.name = self.__name__ = name
        self.__doc__ = text

    def __repr__(self) -> str:
        return f"jit.{self.name}"


class Dim3(Name):
    """Three numbers, ``.x``, ``.y`` and ``.z``, each a uint32."""

    wanted = ": write .x, .y or .z after it"

    def __getattr__(self, axis: str) -> NoReturn:
        if axis in ("x", "y", "z"):
            raise RuntimeError(f"jit.{self.name}.{axis} has a value only inside a kernel")
        raise AttributeError(axis)


class Builtin(Name):
    """A function of a kernel."""

    wanted = ": call it, as in jit.grid(1)"

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"jit.{self.name} can be called only inside a kernel: a function under @jit.rawkernel()")


threadIdx = Dim3("threadIdx", "The number of this thread in its block (CUDA: ``threadIdx``), from 0.")
blockIdx = Dim3("blockIdx", "The number of this thread's block in the grid (CUDA: ``blockIdx``), from 0.")
blockDim = Dim3("blockDim", "How many threads a block has (CUDA: ``blockDim``).")
gridDim = Dim3("gridDim", "How many blocks the launch has (CUDA: ``gridDim``).")
warpsize = Name("warpsize", "How many threads a warp has: 32 (CUDA: ``warpSize``).")

grid = Builtin(
    "grid",
    "This thread's number in the whole launch: ``i = int(jit.grid(1))``, or ``column, row = jit.grid(2)``. Both are "
    "unsigned. To subtract from them or to mix them with other ints, give new names: ``column, row = jit.grid(2); "
    "i = int(row); j = int(column)``.",
)
gridsize = Builtin("gridsize", "How many threads the whole launch has: ``jit.gridsize(1)``.")
syncthreads = Builtin(
    "syncthreads",
    "Wait until all threads of the block are here (CUDA: ``__syncthreads()``). Threads that have returned aren't "
    "waited for, here and on every card since Volta; one that's still running and doesn't come holds up all others.",
)
syncwarp = Builtin("syncwarp", "Wait until all threads of the warp are here (CUDA: ``__syncwarp()``).")
shared_memory = Builtin(
    "shared_memory",
    "Memory that a block's threads share: ``part = jit.shared_memory(np.float32, 128)``. Begins with garbage. The size "
    "is one number: of two axes ``T * T``, element ``(row, column)`` is ``part[row * T + column]``. A global ``T`` may "
    "be used. Write it before you read it, with `syncthreads` between.",
)
laneid = Builtin("laneid", "The number of this thread in its warp, 0 to 31.")
range = Builtin("range", "Like Python's range, for loops; with ``unroll=4`` or ``unroll=True`` the compiler unrolls.")


def _atomic(name: str, does: str) -> Builtin:
    given = "value, alt_value" if name == "cas" else "value"
    return Builtin(
        f"atomic_{name}",
        f"``jit.atomic_{name}(array, index, {given})`` {does}, in one step that no other thread gets into. "
        "It returns what was there before.",
    )


atomic_add = _atomic("add", "adds `value`")
atomic_sub = _atomic("sub", "subtracts `value`")
atomic_exch = _atomic("exch", "puts `value` there")
atomic_min = _atomic("min", "keeps the smaller")
atomic_max = _atomic("max", "keeps the larger")
atomic_inc = _atomic("inc", "counts up to `value`, then begins at 0")
atomic_dec = _atomic("dec", "counts down to 0, then begins at `value`")
atomic_cas = _atomic("cas", "puts `alt_value` there if it holds `value`")
atomic_and = _atomic("and", "keeps the bits that both have")
atomic_or = _atomic("or", "sets the bits of `value`")
atomic_xor = _atomic("xor", "flips the bits of `value`")


def _shuffle(name: str, whose: str, unsigned: bool = False) -> Builtin:
    more = " `index` is unsigned: write ``np.uint32(step)`` of a variable." if unsigned else ""
    return Builtin(
        name,
        f"``jit.{name}(0xffffffff, value, index)``: the value of {whose}, in this warp. The first argument is the mask "
        f"of lanes that take part; 0xffffffff is all lanes.{more}",
    )


shfl_sync = _shuffle("shfl_sync", "the lane `index`")
shfl_up_sync = _shuffle("shfl_up_sync", "the lane `index` below", unsigned=True)
shfl_down_sync = _shuffle("shfl_down_sync", "the lane `index` above", unsigned=True)
shfl_xor_sync = _shuffle("shfl_xor_sync", "the lane whose number differs in these bits")
