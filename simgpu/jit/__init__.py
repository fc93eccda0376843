"""Kernels written by hand, on the simulated GPU: all threads go through the function together, line by line.

Read `types.py` and `values.py` (C's numbers), `source.py` (a kernel's text), `translate.py` (what each line does with
all threads), `names.py` (what each of cupyx.jit's names does), `lanes.py` (the threads), `memory.py`, `accesses.py` and
`races.py` (who touched what), then `launch.py`. What it costs is in `figures.py` and `cards.py`, what an error says in
`errors.py`, `advice.py` and `endless.py`, and what a watched thread shows in `watching.py`.
"""
