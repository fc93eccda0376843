"""A model is a list of leaves and a recipe: `flatten` takes it apart, once, and everything else is a loop.

>>> flat = flatten({"a": [1, 2], "b": (3.0, "name")})
>>> flat.leaves
[1, 2, 3.0, 'name']
>>> flat.results([10, 20, 30.0, "other"])[flat.root]
{'a': [10, 20], 'b': (30.0, 'other')}

Every place of the tree has a number: the leaves 0, 1, 2, …, the branches -1, -2, …, each after its parts. So the recipe
is a list of branches. Each needs only the results of those before it, and one list, indexed by both, holds what
stands at each place. A place that holds what was met before is in the recipe too: the same as that number.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from ..messages import Readable, explained
from .contract import KINDS, Kind, children, kind_of
from .ties import owner_of, parameter_key, same_view

# -- paths: layers[0].weight ---------------------------------------------------------------------------------------


class Attribute(str):
    """A step of a path that's written ``.name``; any other is written ``[key]``."""


class KeyPath(tuple, metaclass=Readable):
    """Where something is in a tree; prints as Python would write it (Functors: ``KeyPath``).

    `trainables` gives a path for each parameter. ``path.get(grads)`` and ``path.get(state)`` are its gradient and what
    an optimizer has for it: `adjust` shows how to treat some parameters differently.

    >>> path = KeyPath([Attribute("layers"), 0, Attribute("weight")])
    >>> print(path, path + KeyPath(["x"]))
    layers[0].weight layers[0].weight['x']
    """

    def __add__(self, other: Any) -> "KeyPath":
        return KeyPath(tuple(self) + tuple(other))

    def __str__(self) -> str:
        text = "".join(f".{step}" if isinstance(step, Attribute) else f"[{step!r}]" for step in self)
        return text.removeprefix(".")

    def __repr__(self) -> str:
        return f"KeyPath({self})"

    @explained("a tree with something at this path")
    def get(self, tree: Any) -> Any:
        """What stands at this path in `tree`. Raises AttributeError, KeyError or IndexError if nothing does."""
        for step in self:
            tree = _part(tree, step)
        return tree

    def has(self, tree: Any) -> bool:
        """Whether something stands at this path in `tree`; never raises."""
        try:
            self.get(tree)
        except Exception:  # a computed property can raise anything
            return False
        return True

    @explained("a tree with something at this path, which can change")
    def set(self, tree: Any, value: Any) -> None:
        """Put `value` at this path of `tree`, in place."""
        if not self:
            raise ValueError("an empty path is the tree itself and can't be set")
        *way, last = self
        put(KeyPath(way).get(tree), last, value)


def put(owner: Any, step: Any, value: Any) -> None:
    """``owner.step = value`` or ``owner[step] = value``, whichever the step of a path stands for."""
    if isinstance(step, Attribute):
        setattr(owner, step, value)
    else:
        owner[step] = value


def _part(x: Any, step: Any) -> Any:
    parts = children(x)[0]
    if isinstance(parts, Mapping) and step in parts:
        return parts[step]
    if isinstance(step, Attribute):  # no child, but it may be a computed property
        return getattr(x, step)
    if isinstance(x, Mapping):  # where x[step] of a defaultdict would make something up
        raise KeyError(step)
    return (parts or x)[step]


def steps(x: Any, parts: Any) -> Iterator[tuple[Any, Any]]:
    """(step of the path, part) of each of the parts of `x`."""
    names = tuple(parts) if isinstance(parts, Mapping) else None
    values = parts.values() if isinstance(parts, Mapping) else parts
    return zip(_steps(kind_of(type(x)), names, len(parts)), values)


def _steps(kind: Kind, names: tuple | None, count: int) -> Any:
    if names is None:
        return range(count)
    return names if kind.is_mapping else [Attribute(name) if isinstance(name, str) else name for name in names]


# -- the recipe ----------------------------------------------------------------------------------------------------

NEVER, ARRAYS, ALSO_NUMBERS = 0, 1, 2  # what has a gradient at a place: inside a model, numbers are constants


class Branch(NamedTuple):
    """`x` is made of what stands at the numbers `parts`, or it's the `same` as at an earlier number.

    With both, it trains here, and didn't where it was met first. Without a `kind`, it's a leaf that was met before.
    """

    x: Any
    kind: Any  # a Kind
    names: tuple | None  # of the parts, unless they're counted
    parts: list[int]
    make: Any  # make(x, names, parts) gives a new one like x, of other parts
    same: Any  # a number, or None
    trains: int


