"""A model is a list of leaves and a recipe: `flatten` takes it apart, once, and everything else is a loop.

>>> flat = flatten({"a": [1, 2], "b": (3.0, "name")})
>>> flat.leaves
[1, 2, 3.0, 'name']
>>> flat.results([10, 20, 30.0, "other"])[flat.root]
{'a': [10, 20], 'b': (30.0, 'other')}

Every place of the tree has a number: the leaves 0, 1, 2, …, all other places -1, -2, …, each after its parts. The
recipe lists those others. Each needs only the results of those before it, and one list, indexed by all numbers, holds
what stands at each place. There are three types: what's `Made` of parts, a thing met `Again`, and a `TiedLeaf`.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, ClassVar

import numpy as np

from ..annotations import Array, Tree
from ..helping import Readable
from ..words import explained
from .contract import KINDS, Kind, children, kind_of
from .ties import owner_of, parameter_key, view_as

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

    def __add__(self, other: Iterable[Hashable]) -> "KeyPath":
        return KeyPath(tuple(self) + tuple(other))

    def __str__(self) -> str:
        text = "".join(f".{step}" if isinstance(step, Attribute) else f"[{step!r}]" for step in self)
        return text.removeprefix(".")

    def __repr__(self) -> str:
        return f"KeyPath({self})"

    @explained("a tree with something at this path")
    def get(self, tree: Tree) -> Any:
        """What stands at this path in `tree`. Raises AttributeError, KeyError or IndexError if nothing does."""
        for step in self:
            tree = _part(tree, step)
        return tree

    def has(self, tree: Tree) -> bool:
        """Whether something stands at this path in `tree`; never raises."""
        try:
            self.get(tree)
        except Exception:  # a computed property can raise anything
            return False
        return True

    @explained("a tree with something at this path, which can change")
    def set(self, tree: Tree, value: Any) -> None:
        """Put `value` at this path of `tree`, in place."""
        if not self:
            raise ValueError("an empty path is the tree itself and can't be set")
        *way, last = self
        put(KeyPath(way).get(tree), last, value)


def put(owner: Any, step: Hashable, value: Any) -> None:
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


def parts_at_steps(x: Tree) -> Iterator[tuple[Hashable, Any]]:
    """(step of the path, part) of each of the parts of `x`."""
    names, parts = taken_apart(x)
    return zip(_steps_to_parts(kind_of(type(x)), names, len(parts)), parts)


def _steps_to_parts(kind: Kind, names: tuple | None, count: int) -> Sequence[Hashable]:
    """The steps of a path to the parts: the names of attributes, the keys of a dict, or 0, 1, 2, …"""
    if names is None:
        return range(count)
    if kind.is_mapping:
        return names
    return [Attribute(name) if isinstance(name, str) else name for name in names]


# -- the recipe ----------------------------------------------------------------------------------------------------

# What may train at a place: inside a model, numbers are constants.
NEVER = 0
ARRAYS = 1
ALSO_NUMBERS = 2


@dataclass(eq=False, slots=True)
class Made:
    """A place whose `x` is made of what stands at the numbers `parts`: an object, a list, a tuple or a dict."""

    x: Tree
    kind: Kind
    names: tuple | None  # of the parts, unless they're counted
    parts: list[int]
    may_train: int
    make: Callable  # make(x, names, parts) gives a new one like x, of other parts


@dataclass(eq=False, slots=True)
class Again:
    """A place with the `same` object or container as at an earlier number: what is made there stands here, too.

    It has `parts` if it trains here, and didn't where it was met first: so its gradient stands here.
    """

    x: Tree
    kind: Kind
    names: tuple | None
    parts: list[int]
    may_train: int
    make: Callable | None
    same: int


@dataclass(eq=False, slots=True)
class TiedLeaf:
    """A place with the `same` leaf as at an earlier number, perhaps transposed: ``W.T`` after `W`."""

    x: Tree
    same: int  # a leaf's; below 0, an object's that `stop` let the walk enter there, and not here
    may_train: int
    kind: ClassVar[Any] = None
    names: ClassVar[None] = None
    parts: ClassVar[tuple] = ()
    make: ClassVar[None] = None


Branch = Made | Again | TiedLeaf


def path_steps(branch: Branch) -> Sequence[Hashable]:
    """The steps of a path from this place to each of its parts."""
    return _steps_to_parts(branch.kind, branch.names, len(branch.parts))


class Flat:
    """What `flatten` gives: each of the `leaves` once, what `may_train` of it, and the `recipe`."""

    __slots__ = ("leaves", "may_train", "recipe", "root", "trainable_later")

    def __init__(self) -> None:
        self.leaves: list = []
        self.may_train: list[int] = []
        self.recipe: list[Branch] = []
        self.root = 0
        self.trainable_later: dict[int, int] = {}  # {leaf: the first place where it trains, if it was met before}

    def at(self, number: int) -> Any:
        """What stood at the place with this number."""
        if number >= 0:
            return self.leaves[number]
        return self.recipe[-1 - number].x

    def first_place(self, number: int) -> int:
        """The number of the place where what stands at this one was met first."""
        if number >= 0:
            return number
        branch = self.recipe[-1 - number]
        if isinstance(branch, Made):
            return number
        return branch.same

    def results(self, leaves: list, again: Callable | None = None) -> list:
        """What stands at every place, by number, of other leaves; ``again(number, x, first, result)`` at a tie's."""
        made = [*leaves, *[None] * len(self.recipe)]
        number = 0
        for branch in self.recipe:
            number -= 1
            if isinstance(branch, Made):
                made[number] = branch.make(branch.x, branch.names, [made[part] for part in branch.parts])
            elif isinstance(branch, Again) or branch.same < 0:
                made[number] = made[branch.same]
            elif again is not None:
                made[number] = again(number, branch.x, self.leaves[branch.same], made[branch.same])
            else:
                made[number] = _tied_result(branch.x, self.leaves[branch.same], made[branch.same])
        return made

    def tree_at_first_places(self, leaves: list, combine: Callable) -> Any:
        """A tree beside this one in which what's tied stands once, as a gradient does: where it first trains.

        Its other places hold None. ``combine(branch, parts)`` makes what stands at a branch.
        """
        made = [*leaves, *[None] * len(self.recipe)]
        for leaf, place in self.trainable_later.items():
            made[place] = made[leaf]
            made[leaf] = None
        number = 0
        for branch in self.recipe:
            number -= 1
            if branch.parts or isinstance(branch, Made):
                made[number] = combine(branch, [made[part] for part in branch.parts])
        return made[self.root]

    def tree_at_all_places(self, leaves: list, combine: Callable) -> Any:
        """A tree beside this one in which what's tied stands at each of its places, as an optimizer's state does.

        ``combine(branch, parts)`` makes what stands at a branch.
        """
        made = [*leaves, *[None] * len(self.recipe)]
        number = 0
        for branch in self.recipe:
            number -= 1
            if isinstance(branch, Made):
                made[number] = combine(branch, [made[part] for part in branch.parts])
            else:
                made[number] = made[branch.same]
        return made[self.root]

    def match(self, other: Tree, parts_of: Callable) -> list:
        """What stands in another tree at every place of this one, by number.

        ``parts_of(flat, number, other)`` says what `other`, which stands at the place with this number, has for each
        part of this tree there.
        """
        found: list = [None] * (len(self.leaves) + len(self.recipe))
        found[self.root] = other
        for number in self.order():
            if number >= 0:
                continue
            branch = self.recipe[-1 - number]
            if branch.parts or isinstance(branch, Made):
                for part, value in zip(branch.parts, parts_of(self, number, found[number])):
                    found[part] = value
        return found

    def paths(self) -> list[KeyPath]:
        """The path of every place, by number. Only errors and walks that ask for it need them."""
        found = [KeyPath()] * (len(self.leaves) + len(self.recipe))
        for number in range(-len(self.recipe), 0):
            branch = self.recipe[-1 - number]
            if branch.parts:
                for step, part in zip(path_steps(branch), branch.parts):
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

    def trainable_places(self) -> list[tuple[int, int]]:
        """The numbers of (place, leaf) wherever an optimizer may change a leaf: of a tie, the first of these places."""
        if not self.trainable_later:
            return [(leaf, leaf) for leaf, may_train in enumerate(self.may_train) if may_train]
        found = []
        for place in self.order():
            leaf = self.leaf_at(place)
            if leaf is not None and self.may_train[leaf] and place == self.trainable_later.get(leaf, leaf):
                found.append((place, leaf))
        return found

    def leaf_at(self, number: int) -> int | None:
        """The number of the leaf that stands at this place; None if something else does."""
        if number >= 0:
            return number
        branch = self.recipe[-1 - number]
        if isinstance(branch, TiedLeaf) and branch.same >= 0:
            return branch.same
        return None


