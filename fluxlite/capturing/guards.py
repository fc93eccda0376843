"""The guards at the top of a replay: if what the step would find isn't what it was, the step is recorded again."""

import math
from typing import Any

from .places import ANYTHING, GONE, Container, Place, Places, same
from .terms import terms_of
from .writer import Writer

LOOKING_FAILED = (AttributeError, LookupError, ValueError)  # what a guard may raise: something is gone
_FEW = 12  # things in a container that are compared one by one, and conditions in a line


def guards(places: Places, writer: Writer) -> list[str]:
    """Conditions, any of which means that the step would do something else now."""
    found = []
    boxes = {id(container.box) for container in places.containers}
    carried = {place.which() for place in places.carried}
    for place in places.arrays:
        if place.which() in carried:
            continue  # it's an input
        if not place.is_item or id(place.owner) not in boxes:
            found.append(f"{lookup(place, writer)} is not {writer.thing(place.value)}")
    for place in places.values:
        if place.value is GONE:
            found.append(f"{writer.thing(place.now)}() is not gone")
        else:
            found.append(_differs(lookup(place, writer), place.value, writer))
    for container in places.containers:
        found += _guards_of(container, carried, writer)
    for variable, value in places.variables:
        found.append(_differs(f"{writer.thing(variable)}.get(gone)", value, writer))
    for names, name in places.absent:
        found.append(f"{name!r} in {writer.thing(names)}")
    for x, count in places.sizes:
        found.append(f"len({writer.thing(x)}.__dict__) != {count}")
    for its_memory, count in places.lengths:
        found.append(f"len({writer.thing(its_memory)}) != {count}")
    for x, before in places.bytes:
        found.append(f"bytes({writer.thing(x)}) != {writer.thing(before)}")
    for x, cls in places.classes:
        found.append(f"{writer.thing(x)}.__class__ is not {writer.thing(cls)}")
    for leaf, its_rule in places.leaves:
        name, rule, memory = writer.thing(leaf), writer.thing(its_rule), writer.thing(leaf.memory)
        found.append(f"{name}.frozen is not {leaf.frozen} or {name}.memory is not {memory}")
        found.append(f"{name}.rule is not {rule} and not alike({name}.rule, {rule})")
    for one, its_copy in places.rules:
        found.append(f"not alike({writer.thing(one)}, {writer.thing(its_copy)})")
    writer.space |= {"alike": alike, "terms_of": terms_of}
    return found


def in_few_lines(conditions: list[str]) -> list[str]:
    """Several conditions as one: that's quicker."""
    groups = [conditions[i : i + _FEW] for i in range(0, len(conditions), _FEW)]
    return [" or ".join(f"({condition})" for condition in group) for group in groups]


def lookup(place: Place, writer: Writer) -> str:
    """What is at a place now."""
    if place.is_item:
        return f"{writer.thing(place.owner)}[{_key(place, writer)}]"
    return f"{writer.thing(place.owner)}.{place.key}"


def _key(place: Place, writer: Writer) -> str:
    """An item's key: a text or a whole number as it's written, another one by name, such as an Enum's member."""
    if type(place.key) in (str, int):
        return repr(place.key)
    return writer.thing(place.key)


def assignment(place: Place, value: str, writer: Writer) -> str:
    """The statement that puts `value`, an expression, at a place, as `Place.assign` does."""
    if place.of is not None:
        return f"setattr({writer.thing(place.of)}, {place.key!r}, {value})"
    owner = writer.thing(place.owner)
    if place.is_item:
        return f"{owner}[{_key(place, writer)}] = {value}"
    if hasattr(type(place.owner), "__dataclass_fields__"):  # it may be frozen
        return f"{writer.thing(object.__setattr__)}({owner}, {place.key!r}, {value})"
    return f"{owner}.{place.key} = {value}"


def _differs(now: str, before: Any, writer: Writer) -> str:
    """Whether `now` is neither the same object as `before` nor an equal number or text."""
    return f"{now} is not {writer.thing(before)} and not same({now}, {writer.thing(before)})"


def _guards_of(container: Container, carried: set, writer: Writer) -> list[str]:
    box = writer.thing(container.box)
    items = container.before()
    for key in items:
        if (id(container.box), key) in carried:
            items[key] = ANYTHING
    values = list(items.values())
    found = []
    if container.of is not None:
        found.append(f"{writer.thing(container.of)}.__dict__ is not {box}")
    if isinstance(container.box, (set, frozenset)):
        return [*found, _other_members(container, box, writer)]
    if not container.values and isinstance(container.box, (dict, list)):
        return [*found, box]  # that's quick: it's true if there's something in it
    slow = f"not same_contents({box}, {writer.thing(container.keys)}, {writer.thing(values)})"
    count = len(container.values)
    keys = container.keys
    if keys is None:
        keys = list(range(count))
    if count <= _FEW and all(type(key) in (str, int) for key in keys):
        quick = [f"len({box}) != {count}"]
        if container.keys and container.of is None:  # a step may go through a dict, in its order
            quick = [f"[*{box}] != {writer.thing(keys)}"]
            if any(type(key) is int for key in keys):
                quick.append(f"[*map(type, {box})] != {writer.thing([*map(type, keys)])}")
        for key, value in zip(keys, values):
            if value is not ANYTHING:
                quick.append(f"{box}[{key!r}] is not {writer.thing(value)}")
        return [*found, f"({' or '.join(quick)}) and {slow}"]
    return [*found, slow]


def _other_members(container: Container, box: str, writer: Writer) -> str:
    """Whether a set isn't as it was. 1, 1.0 and True are equal, and so are 0.0 and -0.0."""
    members = container.values
    if any(isinstance(x, (float, complex)) for x in members):
        return f"{{*map(terms_of, {box})}} != {writer.thing(set(map(terms_of, members)))}"
    if any(isinstance(x, int) for x in members):
        return f"{{*zip(map(type, {box}), {box})}} != {writer.thing(set(zip(map(type, members), members)))}"
    return f"{box} != {writer.thing(set(members))}"


def alike(rule: Any, other: Any) -> bool:
    """Whether two optimizers differ in their numbers only, which each replay reads."""
    if type(rule) is not type(other) or len(rule.rules) != len(other.rules):
        return False
    mine, others = vars(rule), vars(other)
    if mine.keys() != others.keys():
        return False
    for name, value in mine.items():
        if name != "rules" and not is_read(value) and not same(value, others[name]):
            return False
        if is_read(value) != is_read(others[name]):
            return False
    return all(map(alike, rule.rules, other.rules))


def is_read(value: Any) -> bool:
    """Whether it's a number of an optimizer's that each replay reads: a float, or a tuple of floats. No rate is inf."""
    if type(value) is tuple:
        return bool(value) and all(map(is_read, value))
    return type(value) is float and math.isfinite(value)