class Flat:
    """What `flatten` gives: each of the `leaves` once, whether it `trains`, and the `recipe`."""

    __slots__ = ("leaves", "trains", "recipe", "root", "moved")

    def __init__(self) -> None:
        self.leaves: list = []
        self.trains: list[int] = []
        self.recipe: list[Branch] = []
        self.root = 0
        self.moved: dict[int, int] = {}  # {a leaf's first place where it trains, if that's a later one: the leaf}

    def at(self, number: int) -> Any:
        """What stood at the place with this number."""
        return self.leaves[number] if number >= 0 else self.recipe[-1 - number].x

    def results(self, leaves: list, again: Callable | None = None) -> list:
        """What stands at every place, by number, of other leaves; ``again(number, x, first, result)`` at a tie's."""
        made = [*leaves, *[None] * len(self.recipe)]
        number = 0
        for x, kind, names, parts, make, same, _ in self.recipe:
            number -= 1
            if same is None:
                made[number] = make(x, names, [made[part] for part in parts])
            elif kind is not None or same < 0:
                made[number] = made[same]
            elif again is None:
                first = self.leaves[same]
                made[number] = made[same] if x is first else same_view(x, first, made[same])
            else:
                made[number] = again(number, x, self.leaves[same], made[same])
        return made

    def beside(self, leaves: list, combine: Callable, tied: bool = False) -> Any:
        """A tree beside this one, of what ``combine(x, kind, names, parts, make)`` gives for each branch.

        A tie stands at its first place that trains, and None at the others, unless it's to stay `tied`.
        """
        made = [*leaves, *[None] * len(self.recipe)]
        for number, leaf in self.moved.items():
            made[number], made[leaf] = made[leaf], made[leaf] if tied else None
        number = 0
        for x, kind, names, parts, make, same, _ in self.recipe:
            number -= 1
            if kind is None or same is not None and tied:
                if tied:
                    made[number] = made[same]
            elif same is None or parts:
                made[number] = combine(x, kind, names, [made[part] for part in parts], make)
        return made[self.root]

    def along(self, other: Any, part_of: Callable) -> list:
        """What stands in another tree at every place of this one, by number.

        Where its parts aren't named alike, ``part_of(flat, number, other, step)`` says what stands there.
        """
        found: list = [None] * (len(self.leaves) + len(self.recipe))
        found[self.root] = other
        for number in range(-len(self.recipe), 0):  # a whole comes after its parts
            _, kind, names, parts, *_ = self.recipe[-1 - number]
            if not parts:
                continue
            beside = found[number]
            take = (KINDS.get(beside.__class__) or kind_of(beside.__class__)).take
            others, values, _ = (None, (), None) if take is None else take(beside)
            if others != names or len(values) != len(parts):
                values = [part_of(self, number, beside, step) for step in _steps(kind, names, len(parts))]
            for part, value in zip(parts, values):
                found[part] = value
        return found

    def paths(self) -> list[KeyPath]:
        """The path of every place, by number. Only errors and walks that ask for it need them."""
        found = [KeyPath()] * (len(self.leaves) + len(self.recipe))
        for number in range(-len(self.recipe), 0):
            _, kind, names, parts, *_ = self.recipe[-1 - number]
            for step, part in zip(_steps(kind, names, len(parts)) if parts else (), parts):
                found[part] = found[number] + (step,)
        return found

    def order(self) -> Iterator[int]:
        """The numbers of all places, parents first."""
        waiting = [self.root]
        while waiting:
            number = waiting.pop()
            yield number
            if number < 0:
                waiting.extend(reversed(self.recipe[-1 - number].parts))

    def trained(self) -> list[tuple[int, int]]:
        """The numbers of (place, leaf) wherever an optimizer may change a leaf: of a tie, the first of these places."""
        if not self.moved:
            return [(leaf, leaf) for leaf, trains in enumerate(self.trains) if trains]
        late = set(self.moved.values())
        found = [(place, self.moved.get(place, place)) for place in self.order()]
        return [(p, leaf) for p, leaf in found if leaf >= 0 and self.trains[leaf] and (p < 0 or leaf not in late)]


def flatten(x: Any, stop: Callable | None = None, ties: bool = True) -> Flat:
    """Take `x` apart: each leaf once, in order. ``stop(path, node)`` says what counts as a leaf.

    With `ties`, two places with one mutable thing, or one array perhaps transposed, are one. `ValueError` on a cycle.
    """
    walk = _Walk(stop, ties)
    try:
        walk.flat.root = walk.visit(x, ALSO_NUMBERS)
    except _Cycle as cycle:
        path, above = KeyPath(cycle.path), KeyPath(cycle.path[: -cycle.length])
        raise ValueError(
            f"{path} is the same object as {above or 'the object itself'}, which contains it: a cycle has no end to "
            "walk to. Take the reference out, or register a class whose children leave it out."
        ) from None
    return walk.flat


class _Cycle(Exception):
    """`x` was met inside itself. On its way out, it collects the path."""

    def __init__(self, x: Any):
        self.x, self.length = x, 0
        self.path: tuple = ()

    def passes(self, x: Any, step: Any) -> None:
        self.path = (step, *self.path)
        if x is self.x and not self.length:
            self.length = len(self.path)


_ATOMS = {bool, int, float, str, bytes, type(None), type, np.ufunc, np.dtype, type(len)}
_INSIDE: Any = ()  # of an object: it's being visited


