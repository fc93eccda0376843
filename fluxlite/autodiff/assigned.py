"""State: what `f` assigned to a model inside `gradient` is written to the model itself.

`f` gets copies, with tracked arrays in them. A layer may count, average and remember all the same: once the gradient
is there, what was assigned goes from the copy to the object that the call was given, as plain values.
"""

from __future__ import annotations

import types
from operator import is_
from typing import Any

from ..messages import warn
from ..tree.cards import copy_of
from ..tree.closures import captured, cell_of
from ..tree.contract import is_leaf, put_attribute, trainable
from ..tree.ties import is_array
from ..tree.walks import Attribute, fmap, nodes
from .marking import Marked, held_by
from .tracked import TrackedArray


def keep_state(arguments: tuple, marked: list[Marked]) -> None:
    """Write what `f` assigned to the copies it got to the objects themselves, as plain values.

    Raises `TypeError`, before anything is written, where a parameter was replaced.
    """
    copies = [entry for one in marked for entry in one.copies]
    changed = [entry for entry in copies if not _is_as_it_was(*entry[:3])]
    if not changed:
        return
    known = {id(copy): x for x, copy, _, _ in copies}
    trained = {id(x) for x, _, _, trains in copies if trains}
    writes = []
    for x, copy, before, _ in changed:
        if isinstance(x, (list, dict, types.FunctionType)):
            _say_that_it_is_lost(arguments, x, copy, before)
            continue
        now = held_by(copy)
        for name in [*now, *(name for name in before if name not in now)]:
            value, old = now.get(name, _ABSENT), before.get(name, _ABSENT)
            if value is not old:
                if id(x) in trained:
                    _check_no_parameter(arguments, x, name, old, "deleted" if value is _ABSENT else "replaced")
                writes.append((x, name, value if value is _ABSENT else _detached(value, known)))
    for x, name, value in writes:
        if value is _ABSENT:
            object.__delattr__(x, name)
        else:
            put_back(x, name, value)


_ABSENT = object()


def _is_as_it_was(x: Any, copy: Any, before: Any) -> bool:
    now = held_by(copy)
    if type(before) is list:
        return len(now) == len(before) and all(map(is_, now, before))
    return len(now) == len(before) and all(map(is_, now.values(), before.values())) and now.keys() == before.keys()


def put_back(x: Any, step: Any, value: Any) -> None:
    if isinstance(x, (list, dict)):
        x[step] = value
    elif isinstance(x, types.FunctionType):
        cell_of(x, step).cell_contents = value
    else:
        put_attribute(x, step, value, step in getattr(x, "__dict__", ()))


def _detached(value: Any, known: dict[int, Any]) -> Any:
    """`value` without tracking, and with the objects that the user knows in the place of their copies.

    `known` gives what to write for an object of this id; what is shared stays shared.
    """
    if id(value) in known:
        return known[id(value)]
    if type(value) is TrackedArray:
        known[id(value)] = plain = value_of(value)
        return plain
    if is_leaf(value):
        return value
    return fmap(lambda leaf: _detached(leaf, known), value, exclude=lambda x: id(x) in known or is_leaf(x))


def value_of(x: TrackedArray) -> Any:
    """The plain value, in memory of its own if it was computed."""
    inner, computed = x, False
    while type(inner) is TrackedArray:
        inner, computed = inner.value, computed or inner.call is not None
    return copy_of(inner) if computed and is_array(inner) else inner


def _check_no_parameter(arguments: tuple, x: Any, name: str, old: Any, what: str) -> None:
    """Raise if `old`, which has gone from `x`, is a parameter or has some: its gradient would have no place."""
    parts = trainable(x)
    if isinstance(parts, dict) and name not in parts or all(type(node) is not TrackedArray for _, node in nodes(old)):
        return
    is_one = "is a parameter" if type(old) is TrackedArray else "holds parameters"
    raise TypeError(
        f"{_place(arguments, x, name)} {is_one}, and was {what} inside a gradient call. Parameters are changed by "
        f"update. If it's state and not a parameter, say what trains: @functor(trainable=(…,)) above {type(x).__name__}"
    )


def _say_that_it_is_lost(arguments: tuple, x: Any, copy: Any, before: Any) -> None:
    place = _place(arguments, x)
    if isinstance(x, types.FunctionType):
        name = next(name for name, value in captured(copy).items() if value is not before.get(name))
        what, instead = f"the variable {name} of the function at {place}", f"self.{name} = …, in a class with @functor"
    else:
        kind = type(x).__name__
        what = f"{place}, {'an' if kind[0] in 'AEIOUaeiou' else 'a'} {kind},"
        it = f"self.{place.rpartition('.')[2].partition('[')[0] or 'seen'}"
        instead = f"{it} = {{**{it}, key: x}}" if isinstance(x, dict) else f"{it} = [*{it}, x]"
    warn(
        ("changed in a copy", what),
        f"{what} was changed inside a gradient call. It is a copy: the change is gone.\n"
        f"What is assigned stays: {instead}",
    )


def _place(arguments: tuple, x: Any, name: str = "") -> str:
    for argument in arguments:
        for path, node in nodes(argument):
            if node is x:
                return str(path + ((Attribute(name),) if name else ())) or type(x).__name__
    return name or type(x).__name__
