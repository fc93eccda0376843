"""Gradients: arrays that remember how they came about, the table of derivatives, and the way back.

Read `tracked.py`, then `way_back.py`, then `gradients.py`; `rules.py` says what a derivative rule is, and
`derivatives/` holds them.
"""
