"""Several elementwise calls as one launch: `fuse`, which is `cupy.fuse` with NumPy's names and a derivative.

Read `function.py` (what `fuse` makes of a function), `standin.py` (what the function gets in place of its arrays, so
that we see what it does) and `derivative.py` (its way back, which is one launch too). Each device adds how it launches
what was found: ``devices/simulated.py``, ``devices/cupy/fused.py``.
"""