def _tied_result(x: Any, first: Any, result: Any) -> Any:
    """What stands at a later place of a tie, if `result` does at its first: the same, perhaps transposed.

    In a gradient call, `result` is tracked, so the transposition is recorded as any call is. In the backward pass, its
    pullback turns the gradient of ``W.T`` back, and it's added to that of `W`. Nothing there knows about ties.
    """
    if x is first:
        return result
    return view_as(result, like=x, of=first)


def taken_apart(x: Tree) -> tuple[tuple | None, Sequence]:
    """(names, parts) of anything; the names are None if its parts are counted, or if it has none."""
    take = kind_of(x.__class__).take
    if take is None:
        return None, ()
    names, parts, _ = take(x)
    return names, parts


def flatten(x: Tree, stop: Callable | None = None, ties: bool = True) -> Flat:
    """Take `x` apart: each leaf once, in order. ``stop(path, node)`` says what counts as a leaf.

    With `ties`, two places with one mutable thing, or one array perhaps transposed, are one. `ValueError` on a cycle.
    """
    walk = _Walk(stop, ties)
    try:
        walk.flat.root = walk.visit(x, ALSO_NUMBERS)
    except _Cycle as cycle:
        path = KeyPath(cycle.path)
        above = KeyPath(cycle.path[: -cycle.length])
        raise ValueError(
            f"{path} is the same object as {above or 'the object itself'}, which contains it: a cycle has no end to "
            "walk to. Take the reference out, or register a class whose children leave it out."
        ) from None
    return walk.flat


