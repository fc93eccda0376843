"""State: what `f` assigned to a model inside `gradient` is written to the model itself.

`f` gets copies, with tracked arrays in them. A layer may count, average and remember all the same: once the gradient
is there, what was assigned goes from the copy to the object that the call was given, as plain values.
"""

import functools
import types
from operator import is_
from typing import Any

from ..messages import warn
from ..tree.contract import Automatic, attributes, is_leaf, kind_of, put_attribute, trainable
from ..tree.flat import ALSO_NUMBERS, Attribute, Flat
from ..tree.ties import copy_of, is_array
from ..tree.walks import fmap, nodes
from .tracked import TrackedArray

_ABSENT = object()
_UNCHANGING = (tuple, functools.partial, types.MethodType)


def held_at_first(flat: Flat, made: list) -> list[tuple[int, Any, Any]]:
    """(the number of its place, the copy, what it held when `f` got it) of each object in an argument."""
    found: list[tuple[int, Any, Any]] = []
    number = 0
    for x, kind, _, _, _, same, trains in flat.steps:
        number -= 1
        if same is not None:
            continue
        copy = made[number]
        if kind.is_plain:
            before = copy.__dict__.copy()
            found.append((number, copy, before))
            if before.get("active", copy) is None:  # a mode that's set in __init__, and not declared in the class
                type(x).active = Automatic()
        elif kind.is_box and trains == ALSO_NUMBERS or isinstance(x, _UNCHANGING):
            continue  # a container of data holds no state
        elif type(copy) is type(x):
            found.append((number, copy, held_by(copy).copy()))
    return found


def held_by(x: Any) -> Any:
    """What may change in `x`: a list or a dict itself, an object's attributes."""
    if isinstance(x, (list, dict)):
        return x
    return x.__dict__ if kind_of(type(x)).is_plain else attributes(x)


def keep_state(marked: list) -> None:
    """Write what `f` assigned to the copies it got to the objects themselves, as plain values.

    Raises `TypeError`, before anything is written, where a parameter was replaced.
    """
    changed = [(one.flat, *entry) for one in marked for entry in one.held if not _is_as_it_was(*entry)]
    if not changed:
        return
    known = {id(copy): one.flat.at(number) for one in marked for number, copy, _ in one.held}
    writes = []
    for flat, number, copy, before in changed:
        x = flat.at(number)
        if isinstance(x, (list, dict)):
            _say_that_it_is_lost(flat, number, x)
            continue
        now = held_by(copy)
        for name in [*now, *(name for name in before if name not in now)]:
            value, old = now.get(name, _ABSENT), before.get(name, _ABSENT)
            if value is not old:
                if any(step[0] is x and step[-1] for step in flat.steps):
                    _check_no_parameter(flat, number, name, old, "deleted" if value is _ABSENT else "replaced")
                writes.append((x, name, value if value is _ABSENT else detached(value, known)))
    for x, name, value in writes:
        if value is _ABSENT:
            object.__delattr__(x, name)
        else:
            put_attribute(x, name, value, name in getattr(x, "__dict__", ()))


def _is_as_it_was(number: int, copy: Any, before: Any) -> bool:
    now = held_by(copy)
    if type(before) is list:
        return len(now) == len(before) and all(map(is_, now, before))
    return len(now) == len(before) and all(map(is_, now.values(), before.values())) and now.keys() == before.keys()


def detached(value: Any, known: dict[int, Any]) -> Any:
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
    return fmap(lambda leaf: detached(leaf, known), value, exclude=lambda x: id(x) in known or is_leaf(x))


def value_of(x: TrackedArray) -> Any:
    """The plain value, in memory of its own if it was computed."""
    inner, computed = x, False
    while type(inner) is TrackedArray:
        inner, computed = inner.value, computed or inner.call is not None
    return copy_of(inner) if computed and is_array(inner) else inner


def _check_no_parameter(flat: Flat, number: int, name: str, old: Any, what: str) -> None:
    """Raise if `old`, which has gone, is a parameter or has some: its gradient would have no place."""
    parts = trainable(flat.at(number))
    if isinstance(parts, dict) and name not in parts or all(type(node) is not TrackedArray for _, node in nodes(old)):
        return
    place = flat.paths()[number] + (Attribute(name),)
    raise TypeError(
        f"{place} {'is a parameter' if type(old) is TrackedArray else 'holds parameters'}, and was {what} inside a "
        "gradient call. Parameters are changed by update. If it's state and not a parameter, say what trains: "
        f"@functor(trainable=(…,)) above {type(flat.at(number)).__name__}"
    )


def _say_that_it_is_lost(flat: Flat, number: int, x: Any) -> None:
    kind, place = type(x).__name__, str(flat.paths()[number])
    it = f"self.{place.rpartition('.')[2].partition('[')[0] or 'seen'}"
    warn(
        ("changed in a copy", place, kind),
        f"{place}, {'an' if kind[0] in 'AEIOUaeiou' else 'a'} {kind}, was changed inside a gradient call. "
        "It is a copy: the change is gone.\n"
        f"What is assigned stays: {it} = {f'{{**{it}, key: x}}' if isinstance(x, dict) else f'[*{it}, x]'}",
    )
