"""Which line of the user's program is running, so that a message or a receipt can point at it."""

import importlib
import linecache
import os
import sys
import warnings
from types import FrameType
from typing import Any

import numpy as np

Line = tuple[str, int]  # a file, and a line number in it
_libraries: tuple[str, ...] = ("<frozen importlib",)  # an import that runs is nobody's line


def leave_out(*modules: Any) -> None:
    """Lines in the folders of these packages are never the user's."""
    global _libraries
    _libraries += tuple(os.path.dirname(os.path.abspath(str(module.__file__))) + os.sep for module in modules)


def leave_out_code(name: str) -> None:
    """Lines of code that a library has written itself, and compiled under this name, aren't the user's either."""
    global _libraries
    _libraries += (name,)


leave_out(np, importlib, sys.modules[__package__])


def is_of_libraries(file: str) -> bool:
    """Whether this file is in the folder of one of these packages."""
    return file.startswith(_libraries)


def line_of_call() -> Line:
    """The innermost line outside the libraries, or ``("", 0)``."""
    frame = _call()
    if frame is None:
        return ("", 0)
    return (frame.f_code.co_filename, frame.f_lineno)


def warn_at_call(message: str, category: type[Warning]) -> None:
    """A warning that names the user's line. Python shows it once for each of their lines, not once for ours."""
    frame = _call() or sys._getframe()
    seen = frame.f_globals.setdefault("__warningregistry__", {})
    warnings.warn_explicit(message, category, frame.f_code.co_filename, frame.f_lineno, registry=seen)


def _call() -> FrameType | None:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_libraries):
        frame = frame.f_back
    return frame


def text_of(place: Line) -> str:
    """``line 3 of train.py: total += float(loss)``. For a cell, it's "the cell", since its file's name says nothing."""
    path, number = place
    if not path:
        return "nobody's line"
    is_cell = "ipykernel" in path or path.startswith("<ipython-input")
    if is_cell:
        name = "the cell"
    elif path.startswith("<"):
        name = path
    else:
        name = os.path.basename(path)
    text = linecache.getline(path, number).strip().rstrip(",")
    return f"line {number} of {name}{f': {text}' if text else ''}"


def users_line() -> str:
    """The line of the user's program that's running, such as ``line 1 of lesson.py: y = x + 1``."""
    return text_of(line_of_call())
