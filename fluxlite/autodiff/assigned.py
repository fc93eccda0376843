"""State: what `f` assigned to a model inside `gradient` is written to the model itself.

`f` gets copies, with tracked arrays in them. A layer may count, average and remember all the same: once the gradient
is there, what was assigned goes from the copy to the object that the call was given, as plain values.
"""

from __future__ import annotations

from operator import is_
from typing import Any

from ..messages import warn
from ..tree.contract import attributes, fields_of, is_leaf, put_attribute
from ..tree.ties import is_array
from ..tree.walks import Attribute, fmap, nodes
from .marking import Marked
from .tracked import TrackedArray, untracked_leaf


def keep_state(arguments: tuple, marked: list[Marked]) -> None:
    """Write what `f` assigned to the copies it got to the objects themselves, as plain values.

    Raises `TypeError`, before anything is written, where a parameter was replaced.
    """
    copies = [entry for one in marked for entry in one.copies]
    changed = [entry for entry in copies if not _is_as_it_was(*entry)]
    if not changed:
        return
    originals = {id(copy): x for x, copy, _ in copies}
    writes = []
    for x, copy, before in changed:
        if isinstance(x, (list, dict)):
            _say_that_it_is_lost(arguments, x)
            continue
        now = _held(copy)
        for name, value in now.items():
            if value is not before.get(name, _ABSENT):
                _check_not_a_parameter(arguments, x, name, before.get(name))
                writes.append((x, name, _detached(value, originals)))
        writes += [(x, name, _ABSENT) for name in before if name not in now]
    for x, name, value in writes:
        if value is _ABSENT:
            object.__delattr__(x, name)
        else:
            put_attribute(x, name, value, name in x.__dict__ if hasattr(x, "__dict__") else False)


_ABSENT = object()


def _is_as_it_was(x: Any, copy: Any, before: Any) -> bool:
    if type(before) is list:
        return len(copy) == len(before) and all(map(is_, copy, before))
    now = copy if type(x) is dict else _held(copy)
    return len(now) == len(before) and all(map(is_, now.values(), before.values()))


def _held(x: Any) -> dict[str, Any]:
    return x.__dict__ if fields_of(type(x)) is not None else attributes(x)


def _detached(value: Any, originals: dict[int, Any]) -> Any:
    """`value` without tracking, and with the objects that the user knows in the place of their copies."""
    if id(value) in originals:
        return originals[id(value)]
    if type(value) is TrackedArray:
        inner = untracked_leaf(value)
        return inner.copy() if value.call is not None and is_array(inner) else inner
    if is_leaf(value):
        return value
    return fmap(lambda leaf: _detached(leaf, originals), value, exclude=lambda x: id(x) in originals or is_leaf(x))


def _check_not_a_parameter(arguments: tuple, x: Any, name: str, before: Any) -> None:
    if type(before) is TrackedArray:
        kind = type(x).__name__
        raise TypeError(
            f"{_place(arguments, x, name)} is a parameter, and was replaced inside a gradient call. Parameters are "
            f"changed by update. If this is state of its own, say what trains: @functor(trainable=(…,)) above {kind}"
        )


def _say_that_it_is_lost(arguments: tuple, x: Any) -> None:
    place = _place(arguments, x)
    warn(
        ("changed in a copy", place),
        f"{place}, a {type(x).__name__}, was changed inside a gradient call. It is a copy: the change is gone.\n"
        "What is assigned stays: self.seen = [*self.seen, x]",
    )


def _place(arguments: tuple, x: Any, name: str = "") -> str:
    for argument in arguments:
        for path, node in nodes(argument):
            if node is x:
                return str(path + ((Attribute(name),) if name else ())) or type(x).__name__
    return name or type(x).__name__
