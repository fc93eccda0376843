"""Kernels in CUDA C, `RawKernel`: the second language of the engine that kernels in Python have.

`simgpu/kernels/parse.py` makes a tree of the text. Read `source.py` (a file of C, and its lines), `terms.py` (what an
expression is, and C's rules for types), `places.py` (what can be written to: variables, memory), `translate.py` (what
each statement and expression does with all threads), `functions.py` and `atomics.py` (CUDA's own functions), then
`launch.py` (what a launch gives the parameters). Lanes, memory, races and figures are those of `simgpu/jit`.
"""
