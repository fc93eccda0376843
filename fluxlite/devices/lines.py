"""Which line of the user's program is running: what a message about it can point at."""

from __future__ import annotations

import linecache
import os
import sys
from types import FrameType

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def users_line() -> str:
    """Where the program outside fluxlite is: ``line 3 of train.py: total += float(loss)``; empty if nobody knows.

    >>> users_line()
    'line 1 of <doctest ...>: users_line()'
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    if frame is None:
        return ""
    path, number = frame.f_code.co_filename, frame.f_lineno
    text = linecache.getline(path, number, frame.f_globals).strip()
    return f"line {number} of {_name(path)}{': ' if text else ''}{text}"


def _name(path: str) -> str:
    """A cell of a notebook is a file with a number as name, which says nothing."""
    if "ipykernel" in path or path.startswith("<ipython-input"):
        return "the cell"
    return path if path.startswith("<") else os.path.basename(path)