class _Cycle(Exception):
    """`x` was met inside itself. On its way out, it collects the path."""

    def __init__(self, x: Tree):
        self.x = x
        self.length = 0
        self.path: tuple = ()

    def passes(self, x: Tree, step: Hashable) -> None:
        self.path = (step, *self.path)
        if x is self.x and not self.length:
            self.length = len(self.path)


_ATOMS = {bool, int, float, str, bytes, type(None), type, np.ufunc, np.dtype, type(len)}
_INSIDE: Any = ()  # of an object: it's being visited


class _Walk:
    """The walk that writes a recipe. It knows no paths, unless there's a `stop` to ask."""

    __slots__ = ("flat", "stop", "ties", "owners_tell", "leaf_by_owner", "leaf_by_key", "objects", "path")

    def __init__(self, stop: Callable | None, ties: bool):
        self.flat = Flat()
        self.stop = stop
        self.ties = ties
        self.owners_tell = ties  # all memory is NumPy's own, as far as we've seen
        self.leaf_by_owner: dict[int, int] = {}  # the first leaf in an owner's memory
        # By `parameter_key`: as long as owners tell, only those of which two have one owner.
        self.leaf_by_key: dict[tuple, int] = {}
        self.objects: dict[int, tuple[int, int]] = {}  # by id: the number of its place, and whether it trains there
        self.path: list = []

    def visit(self, x: Tree, may_train: int) -> int:
        """The number of the place of `x`, after those of its parts."""
        kind = KINDS.get(x.__class__) or kind_of(x.__class__)
        if kind.take is None:
            names = None
            parts = ()
            make = _itself
        else:
            names, parts, make = kind.take(x)
        if self.stop is None:
            ends = names is None and not parts and parts.__class__ is tuple
        else:
            ends = self.stop(self.path, x)
        if ends:
            return self.visit_leaf(x, kind, may_train)
        if not kind.is_mutable:
            numbers = self.visit_parts(x, kind, names, parts, may_train)
            return self.add(Made(x, kind, names, numbers, may_train, make))
        known = self.objects.get(id(x))
        if known is _INSIDE:
            raise _Cycle(x)
        if known is None or not self.ties:
            self.objects[id(x)] = _INSIDE
            numbers = self.visit_parts(x, kind, names, parts, may_train)
            place = self.add(Made(x, kind, names, numbers, may_train, make))
            self.objects[id(x)] = (place, may_train)
            return place
        same, may_train_there = known
        if may_train_there or not may_train:
            return self.add(Again(x, kind, None, [], may_train, None, same))
        self.objects[id(x)] = _INSIDE
        numbers = self.visit_parts(x, kind, names, parts, may_train)
        self.objects[id(x)] = (same, may_train)
        return self.add(Again(x, kind, names, numbers, may_train, make, same))

    def add(self, branch: Branch) -> int:
        """The number of this new place, which isn't a leaf's first."""
        self.flat.recipe.append(branch)
        return -len(self.flat.recipe)

    def visit_parts(self, x: Tree, kind: Kind, names: tuple | None, parts: Sequence, may_train: int) -> list[int]:
        """The numbers of the parts of `x`. What has no parts itself isn't worth a call."""
        if not kind.is_container:
            may_train = min(may_train, ARRAYS)
        flow: Iterable[int] = repeat(may_train)
        if kind.trainable_names is not None and names is not None:
            flow = [may_train if name in kind.trainable_names else NEVER for name in names]
        numbers: list[int] = []
        try:
            if self.stop is None:
                self.visit_each(parts, flow, numbers)
            else:
                for step, part, may_train in zip(_steps_to_parts(kind, names, len(parts)), parts, flow):
                    self.path.append(step)
                    numbers.append(self.visit(part, may_train))
                    self.path.pop()
        except _Cycle as cycle:
            cycle.passes(x, _steps_to_parts(kind, names, len(parts))[len(numbers)])
            raise
        return numbers

    def visit_each(self, parts: Sequence, flow: Iterable[int], numbers: list[int]) -> None:
        """Append the number of each part to `numbers`. A constant needs no `visit`, nor does an array that's new."""
        leaf_by_owner = self.leaf_by_owner
        leaves = self.flat.leaves
        flags = self.flat.may_train
        for part, may_train in zip(parts, flow):
            cls = part.__class__
            if cls is np.ndarray and part.base is None and self.owners_tell and id(part) not in leaf_by_owner:
                leaf_by_owner[id(part)] = len(leaves)
            elif cls not in _ATOMS:
                numbers.append(self.visit(part, may_train))
                continue
            numbers.append(len(leaves))
            leaves.append(part)
            flags.append(may_train)

    def visit_leaf(self, x: Any, kind: Kind, may_train: int) -> int:
        """The number of a leaf; perhaps it was met before."""
        if self.ties and kind.is_array:
            return self.visit_array(x, may_train)
        if self.ties and kind.is_mutable:
            known = self.objects.get(id(x), _INSIDE)
            if known is not _INSIDE:
                same, _ = known
                if same < 0:
                    return self.add_leaf_entered_before(x, same)
                return self.add_tied_leaf(x, same, may_train)
            self.objects[id(x)] = (len(self.flat.leaves), ALSO_NUMBERS)
        return self.add_leaf(x, may_train)

    def visit_array(self, x: Array, may_train: int) -> int:
        """The number of an array, which may be tied to an earlier one. Their owners are asked first: that's quick."""
        number = len(self.flat.leaves)
        if self.owners_tell and isinstance(x, np.ndarray):
            owner = owner_of(x)
            if owner is None:
                self.go_by_keys()
            else:
                same = self.leaf_by_owner.setdefault(owner, number)
                if same == number:  # by far the most frequent case
                    return self.add_leaf(x, may_train)
                first = self.flat.leaves[same]
                if first is x:
                    return self.add_tied_leaf(x, same, may_train)
                self.leaf_by_key.setdefault(parameter_key(first), same)  # views of one array: keys say which are one
        same = self.leaf_by_key.setdefault(parameter_key(x), number)
        if same == number:
            return self.add_leaf(x, may_train)
        return self.add_tied_leaf(x, same, may_train)

    def go_by_keys(self) -> None:
        """From now on, only keys tell: there's memory that isn't NumPy's own, and it may be an earlier array's."""
        self.owners_tell = False
        for leaf in self.leaf_by_owner.values():
            self.leaf_by_key.setdefault(parameter_key(self.flat.leaves[leaf]), leaf)

    def add_leaf(self, x: Tree, may_train: int) -> int:
        self.flat.leaves.append(x)
        self.flat.may_train.append(may_train)
        return len(self.flat.leaves) - 1

    def add_leaf_entered_before(self, x: Tree, branch: int) -> int:
        """The number of a leaf that `stop` let the walk enter at an earlier place: what's made there stands here too.

        Of ``[block, block]``, a `stop` that is true only of the path ``[1]`` calls the second one a leaf. It's the
        same object, so it's no leaf of its own, and what trains in it trains at its first place.
        """
        return self.add(TiedLeaf(x, branch, NEVER))

    def add_tied_leaf(self, x: Tree, same: int, may_train: int) -> int:
        flat = self.flat
        place = self.add(TiedLeaf(x, same, may_train))
        if may_train and not flat.may_train[same]:
            flat.may_train[same] = may_train
            flat.trainable_later[same] = place
        return place


def _itself(x: Tree, names: None, parts: list) -> Tree:
    return x
