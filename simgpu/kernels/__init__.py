"""Kernels in pieces of C, as `cupy.ElementwiseKernel` and `cupy.ReductionKernel`, translated to NumPy.

Read `parse.py` (the C as a tree), `numbers.py` (C's numbers), `threads.py` (what each node does with all threads), then
`elementwise.py`, `reduction.py`, and `blocks.py` (how a card shares a reduction among its threads).
"""

from typing import Any

from .elementwise import ElementwiseKernel
from .reduction import ReductionKernel
from .threads import CompileException

__all__ = ["ElementwiseKernel", "ReductionKernel", "RawKernel", "RawModule", "CompileException"]


class RawKernel:
    """A whole kernel in C, which is out of reach here: `simgpu.jit.rawkernel` takes one in Python."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        raise NotImplementedError(
            f"{type(self).__name__} runs CUDA C, for which this computer has no compiler. Write the kernel in Python, "
            "with @simgpu.jit.rawkernel() (cupyx.jit on a GPU), or as ElementwiseKernel or ReductionKernel"
        )


class RawModule(RawKernel):
    """Several kernels in C."""

    __doc__ = RawKernel.__doc__
