"""State: what the function assigned to its copy of a model, such as a running mean, is written to the model itself.

`gradient` gives the function a copy of each argument. A `Snapshot` is what a part of that copy held at the beginning.
Once all has gone well, `keep_state` compares, and writes what has been assigned, as plain values.
"""

import functools
import types
from dataclasses import dataclass
from operator import is_
from typing import Any

from ..annotations import Tree
from ..messages import warn
from ..tree.contract import attributes, is_leaf, kind_of, put_attribute, trainable
from ..tree.flat import ALSO_NUMBERS, Attribute, Flat, Made
from ..tree.ties import copy_of, is_array
from ..tree.walks import fmap, nodes
from ..words import in_words
from .modes import Automatic
from .tracked import TrackedArray

_ABSENT = object()
_UNCHANGING = (tuple, functools.partial, types.MethodType)


@dataclass(eq=False, slots=True)
class Snapshot:
    """What the `copy` of an object or a container held when the function got it."""

    flat: Flat  # of the argument
    number: int  # of the object's place in it
    copy: Tree
    contents: Any  # the list, dict or ``__dict__`` that shows each change in the copy; None: its attributes are asked
    before: Any

    def now(self) -> Any:
        """What the copy holds now: a list, or a dict."""
        if self.contents is None:
            return attributes(self.copy)
        return self.contents

    def original(self) -> Any:
        """The object that was copied: the user's own."""
        return self.flat.at(self.number)


def snapshots_of(flat: Flat, made: list) -> list[Snapshot]:
    """Of all copies in `made`, which has a thing for each place of `flat`: those that `f` may assign to."""
    found = []
    number = 0
    for branch in flat.recipe:
        number -= 1
        copy = made[number]
        if not isinstance(branch, Made) or type(copy) is not type(branch.x):  # a rule may rebuild another type
            continue
        if branch.kind.is_plain:
            held = copy.__dict__
            found.append(Snapshot(flat, number, copy, held, held.copy()))
            if held.get("active", copy) is None:  # a mode, which `functor` didn't see in the class
                kind: Any = type(copy)
                kind.active = Automatic()
        elif branch.kind.is_container and branch.may_train == ALSO_NUMBERS:
            continue  # a container of data, which has no state
        elif not isinstance(copy, _UNCHANGING):
            contents = copy if isinstance(copy, (list, dict)) else None
            found.append(Snapshot(flat, number, copy, contents, changeable_contents(copy).copy()))
    return found


def changeable_contents(x: Tree) -> Any:
    """What may change in `x`, as a list or a dict."""
    if isinstance(x, (list, dict)):
        return x
    if kind_of(type(x)).is_plain:
        return x.__dict__
    return attributes(x)


def keep_state(snapshots: list[Snapshot]) -> None:
    """Write what `f` assigned to its copies to the objects themselves; raises if that would replace a parameter."""
    changed = []
    for snapshot in snapshots:
        if not _same_contents(snapshot.now(), snapshot.before):
            changed.append(snapshot)
    if not changed:
        return
    known = {id(snapshot.copy): snapshot.original() for snapshot in snapshots}
    writes = []
    for snapshot in changed:
        x = snapshot.original()
        if isinstance(x, (list, dict)):
            _say_that_it_is_lost(snapshot)
        else:
            writes += [(x, name, value) for name, value in _assigned(snapshot, known)]
    for x, name, value in writes:  # only now, when nothing can raise any more
        if value is _ABSENT:
            object.__delattr__(x, name)
        else:
            put_attribute(x, name, value, name in getattr(x, "__dict__", ()))


def _same_contents(now: Any, before: Any) -> bool:
    """Whether two lists hold the same objects, or two dicts also under the same keys, in the same order."""
    if len(now) != len(before):
        return False
    if type(before) is list:
        return all(map(is_, now, before))
    return [*now] == [*before] and all(map(is_, now.values(), before.values()))


def _assigned(snapshot: Snapshot, known: dict[int, Any]) -> list[tuple[str, Any]]:
    """(name, plain value) of each attribute that has changed; a deleted one's value is `_ABSENT`."""
    now = snapshot.now()
    before = snapshot.before
    x = snapshot.original()
    may_train = any(branch.x is x and branch.may_train for branch in snapshot.flat.recipe)
    found = []
    for name in {**now, **before}:
        value = now.get(name, _ABSENT)
        old = before.get(name, _ABSENT)
        if value is old:
            continue
        if may_train:
            _check_no_parameter(snapshot, name, old, "deleted" if value is _ABSENT else "replaced")
        if value is not _ABSENT:
            value = detach(value, known)
        found.append((name, value))
    return found


def detach(value: Any, known: dict[int, Any]) -> Any:
    """`value` without tracking, and with the objects that the user knows, by id, in place of their copies."""
    if id(value) in known:
        return known[id(value)]
    if type(value) is TrackedArray:
        own = known[id(value)] = _plain_and_own(value)
        return own
    if is_leaf(value):
        return value
    return fmap(lambda leaf: detach(leaf, known), value, exclude=lambda x: id(x) in known or is_leaf(x))


def _plain_and_own(tracked: TrackedArray) -> Any:
    """The value inside; a copy of it if it was computed, since results are read-only and may view an argument."""
    value: Any = tracked
    is_computed = False
    while type(value) is TrackedArray:
        is_computed = is_computed or value.call is not None
        value = value.value
    if is_computed and is_array(value):
        return copy_of(value)
    return value


def _check_no_parameter(snapshot: Snapshot, name: str, old: Tree, what: str) -> None:
    """Raise if `old`, which is gone, is a parameter or has some: its gradient would have no place."""
    x = snapshot.original()
    parts = trainable(x)
    if isinstance(parts, dict) and name not in parts:
        return
    if all(type(node) is not TrackedArray for _, node in nodes(old)):
        return
    place = snapshot.flat.paths()[snapshot.number] + (Attribute(name),)
    is_one = "is a parameter" if type(old) is TrackedArray else "holds parameters"
    raise TypeError(
        f"{place} {is_one}, and was {what} inside a gradient call. Parameters are changed by update. If it's state and "
        f"not a parameter, say what trains: @functor(trainable=(…,)) above {type(x).__name__}"
    )


def _say_that_it_is_lost(snapshot: Snapshot) -> None:
    """Warn of a change in a list or a dict, which only `f`'s copy of it has."""
    x = snapshot.original()
    place = str(snapshot.flat.paths()[snapshot.number])
    field = place.rpartition(".")[2].partition("[")[0] or "seen"
    if isinstance(x, dict):
        new = f"{{**self.{field}, key: x}}"
    else:
        new = f"[*self.{field}, x]"
    warn(
        ("changed in a copy", place, type(x).__name__),
        f"{place}, {in_words(x)}, was changed inside a gradient call. It is a copy: the change is gone.\n"
        f"What is assigned stays: self.{field} = {new}",
    )
