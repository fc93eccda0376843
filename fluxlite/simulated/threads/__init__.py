"""Kernels written by hand, on the simulated GPU: all threads go through the function together, line by line.

Read `types.py` (C's numbers), `source.py` (a kernel's text), `expressions.py` and `statements.py` (what each line does
with all threads), `memory.py` and `races.py` (who touched what), then `launch.py`.
"""
