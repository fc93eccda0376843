"""Gradients: arrays that remember how they came about, the table of derivatives, and the backward pass.

Read `tracked.py`, `rules.py` and `derivatives/`, then `backward.py` and `gradients.py`.
"""
