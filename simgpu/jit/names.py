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


# Four threads, and what the line makes of x. `__test__` below has it run.
_EXAMPLE = """

>>> from fluxlite.cuda import jit
>>> @jit.rawkernel()
... def kernel(x):
...     {line}
>>> with fl.simulate_gpu():
...     x = fl.gpu(np.array([5, 7, 2, 1], np.uint32))
...     kernel[1, 4](x)
...     print(x)
[ Info: Simulated:0, a simulated NVIDIA T4, stands in for a GPU.
{printed}
"""


def _atomic(name: str, does: str, printed: str, values: str = "4") -> Builtin:
    given = "value, alt_value" if name == "cas" else "value"
    return Builtin(
        f"atomic_{name}",
        f"``jit.atomic_{name}(array, index, {given})`` {does}, in one step that no other thread gets into. "
        "It returns what was there before."
        + _EXAMPLE.format(line=f"jit.atomic_{name}(x, 0, {values})", printed=printed),
    )


atomic_add = _atomic("add", "adds `value`", "[21  7  2  1]")
atomic_sub = _atomic("sub", "subtracts `value`", "[1 7 2 1]", "1")
atomic_exch = _atomic("exch", "puts `value` there", "[4 7 2 1]")
atomic_min = _atomic("min", "keeps the smaller", "[4 7 2 1]")
atomic_max = _atomic("max", "keeps the larger", "[8 7 2 1]", "8")
atomic_inc = _atomic("inc", "counts up to `value`, then begins at 0", "[2 7 2 1]", "6")
atomic_dec = _atomic("dec", "counts down to 0, then begins at `value`", "[1 7 2 1]", "6")
atomic_cas = _atomic("cas", "puts `alt_value` there if it holds `value`", "[9 7 2 1]", "5, 9")
atomic_and = _atomic("and", "keeps the bits that both have", "[4 7 2 1]")
atomic_or = _atomic("or", "sets the bits of `value`", "[7 7 2 1]", "2")
atomic_xor = _atomic("xor", "flips the bits of `value`", "[5 7 2 1]")


def _shuffle(name: str, whose: str, printed: str, unsigned: bool = False) -> Builtin:
    line = f"i = jit.grid(1); x[i] = jit.{name}(0xF, x[i], 1, width=4)"
    more = " `index` is unsigned: write ``np.uint32(step)`` of a variable." if unsigned else ""
    about = (
        f"``jit.{name}(0xffffffff, value, index)``: the value of {whose}, in this warp, or in each `width` of its "
        f"lanes. The first argument is the mask of lanes that take part; 0xffffffff is all lanes.{more}"
    )
    return Builtin(name, about + _EXAMPLE.format(line=line, printed=printed))


shfl_sync = _shuffle("shfl_sync", "the lane `index`", "[7 7 7 7]")
shfl_up_sync = _shuffle("shfl_up_sync", "the lane `index` below", "[5 5 7 2]", unsigned=True)
shfl_down_sync = _shuffle("shfl_down_sync", "the lane `index` above", "[7 2 1 1]", unsigned=True)
shfl_xor_sync = _shuffle("shfl_xor_sync", "the lane whose number differs in these bits", "[7 5 1 2]")

# The examples in these objects' texts, for doctest, which looks at functions and classes only.
__test__ = {name: x.__doc__ for name, x in list(vars().items()) if isinstance(x, Name) and ">>>" in (x.__doc__ or "")}
