"""Arrays of a model that no walk reaches: they are not moved, saved or trained. Where they are, and what helps."""

from __future__ import annotations

import dis
import functools
import types
from collections import deque
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import numpy as np

from .messages import first_time, warn, warn_again
from .tree.closures import captured
from .tree.contract import attributes, is_leaf, registered_under_name, trainable
from .tree.ties import is_array, is_tracked
from .tree.walks import Attribute, KeyPath, nodes

_OPAQUE = (str, bytes, int, float, complex, np.generic, type, types.ModuleType, types.BuiltinFunctionType,
           types.FunctionType, types.MethodType)  # fmt: skip
_ENOUGH = 1000  # objects looked into; an object of some library may hold the world


def why_shut(x: Any) -> str:
    """Why no walk can enter `x`, and what to do about it."""
    name = type(x).__name__
    for kinds, what, instead in _INSTEAD:
        if isinstance(x, kinds):
            return f"it is in a {name}, {what}. Use {instead}."
    if registered_under_name(type(x)) not in (None, type(x)):
        return (
            f"class {name} was defined anew after @functor had registered a class of that name. If "
            "@dataclass(slots=True) stands above @functor, write @functor above it; if a cell was run again, run "
            "the one with functor again too."
        )
    return f"{name} is not registered. Write @functor above class {name}, and make the object again."


_INSTEAD: list[tuple[Any, str, str]] = [
    ((set, frozenset), "whose elements have no places", "a list or a tuple"),
    (deque, "which no walk enters", "a list or a tuple"),
    (types.SimpleNamespace, "which no walk enters", "a dict, or a class with @functor above it"),
    (Mapping, "which no walk enters", "a dict"),
]


# -- what is not trained -------------------------------------------------------------------------------------------


def say_what_is_not_trained(model: Any) -> None:
    """Warn, each time anew, of the arrays of `model` that no walk reaches: an optimizer leaves them as they are."""
    for key, place, why in _untrained(model, KeyPath()):
        warn_again(key, f"{place} is not trained: {why}")


def say_what_has_no_gradient(argument: Any) -> None:
    """The same for what `gradient` was given, once for each class or function."""
    for key, place, why in _untrained(argument, KeyPath()):
        warn(key, f"{place} gets no gradient: {why}")


def is_new(leaf: Any) -> bool:
    """Whether an object of this class, or this function, is met for the first time: only then it is looked into."""
    return first_time(("met", leaf.__code__ if type(leaf) is types.FunctionType else type(leaf)))


def _untrained(model: Any, start: KeyPath, inside: tuple = ()) -> Iterator[tuple[Hashable, Any, str]]:
    """(key, place of an array, why) for what no walk of `model`, which is at `start`, reaches."""
    for steps, node in nodes(model, parts_of=trainable):
        path = start + steps
        for key, place, value, why in boxes(node, path):
            found = [place for place, array in arrays_inside(value, place) if array.dtype.kind == "f"]
            yield from ((("not trained", *key), place or type(value).__name__, why) for place in found[:1])
        if isinstance(node, types.FunctionType) and is_leaf(node) and node not in inside:
            for name, value in captured(node).items():
                yield from _untrained(value, path + (Attribute(name),), (*inside, node))


def boxes(x: Any, path: KeyPath) -> Iterator[tuple[tuple, KeyPath, Any, str]]:
    """(key, path, value, why) of what no walk enters: `x` itself, or a function's defaults and the globals it reads."""
    if isinstance(x, types.FunctionType):
        fix = "and no walk enters those. Make it an argument, or a field of a class with @functor above it."
        code, values = x.__code__, x.__defaults__ or ()
        names = code.co_varnames[code.co_argcount - len(values) : code.co_argcount]
        for name, value in [*zip(names, values), *(x.__kwdefaults__ or {}).items()]:
            yield (code, name), path + (Attribute(name),), value, f"{name} is a default of {x.__name__}, {fix}"
        for name, value in globals_read(x):
            yield (code, name), path + (Attribute(name),), value, f"{x.__name__} reads the global {name}, {fix}"
    elif is_leaf(x) and not is_array(x) and not is_tracked(x):
        x = x.__self__ if isinstance(x, types.MethodType) else x
        yield (type(x).__module__, type(x).__qualname__), path, x, why_shut(x)


# -- looking behind closed doors -----------------------------------------------------------------------------------


def globals_read(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """(name, value) of each global variable that `function`, or a function in it, reads."""
    for name in _global_names(function.__code__):
        if name in function.__globals__:
            yield name, function.__globals__[name]


@functools.lru_cache
def _global_names(code: types.CodeType) -> list[str]:
    names = [step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"]
    inner = [name for part in code.co_consts if isinstance(part, types.CodeType) for name in _global_names(part)]
    return list(dict.fromkeys(names + inner))


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


@_insides.register(Mapping)
def _(x: Mapping) -> list[Part]:
    return [((key,), value) for key, value in x.items()]


@_insides.register(list)
@_insides.register(tuple)
@_insides.register(deque)
def _(x: Any) -> list[Part]:
    return [((i,), value) for i, value in enumerate(x)]


@_insides.register(set)
@_insides.register(frozenset)
def _(x: Any) -> list[Part]:
    return [((), value) for value in x]
