"""Gradients: arrays that remember how they came about, the table of derivatives, and the way back.

Read `tracked.py`, `rules.py` and `derivatives/`, then `way_back.py` and `gradients.py`.
"""
