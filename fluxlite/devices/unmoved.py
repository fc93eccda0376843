"""Arrays that a move could not reach, and what to do about it: said once per class or function."""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..arrays import device_of
from ..messages import notice
from ..tree.contract import attributes, registered_under_name
from ..tree.ties import is_array
from ..tree.walks import Attribute, KeyPath

_OPAQUE = (str, bytes, int, float, complex, np.generic, type, types.ModuleType, types.BuiltinFunctionType,
           types.FunctionType, types.MethodType)  # fmt: skip
_ENOUGH = 1000  # objects looked into; an object of some library may hold the world


def explain_unmoved(x: Any, device: Any, path: KeyPath) -> None:
    """Say that `x`, which no walk can enter, holds an array that is not on `device`; nothing if it does not."""
    found = next((place for place, array in arrays_inside(x, path) if device_of(array) != device), None)
    if found is not None:
        text = f"{found or type(x).__name__} was not moved to {device}: {why_shut(x)}"
        notice(("unmoved", type(x).__module__, type(x).__qualname__), text)


def why_shut(x: Any) -> str:
    """Why no walk can enter `x`, and what to do about it."""
    name = type(x).__name__
    if isinstance(x, (set, frozenset)):
        return f"it is in a {name}, whose elements have no places. Use a list or a tuple."
    if registered_under_name(type(x)) not in (None, type(x)):
        return (
            f"class {name} was defined anew after @functor had registered a class of that name. If "
            "@dataclass(slots=True) stands above @functor, write @functor above it; if a cell was run again, run "
            "the one with functor again too."
        )
    return f"{name} is not registered. Write @functor above class {name}, and make the object again."


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


def globals_read(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """(name, value) of each global variable that `function`, or a function in it, reads."""
    for name in dict.fromkeys(_global_names(function.__code__)):
        if name in function.__globals__:
            yield name, function.__globals__[name]


def _global_names(code: types.CodeType) -> Iterator[str]:
    yield from (step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL")
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _global_names(constant)


def arrays_inside(x: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    """(path, array) of the arrays in the attributes and containers of any object `x`, which stands at `path`."""
    waiting: list[tuple[KeyPath, Any]] = [(path, x)]
    seen: dict[int, Any] = {}
    while waiting and len(seen) < _ENOUGH:
        path, node = waiting.pop(0)
        if is_array(node):
            yield path, node
        elif id(node) not in seen and not isinstance(node, _OPAQUE):
            seen[id(node)] = node  # kept, or its id might be given again
            waiting += [(path + KeyPath(step), part) for step, part in _insides(node)]


Part = tuple[tuple, Any]  # the steps of the path to it, and the part


@functools.singledispatch
def _insides(x: Any) -> list[Part]:
    return [((Attribute(name),), value) for name, value in attributes(x).items()]


@_insides.register(dict)
def _(x: dict) -> list[Part]:
    return [((key,), value) for key, value in x.items()]


@_insides.register(list)
@_insides.register(tuple)
def _(x: Any) -> list[Part]:
    return [((i,), value) for i, value in enumerate(x)]


@_insides.register(set)
@_insides.register(frozenset)
def _(x: Any) -> list[Part]:
    return [((), value) for value in x]
