"""How functions and methods come apart: a closure is a branch if it captured an array or a model."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator, Mapping
from typing import Any

from .contract import Children, children, is_leaf
from .ties import is_array, is_tracked


@children.register(types.MethodType)
def _(x: types.MethodType) -> Children:
    if _holds_parameters(x.__self__):
        return {"__self__": x.__self__}, lambda parts: types.MethodType(x.__func__, parts["__self__"])
    return (), lambda _: x


@children.register(types.FunctionType)
def _(x: types.FunctionType) -> Children:
    """A closure is a branch if it captured an array or a model; any other function is a leaf."""
    if _holds_parameters(x):
        return captured(x), functools.partial(_with_captured, x)
    return (), lambda _: x


def captured(function: types.FunctionType) -> dict[str, Any]:
    """The values of the variables that `function` captured, without itself: a recursive one holds itself."""
    found = {name: cell.cell_contents for name, cell in _cells(function) if _has_contents(cell)}
    return {name: value for name, value in found.items() if value is not function}


def cell_of(function: types.FunctionType, name: str) -> types.CellType:
    return dict(_cells(function))[name]


def _with_captured(function: types.FunctionType, values: Mapping[str, Any]) -> types.FunctionType:
    itself = types.CellType()
    cells = []
    for name, cell in _cells(function):
        if name in values:
            cells.append(types.CellType(values[name]))
        else:
            cells.append(itself if _has_contents(cell) and cell.cell_contents is function else cell)
    new = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, tuple(cells)
    )
    itself.cell_contents = new
    for name in ("__kwdefaults__", *functools.WRAPPER_ASSIGNMENTS):
        setattr(new, name, getattr(function, name))
    new.__dict__.update(function.__dict__)
    return new


def _cells(function: types.FunctionType) -> Iterator[tuple[str, types.CellType]]:
    return zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)


def _has_contents(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:  # a variable that has no value yet
        return False


_PLAIN = (dict, list, tuple, functools.partial, types.FunctionType)


def _holds_parameters(x: Any, inside: tuple = ()) -> bool:
    """Is `x` an array, a registered object, or a container, partial, method or closure with such in it?"""
    if isinstance(x, types.MethodType):
        return _holds_parameters(x.__self__, inside)
    if not isinstance(x, _PLAIN):
        return is_array(x) or is_tracked(x) or not is_leaf(x)
    if any(x is above for above in inside):  # a cycle: if it is walked, the walk says where
        return False
    parts = captured(x) if isinstance(x, types.FunctionType) else children(x)[0]
    values = parts.values() if isinstance(parts, Mapping) else parts
    return any(_holds_parameters(value, (*inside, x)) for value in values)
