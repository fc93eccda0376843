"""Arrays that a move could not reach: said once per class or function."""

from __future__ import annotations

import types
from typing import Any

from ..arrays import device_of
from ..messages import notice
from ..tree.walks import Attribute, KeyPath
from ..unreached import arrays_inside, defaults, globals_read, why_default, why_shut


def explain_unmoved(x: Any, device: Any, path: KeyPath) -> None:
    """Say that `x`, which no walk can enter, holds an array that is not on `device`; nothing if it does not."""
    found = next((place for place, array in arrays_inside(x, path) if device_of(array) != device), None)
    if found is not None:
        text = f"{found or type(x).__name__} was not moved to {device}: {why_shut(x)}"
        notice(("unmoved", type(x).__module__, type(x).__qualname__), text)


def explain_defaults(function: types.FunctionType, device: Any, path: KeyPath) -> None:
    """The same for the arrays among the defaults of `function`."""
    for name, value in defaults(function):
        for place, array in arrays_inside(value, path + (Attribute(name),)):
            if device_of(array) != device:
                text = f"{place} was not moved to {device}: {why_default(function, name)}"
                notice(("unmoved", function.__module__, function.__qualname__), text)
                return


def explain_globals(function: types.FunctionType, device: Any) -> None:
    """Say which global with arrays `function` reads: it keeps reading that one, also after a move."""
    for name, value in globals_read(function):
        if any(device_of(array) != device for _, array in arrays_inside(value, KeyPath())):
            notice(
                ("globals", function.__module__, function.__qualname__),
                f"{function.__name__} reads the global {name}, and globals do not move with a function. "
                f"Move {name} itself, or make it an argument.",
            )
            return
