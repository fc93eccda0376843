"""Gradients: arrays that remember how they came about, the table of derivatives, and the backward pass.

Read `rules.py`, `tracked.py` and `derivatives/`, then `backward.py` and `gradients.py`. After them come `freezing.py`,
on what may not change meanwhile, `state.py`, on what the function assigned, and `modes.py`, on layers that behave
differently meanwhile.
"""
