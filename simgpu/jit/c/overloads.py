"""Which of several functions of one name C++ calls: the one whose parameters fit best what a call gives."""

from typing import Any

import numpy as np

from ...kernels.parse import Deduced, Function, Named, Pointer, Reference

# How far a parameter's type is from the argument's. An exact match of a template beats a conversion.
_SAME, _PART_OF_TEMPLATE, _ANY, _CONVERTED = range(4)


def fitting(several: list[Function], types: list[Any]) -> Function | None:
    """The function that fits these types best. None if none of them can take them."""
    found, least = None, 0
    for function in several:
        distance = _distance(function, types)
        if distance is not None and (found is None or distance < least):
            found, least = function, distance
    return found


def _distance(function: Function, types: list[Any]) -> int | None:
    if not function.takes(len(types)):
        return None
    letters = [name for name, _, _ in function.letters]
    each = [_step(kind, own, letters) for (kind, _), own in zip(function.parameters, types)]
    if None in each:
        return None
    return 2 * sum(step or 0 for step in each) + bool(letters)


def _step(kind: Any, own: Any, letters: list[str]) -> int | None:
    """How far this parameter is from what it gets. None if it can't take that."""
    if isinstance(kind, Reference):
        return _step(kind.to, own, letters)
    if isinstance(kind, Deduced) or isinstance(kind, str) and kind in letters:
        return _ANY
    if isinstance(kind, Pointer):
        if not isinstance(own, Pointer):
            return None
        return _pointed(kind.to, own.to, letters)
    if isinstance(kind, Named) and kind.name == "complex":
        if isinstance(own, np.dtype) and own.kind == "c":
            return _PART_OF_TEMPLATE
        return None
    if isinstance(kind, np.dtype):
        return _number(kind, own)
    if isinstance(own, (np.dtype, Pointer)):
        return None
    return _SAME if str(kind) == str(own) else _CONVERTED


def _pointed(kind: Any, own: Any, letters: list[str]) -> int | None:
    """A pointer isn't converted, but to ``void*``."""
    if kind is None:
        return _CONVERTED
    step = _step(kind, own, letters)
    if step == _CONVERTED:
        return None
    return step


def _number(kind: np.dtype, own: Any) -> int | None:
    if not isinstance(own, np.dtype) or own.kind == "c" and kind.kind != "c":
        return None
    if kind == own:
        return _SAME
    return _CONVERTED
