"""Kernels in CUDA C, `RawKernel`: the second language of the engine that kernels in Python have.

`simgpu/kernels/parse.py` makes a tree of the text. Read `source.py` (a file of C, and its lines), `terms.py` (what an
expression is, and C's rules for types) and `places.py` (what can be written to: variables, memory).

Then comes what each node of the tree does with all threads. Each file has a class that builds on the one before:
`scope.py` (names), `typenames.py` (types and templates), `expressions.py`, `access.py` (elements, fields, writing to
them), `calls.py`, `declarations.py`, `statements.py`, and `translate.py` (a whole kernel). CUDA's own functions are in
`functions.py` and `atomics.py`.

`launch.py` is what a launch gives the parameters. Lanes, memory, races and figures are those of `simgpu/jit`.
"""
