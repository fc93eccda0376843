"""Arrays that a move could not reach: said once per class or function."""

from __future__ import annotations

import types
from typing import Any

from ..arrays import device_of
from ..messages import notice
from ..tree.walks import Attribute, KeyPath
from ..unreached import arrays_inside, out_of_reach, why_shut


def explain_unmoved(x: Any, device: Any, path: KeyPath) -> None:
    """Say that `x`, which no walk can enter, holds an array that is not on `device`; nothing if it does not."""
    found = next((place for place, array in arrays_inside(x, path) if device_of(array) != device), None)
    if found is not None:
        text = f"{found or type(x).__name__} was not moved to {device}: {why_shut(x)}"
        notice(("unmoved", type(x).__module__, type(x).__qualname__), text)


def explain_function(function: types.FunctionType, device: Any, path: KeyPath) -> None:
    """The same for the arrays among the defaults of `function`, and the globals that it reads."""
    for name, value, why in out_of_reach(function):
        inside = arrays_inside(value, path + (Attribute(name),))
        found = next((place for place, array in inside if device_of(array) != device), None)
        if found is not None:
            notice(("unmoved", function.__code__, name), f"{found} was not moved to {device}: {why}")
