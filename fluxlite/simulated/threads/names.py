"""The names that a kernel uses, as cupyx.jit has them: ``jit.grid(1)``, ``jit.threadIdx.x``, ``jit.syncthreads()``.

They mean something only inside a kernel. `expressions.py` and `builtins.py` say what.
"""

from __future__ import annotations

from typing import Any, NoReturn


class Name:
    """A name that has a meaning inside a kernel only."""

    def __init__(self, name: str, text: str) -> None:
        self.name = self.__name__ = name
        self.__doc__ = text

    def __repr__(self) -> str:
        return f"jit.{self.name}"


class Dim3(Name):
    """Three numbers, ``.x``, ``.y`` and ``.z``, each a uint32."""

    def __getattr__(self, axis: str) -> NoReturn:
        if axis in ("x", "y", "z"):
            raise RuntimeError(f"jit.{self.name}.{axis} has a value only inside a kernel")
        raise AttributeError(axis)


class Builtin(Name):
    """A function of a kernel."""

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"jit.{self.name} can be called only inside a kernel: a function under @jit.rawkernel()")


threadIdx = Dim3("threadIdx", "The number of this thread in its block (CUDA: ``threadIdx``), from 0.")
blockIdx = Dim3("blockIdx", "The number of this thread's block in the grid (CUDA: ``blockIdx``), from 0.")
blockDim = Dim3("blockDim", "How many threads a block has (CUDA: ``blockDim``).")
gridDim = Dim3("gridDim", "How many blocks the launch has (CUDA: ``gridDim``).")
warpsize = Name("warpsize", "How many threads a warp has: 32 (CUDA: ``warpSize``).")

grid = Builtin(
    "grid", "This thread's number in the whole launch: ``i = jit.grid(1)``, or ``column, row = jit.grid(2)``."
)
gridsize = Builtin("gridsize", "How many threads the whole launch has: ``jit.gridsize(1)``.")
syncthreads = Builtin("syncthreads", "Wait until all threads of the block are here (CUDA: ``__syncthreads()``).")
syncwarp = Builtin("syncwarp", "Wait until all threads of the warp are here (CUDA: ``__syncwarp()``).")
shared_memory = Builtin(
    "shared_memory",
    "Memory that a block's threads share: ``part = jit.shared_memory(np.float32, 128)``. Begins with garbage.",
)
laneid = Builtin("laneid", "The number of this thread in its warp, 0 to 31.")
range = Builtin("range", "Like Python's range, for loops; with ``unroll=4`` or ``unroll=True`` the compiler unrolls.")

ATOMICS = ["add", "sub", "exch", "min", "max", "inc", "dec", "cas", "and", "or", "xor"]
_DOES = {
    "add": "adds `value`", "sub": "subtracts `value`", "exch": "puts `value` there",
    "min": "keeps the smaller", "max": "keeps the larger", "inc": "counts up to `value`, then begins at 0",
    "dec": "counts down to 0, then begins at `value`", "cas": "puts `alt_value` there if it holds `value`",
    "and": "keeps the bits of both", "or": "adds the bits", "xor": "flips the bits",
}  # fmt: skip
for _name in ATOMICS:
    globals()[f"atomic_{_name}"] = Builtin(
        f"atomic_{_name}",
        f"``jit.atomic_{_name}(array, index, value)`` {_DOES[_name]}, in one step that no other thread gets into. "
        "It returns what was there before.",
    )  # fmt: skip
_SHUFFLES = {"": "the lane `index`", "up": "the lane `index` below", "down": "the lane `index` above",
             "xor": "the lane whose number differs in these bits"}  # fmt: skip
for _name, _text in _SHUFFLES.items():
    _full = f"shfl_{_name}_sync" if _name else "shfl_sync"
    globals()[_full] = Builtin(_full, f"``jit.{_full}(mask, value, index)``: the value of {_text}, in this warp.")

PUBLIC = [
    "threadIdx", "blockIdx", "blockDim", "gridDim", "warpsize", "grid", "gridsize", "syncthreads", "syncwarp",
    "shared_memory", "laneid", "range", *(f"atomic_{name}" for name in ATOMICS),
    "shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync",
]  # fmt: skip
