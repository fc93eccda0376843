"""Arrays of a model that no walk reaches: they aren't moved, saved or trained. Where they are, and what helps."""

import dis
import functools
import io
import types
from collections import deque
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import numpy as np

from ..annotations import LibraryArray, Tree
from ..messages import said, warn
from .contract import REGISTERED, attributes
from .flat import Attribute, KeyPath, flatten, parts_at_steps
from .ties import is_array, is_tracked

WITHOUT_ARRAYS = (str, bytes, int, float, complex, type(None), range, slice, type, types.ModuleType,
                  types.BuiltinFunctionType, io.IOBase, np.generic, np.ufunc, np.dtype)  # fmt: skip
_ENOUGH = 1000  # objects looked into; an object of some library may hold the world


def say_what_is_not_trained(model: Tree, what: str = "isn't trained", again: bool = True) -> None:
    """Warn of arrays of `model` that no walk reaches: each time, or once for each class or function."""
    flat = flatten(model)
    paths = flat.paths()
    for number, leaf in flat.trainable_places():
        for key, place, value, why in shut_boxes(flat.leaves[leaf], paths[number]):
            found = next((place for place, array in arrays_inside(value, place) if array.dtype.kind == "f"), None)
            if found is None:
                continue
            if again:
                said.pop(("not trained", *key), None)
            warn(("not trained", *key), f"{found or type(value).__name__} {what}: {why}")


def say_what_is_not_saved(function: Tree, path: KeyPath) -> None:
    """The same for a function in what is saved."""
    for key, place, value, why in shut_boxes(function, path):
        for found, _ in arrays_inside(value, place):
            warn(("not saved", *key), f"{found} isn't saved: {why}")


def note_first_meeting(leaf: Tree) -> bool:
    """Whether an object of this class, or this function, is met for the first time: only then do we look into it."""
    known_by: object = type(leaf)
    if type(leaf) is types.FunctionType:
        known_by = leaf.__code__
    key = ("met", known_by)
    if key in said:
        return False
    said[key] = ""
    return True


def shut_boxes(x: Tree, path: KeyPath) -> Iterator[tuple[tuple, KeyPath, Any, str]]:
    """(key, path, value, why) of what no walk enters: the leaf `x` itself, or what a function works with."""
    if isinstance(x, types.MethodType):
        x = x.__self__
    if isinstance(x, types.FunctionType):
        fix = "and no walk enters functions. Make it an argument, or a field of a class with @functor above it."
        for verb, name, value in _variables(x):
            place = path + (Attribute(name),)
            value = getattr(value, "__self__", value)  # of a method, its object
            if not isinstance(value, types.FunctionType):
                yield (x.__code__, name), place, value, f"{x.__name__} {verb} {name}, {fix}"
    elif not is_array(x) and not is_tracked(x):
        yield (type(x).__module__, type(x).__qualname__), path, x, why_shut(x)


def why_shut(x: object) -> str:
    name = type(x).__name__
    if isinstance(x, (set, frozenset, deque, Mapping, types.SimpleNamespace)):
        return f"it is in a {name}, which no walk enters. Use a list, a dict, or a class with @functor above it."
    if (type(x).__module__, type(x).__qualname__) in REGISTERED:
        return (
            f"class {name} was defined again after @functor had registered a class of that name. If "
            "@dataclass(slots=True) stands above @functor, write @functor above it; if a cell was run again, run "
            "the one with functor again too."
        )
    return f"{name} is not registered. Write @functor above class {name}, and make the object again."


def _variables(function: types.FunctionType) -> Iterator[tuple[str, str, Any]]:
    """(how it comes to it, name, value) of each variable that `function` works with."""
    code = function.__code__
    for name, cell in zip(code.co_freevars, function.__closure__ or ()):
        if cell != types.CellType():  # it has a value already
            yield "captured", name, cell.cell_contents
    values = function.__defaults__ or ()
    names = code.co_varnames[code.co_argcount - len(values) : code.co_argcount]  # the last ones have defaults
    defaults = [*zip(names, values), *(function.__kwdefaults__ or {}).items()]
    for name, value in defaults:
        yield "has the default", name, value
    for name in _global_names(code):
        if name in function.__globals__:
            yield "reads the global", name, function.__globals__[name]


@functools.lru_cache
def _global_names(code: types.CodeType) -> list[str]:
    names = [step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):  # a function within
            names += _global_names(constant)
    return list(dict.fromkeys(names))


def arrays_inside(x: object, path: KeyPath) -> Iterator[tuple[KeyPath, LibraryArray]]:
    """(path, array) of the arrays in the attributes and containers of any object `x`, which stands at `path`."""
    waiting: list[tuple[KeyPath, object]] = [(path, x)]
    seen: dict[int, object] = {}
    while waiting and len(seen) < _ENOUGH:
        path, node = waiting.pop(0)
        if is_array(node):
            yield path, node
        elif id(node) not in seen and not isinstance(node, (*WITHOUT_ARRAYS, types.FunctionType, types.MethodType)):
            seen[id(node)] = node  # kept, or its id might be given again
            waiting += [(path + KeyPath(step), part) for step, part in _insides(node)]


def _insides(x: object) -> list[tuple[tuple, Any]]:
    """(steps of the path to it, part) of each part of any object."""
    if isinstance(x, (set, frozenset)):
        return [((), value) for value in x]
    parts: dict[Hashable, Any]
    if isinstance(x, deque):
        parts = dict(enumerate(x))
    else:
        parts = dict(parts_at_steps(x))
    if not parts:
        parts = {Attribute(name): value for name, value in attributes(x).items()}
    return [((step,), part) for step, part in parts.items()]
