"""What a program asks of a simulated GPU, and how long that takes: `receipt` counts it, `estimate` says it beforehand.

Read `recording.py` (a receipt listens), `counts.py` (what it holds) and `seconds.py`; `views.py` shows it as text,
`timelines.py` and `pictures.py` as a picture.
"""
