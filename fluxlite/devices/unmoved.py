"""Arrays that a move could not reach, and what to do about it: said once per class or function."""

from __future__ import annotations

import copyreg
import functools
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..arrays import device_of
from ..notices import notice
from ..ties import is_array
from ..tree import registered_under_name
from ..walks import Attribute, KeyPath

_OPAQUE = (str, bytes, int, float, complex, np.generic, type, types.ModuleType, types.BuiltinFunctionType,
           types.FunctionType, types.MethodType)  # fmt: skip
_ENOUGH = 1000  # objects looked into; an object of some library may hold the world


def explain_unmoved(x: Any, device: Any, path: KeyPath) -> None:
    """Say that `x`, which no walk can enter, holds an array that is not on `device`; nothing if it does not."""
    found = first_array_elsewhere(x, device, path)
    if found is None:
        return
    name = type(x).__name__
    where = f"{found or name} was not moved to {device}"
    if isinstance(x, (set, frozenset)):
        text = f"{where}: it is in a {name}, whose elements have no places. Use a list or a tuple."
    elif registered_under_name(type(x)) not in (None, type(x)):
        text = (
            f"{where}: class {name} was defined anew after @functor had registered a class of that name. If "
            "@dataclass(slots=True) stands above @functor, write @functor above it; if a cell was run again, run "
            "the one with functor again too."
        )
    else:
        text = f"{where}: {name} is not registered. Write @functor above class {name}, and make the object again."
    notice(("unmoved", type(x).__module__, type(x).__qualname__), text)


def explain_globals(function: types.FunctionType, device: Any) -> None:
    """Say which global with arrays `function` reads: it keeps reading that one, also after a move."""
    for name in _global_names(function.__code__):
        if name in function.__globals__:
            value = function.__globals__[name]
            if first_array_elsewhere(value, device, KeyPath()) is not None:
                notice(
                    ("globals", function.__module__, function.__qualname__),
                    f"{function.__name__} reads the global {name}, and globals do not move with a function. "
                    f"Move {name} itself, or make it an argument.",
                )
                return


def _global_names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _global_names(constant)


def first_array_elsewhere(x: Any, device: Any, path: KeyPath) -> KeyPath | None:
    """The path to an array that is not on `device`, looked for in attributes and containers of any object."""
    waiting: list[tuple[KeyPath, Any]] = [(path, x)]
    seen: dict[int, Any] = {}
    while waiting and len(seen) < _ENOUGH:
        path, node = waiting.pop(0)
        if is_array(node):
            if device_of(node) != device:
                return path
        elif id(node) not in seen and not isinstance(node, _OPAQUE):
            seen[id(node)] = node  # kept, or its id might be given again
            waiting += [(path + KeyPath(step), part) for step, part in _insides(node)]
    return None


Part = tuple[tuple, Any]  # the steps of the path to it, and the part


@functools.singledispatch
def _insides(x: Any) -> list[Part]:
    slots = [name for name in copyreg._slotnames(type(x)) if hasattr(x, name)]  # type: ignore[attr-defined]
    return [((Attribute(name),), getattr(x, name)) for name in dict.fromkeys([*slots, *getattr(x, "__dict__", {})])]


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