class _Walk:
    """The one walk there is: it writes a recipe. It knows no paths, unless there's a `stop` to ask."""

    __slots__ = ("flat", "stop", "ties", "by_owner", "arrays", "objects", "path")

    def __init__(self, stop: Callable | None, ties: bool):
        self.flat = Flat()
        self.stop, self.ties = stop, ties
        self.by_owner = ties  # all memory is NumPy's own, as far as we've seen
        self.arrays: dict[Any, int] = {}  # by owner, and by address where two have one owner: the leaf
        self.objects: dict[int, tuple[int, int]] = {}  # by id: the number of its place, and whether it trains there
        self.path: list = []

    def visit(self, x: Any, trains: int) -> int:
        """The number of the place of `x`, after those of its parts."""
        kind = KINDS.get(x.__class__) or kind_of(x.__class__)
        names, parts, make = (None, (), _itself) if kind.take is None else kind.take(x)
        is_leaf = names is None and not parts and parts.__class__ is tuple
        if is_leaf if self.stop is None else self.stop(self.path, x):
            return self.end(x, kind, trains)
        same = None
        known = self.objects.get(id(x)) if kind.is_mutable else None
        if known is _INSIDE:
            raise _Cycle(x)
        if known is not None and self.ties:
            same = known[0]
            if known[1] or not trains:
                return self.again(x, kind, same, trains)
        if kind.is_mutable:
            self.objects[id(x)] = _INSIDE
        numbers = self.below(x, kind, names, parts, trains if kind.is_box else trains and ARRAYS)
        recipe = self.flat.recipe
        recipe.append(Branch(x, kind, names, numbers, make, same, trains))
        if kind.is_mutable:
            self.objects[id(x)] = (-len(recipe) if same is None else same, trains)
        return -len(recipe)

    def below(self, x: Any, kind: Kind, names: Any, parts: Any, trains: int) -> list[int]:
        """The numbers of the parts. What has no parts itself isn't worth a call."""
        flow: Any = repeat(trains)
        if kind.trained is not None and names is not None:
            flow = [trains if name in kind.trained else NEVER for name in names]
        leaves, flags, arrays = self.flat.leaves, self.flat.trains, self.arrays
        numbers: list[int] = []
        at = None if self.stop is None else _steps(kind, names, len(parts))
        try:
            for part, trains in zip(parts, flow):
                cls = part.__class__
                if at is not None:
                    self.path.append(at[len(numbers)])
                    numbers.append(self.visit(part, trains))
                    self.path.pop()
                    continue
                if cls is np.ndarray and part.base is None and self.by_owner and id(part) not in arrays:
                    arrays[id(part)] = len(leaves)
                elif cls not in _ATOMS:
                    numbers.append(self.visit(part, trains))
                    continue
                numbers.append(len(leaves))
                leaves.append(part)
                flags.append(trains)
        except _Cycle as cycle:
            cycle.passes(x, _steps(kind, names, len(parts))[len(numbers)])
            raise
        return numbers

    def end(self, x: Any, kind: Kind, trains: int) -> int:
        """A leaf; perhaps one that was met before."""
        if self.ties and kind.is_array:
            return self.array(x, trains)
        if self.ties and kind.is_mutable:
            known = self.objects.get(id(x), _INSIDE)
            if known is not _INSIDE:  # a branch (below 0), if `stop` looks at the path
                return self.again(x, None, known[0], trains if known[0] >= 0 else NEVER)
            self.objects[id(x)] = (len(self.flat.leaves), ALSO_NUMBERS)
        return self.leaf(x, trains)

    def array(self, x: Any, trains: int) -> int:
        number = len(self.flat.leaves)
        owner = owner_of(x) if self.by_owner and isinstance(x, np.ndarray) else None
        if owner is not None:
            same = self.arrays.setdefault(owner, number)
            if same == number:  # by far the most frequent case
                return self.leaf(x, trains)
            first = self.flat.leaves[same]
            if first is x:
                return self.again(x, None, same, trains)
            self.arrays.setdefault(parameter_key(first), same)  # views of one array: addresses say which are one
        elif self.by_owner and isinstance(x, np.ndarray):  # memory of others, which only addresses tell
            self.by_owner = False
            self.arrays = {parameter_key(self.flat.leaves[i]): i for i in self.arrays.values()}
        same = self.arrays.setdefault(parameter_key(x), number)
        return self.leaf(x, trains) if same == number else self.again(x, None, same, trains)

    def leaf(self, x: Any, trains: int) -> int:
        self.flat.leaves.append(x)
        self.flat.trains.append(trains)
        return len(self.flat.leaves) - 1

    def again(self, x: Any, kind: Kind | None, same: int, trains: int) -> int:
        flat = self.flat
        flat.recipe.append(Branch(x, kind, None, [], None, same, trains))
        if kind is None and trains and not flat.trains[same]:
            flat.trains[same] = trains
            flat.moved[-len(flat.recipe)] = same
        return -len(flat.recipe)


def _itself(x: Any, names: Any, parts: Any) -> Any:
    return x
