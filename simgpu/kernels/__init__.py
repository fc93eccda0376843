"""Kernels in pieces of C, as `cupy.ElementwiseKernel` and `cupy.ReductionKernel`, translated to NumPy.

Read `preprocess.py` (the C's tokens), `parse.py` (the C as a tree), `numbers.py` (C's numbers), `places.py` (what's
read and written), `threads.py` (what each node does with all threads), then `elementwise.py`, `reduction.py`, and
`blocks.py` (how a card shares a reduction among its threads). Whole kernels are in `simgpu/raw.py`.
"""

from .elementwise import ElementwiseKernel
from .preprocess import CompileException
from .reduction import ReductionKernel

__all__ = ["ElementwiseKernel", "ReductionKernel", "CompileException"]
