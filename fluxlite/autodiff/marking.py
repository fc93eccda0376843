"""One pass over an argument of `gradient`: every parameter in it becomes tracked, in a copy.

Beside the copy comes a *recipe*, from which `collect` of `collecting.py` makes the gradient without walking the
argument again. It has the shape of the argument: the tracked array where a parameter stands for the first time, None
where nothing flows, and (kind, names, parts) for what has parts. The pass also notes what it put into each copy, so
that what `f` assigns to a model is found afterwards (`assigned.py`).

The pass knows no paths, which makes it fast. Where something is wrong, `name_the_place` walks again and names it.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..tensors import is_tensor, refuse_tensor
from ..tree.closures import captured
from ..tree.contract import attributes, children, fields_of, trainable
from ..tree.modes import Automatic
from ..tree.parameters import is_trainable_array
from ..tree.ties import is_array, parameter_key, same_view
from ..tree.walks import is_mutable, nodes
from ..unreached import is_new, say_what_has_no_gradient
from .collecting import record_of
from .constants import as_base_class
from .levels import Level, can_be_frozen
from .tracked import TrackedArray


class Marked(NamedTuple):
    """An argument on its way into `f`."""

    stand_in: Any  # what `f` gets
    recipe: Any
    copies: list  # (object or container, its copy, what the copy held when `f` got it, whether it may train there)


def mark(argument: Any, level: Level) -> Marked:
    """`argument` with a tracked array in the place of each parameter that may train, and what was noted on the way.

    Raises `ValueError` on a cycle and `RuntimeError` on what another gradient call left behind, naming the place.
    """
    if type(argument) is np.ndarray and argument.dtype.kind == "f":
        tracked = track_array(argument, level)
        return Marked(tracked, tracked, [])
    trained: set[tuple] = set()
    by_address = False
    while True:
        marking = _Marking(level, trained, by_address)
        try:
            stand_in, recipe = marking.visit(argument, True, True)
        except (_Nameless, TypeError):
            name_the_place(argument)
            raise
        except RecursionError:
            raise RecursionError("the parts of this argument are nested too deep to be walked: flatten it") from None
        if marking.met_foreign and not by_address:
            by_address = True
        elif missed := marking.missed():
            trained |= missed
        else:
            if marking.met_new:
                say_what_has_no_gradient(argument)
            return Marked(stand_in, recipe, marking.copies)


def track_array(array: Any, level: Level) -> TrackedArray:
    if can_be_frozen(array):
        level.freeze(array)
    return TrackedArray(as_base_class(array), level)


class _Nameless(Exception):
    """Something is wrong at a place whose name the pass does not know."""


# What has no parts and is no number, as is seen without asking.
_LEAVES = {bool, str, bytes, type(None), type, np.ufunc, np.dtype, types.BuiltinFunctionType}


class _Marking:
    """One pass. What is shared is met once, and a parameter is tracked once, whatever its places."""

    def __init__(self, level: Level, trained: set[tuple], by_address: bool) -> None:
        self.level = level
        self.trained = trained  # parameters that are known to train at a later place
        self.by_address = by_address
        self.met_new = False  # a leaf of a class, or a function, that was not met before: there may be arrays in it
        self.met_foreign = False  # memory that is not NumPy's own: only addresses say who shares it
        self.arrays: dict[Any, list] = {}  # by memory: the arrays of a parameter's first place, tracked
        self.idle: list[tuple] = []  # (memory, array) of what was left plain, where it does not train
        self.unclaimed: set[TrackedArray] = set()  # tracked where they do not train: the gradient has no place yet
        self.seen: dict[int, tuple] = {}  # id: what was met, its stand-in, whether it may train there
        self.inside: set[int] = set()
        self.copies: list[tuple] = []

    def visit(self, x: Any, trains: bool, bare: bool) -> tuple[Any, Any]:
        """The stand-in and the recipe of `x`. `bare`: nothing but tuples, lists and dicts is around it."""
        cls = x.__class__
        if cls is np.ndarray:
            return self.array(x, trains) if x.dtype.kind == "f" else (x, None)
        if cls in _LEAVES:
            return x, None
        if cls is float or cls is int:
            return self.number(float(x)) if bare else (x, None)
        if cls is tuple:
            return self.sequence(x, trains, bare) if x else (x, None)
        key = id(x)
        known = self.seen.get(key)
        if known is not None and (known[2] or not trains):
            return known[1], None
        if key in self.inside:
            raise _Nameless
        self.inside.add(key)
        fields = fields_of(cls)
        if fields is not None and x.__dict__.keys() >= fields.needed:
            stand_in, recipe = self.object(x, fields, trains)
        elif cls is list:
            stand_in, recipe = self.sequence(x, trains, bare)
        elif cls is dict:
            stand_in, recipe = self.dict(x, trains, bare)
        else:
            stand_in, recipe = self.other(x, trains, bare)
        self.inside.discard(key)
        if known is not None:  # met before where it does not train: now its gradient has a place
            stand_in = known[1]
        if fields is not None or is_mutable(x):
            self.seen[key] = (x, stand_in, trains)
        return stand_in, recipe

    def array(self, x: Any, trains: bool) -> tuple[Any, Any]:
        memory = self.memory(x)
        same = self.arrays.get(memory)
        if same is None and trains:
            tracked = track_array(x, self.level)
            self.arrays[memory] = [(x, tracked)]
            return tracked, tracked
        return self.met_again(x, trains, memory, same or [])

    def met_again(self, x: Any, trains: bool, memory: Any, same: list) -> tuple[Any, Any]:
        """`x` may be a parameter that was met before, or one that trains at another place only."""
        for first, tracked in same:
            if first is x or parameter_key(first) == parameter_key(x):
                return same_view(x, first, tracked), self.claimed(tracked, trains)
        if not trains and not (self.trained and parameter_key(x) in self.trained):
            self.idle.append((memory, x))
            return x, None
        tracked = track_array(x, self.level)
        self.arrays[memory] = [*same, (x, tracked)]
        if trains:
            return tracked, tracked
        self.unclaimed.add(tracked)
        return tracked, None

    def memory(self, x: Any) -> Any:
        """Equal for arrays that may share memory. Views of one array have one base: only those are compared."""
        if type(x) is np.ndarray and not self.by_address:
            base = x.base
            if base is None:
                return id(x)
            if type(base) is np.ndarray and base.base is None:
                return id(base)
        self.met_foreign = self.met_foreign or isinstance(x, np.ndarray)
        return parameter_key(x)

    def claimed(self, tracked: TrackedArray, trains: bool) -> TrackedArray | None:
        """The recipe of a parameter that is tracked already: its gradient stands at the first place that trains."""
        if trains and tracked in self.unclaimed:
            self.unclaimed.discard(tracked)
            return tracked
        return None

    def missed(self) -> set[tuple]:
        """The parameters that were left plain before a place was met where they train."""
        also = [(x, self.arrays[memory]) for memory, x in self.idle if memory in self.arrays]
        return {parameter_key(x) for x, same in also if parameter_key(x) in [parameter_key(y) for y, _ in same]}

    def number(self, x: Any) -> tuple[Any, Any]:
        tracked = TrackedArray(x, self.level)
        return tracked, tracked

    def sequence(self, x: Any, trains: bool, bare: bool) -> tuple[Any, Any]:
        visit = self.visit
        pairs = [visit(part, trains, bare) for part in x]
        kind = x.__class__
        new = kind([stand_in for stand_in, _ in pairs])
        if kind is list and not bare:
            self.copies.append((x, new, list(new), trains))
        return new, (kind, None, [recipe for _, recipe in pairs])

    def dict(self, x: dict, trains: bool, bare: bool) -> tuple[Any, Any]:
        pairs = {key: self.visit(part, trains, bare) for key, part in x.items()}
        new = {key: stand_in for key, (stand_in, _) in pairs.items()}
        if not bare:
            self.copies.append((x, new, dict(new), trains))
        return new, (dict, tuple(x), [recipe for _, recipe in pairs.values()])

    def object(self, x: Any, fields: Any, trains: bool) -> tuple[Any, Any]:
        new = object.__new__(x.__class__)
        held = new.__dict__
        held.update(x.__dict__)
        names = tuple(held) if fields.names is None else fields.names
        trained = fields.trained
        recipes = []
        for name in names:
            held[name], recipe = self.visit(held[name], trains and (trained is None or name in trained), False)
            recipes.append(recipe)
        self.copies.append((x, new, held.copy(), trains))
        # A mode that isn't declared in the class, but set in __init__, as one does in Flux.
        if held.get("active", self) is None and type(vars(x.__class__).get("active")) is not Automatic:
            x.__class__.active = Automatic()
        return new, (record_of, names, recipes)

    def other(self, x: Any, trains: bool, bare: bool) -> tuple[Any, Any]:
        """What comes apart by a rule of its own, or has no parts."""
        if type(x) is TrackedArray:
            if not x.level.is_open:
                raise _Nameless
            return self.array(x, trains)
        if is_array(x):
            return self.array(x, trains) if is_trainable_array(x) else (x, None)
        if isinstance(x, np.floating):
            return self.number(x) if bare else (x, None)
        parts, rebuild = children(x)
        is_leaf = isinstance(parts, tuple) and parts == ()
        if trains and (is_leaf or isinstance(x, types.FunctionType)) and is_new(x):
            self.met_new = True
        if is_leaf:
            if is_tensor(x):
                raise _Nameless
            return x, None
        bare = bare and isinstance(x, (tuple, list, dict))
        trained = trainable(x)
        by_name = isinstance(parts, Mapping)
        pairs = [
            self.visit(part, trains and (not by_name or step in trained), bare)
            for step, part in (parts.items() if by_name else enumerate(parts))
        ]
        stand_ins, recipes = [stand_in for stand_in, _ in pairs], [recipe for _, recipe in pairs]
        new = rebuild(dict(zip(parts, stand_ins)) if by_name else stand_ins)
        if type(new) is type(x) and not bare and not isinstance(x, _UNCHANGING):
            self.copies.append((x, new, held_by(new).copy(), trains))
        kind = rebuild if isinstance(x, (tuple, list, dict)) else record_of if by_name else type(parts)
        return new, (kind, tuple(parts) if by_name else None, recipes)


_UNCHANGING = (tuple, functools.partial, types.MethodType)


def held_by(x: Any) -> Any:
    """What may have changed in `x`: a list or a dict itself, the variables of a function, an object's attributes."""
    if isinstance(x, (list, dict)):
        return x
    if isinstance(x, types.FunctionType):
        return captured(x)
    return x.__dict__ if fields_of(type(x)) is not None else attributes(x)


def name_the_place(x: Any) -> None:
    """Raise what names the place in `x` that cannot be walked through: a cycle, or a left-over tracked array."""
    for path, node in nodes(x):
        refuse_tensor(f"gradient{f', at {path},' if path else ''}", node)
        if type(node) is TrackedArray:
            node.check_open(str(path))
        elif is_trainable_array(node):
            as_base_class(node, str(path))
