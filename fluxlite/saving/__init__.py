"""Saving and loading: save, load, state (``checkpoint.py``), and what a file looks like inside (``files.py``)."""
