"""Walks over a tree: take apart, do something at the leaves, build again.

`fmap` is the walk that moving, tracking and updating a model are made of. A shared array is met once, a cycle
is reported, and every walk knows the path to where it is, so that errors can say ``layers[0].weight``.

The names are Flux's and Functors.jl's: `fmap`, `fmapstructure`, `fcollect`, ``fmap_with_path``, ``KeyPath``.
"""

from __future__ import annotations

import enum
import functools
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ..arguments import check, check_callable, explained
from .contract import children, is_leaf
from .ties import is_array, is_tracked, lies_alike, parameter_key, same_view

# ---------------------------------------------------------------------------------------------
# Paths: layers[0].weight
# ---------------------------------------------------------------------------------------------


class Attribute(str):
    """A step of a path that is written ``.name``; any other step is written ``[key]``."""


class KeyPath(tuple):
    """Where something is in a tree; prints as Python would write it (Functors: ``KeyPath``).

    >>> path = KeyPath([Attribute("layers"), 0, Attribute("weight")])
    >>> print(path, path + KeyPath(["x"]))
    layers[0].weight layers[0].weight['x']
    """

    def __add__(self, other: Any) -> KeyPath:
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
            raise ValueError("an empty path is the tree itself and cannot be set")
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


# ---------------------------------------------------------------------------------------------
# The walk, and the walks
# ---------------------------------------------------------------------------------------------

# Values that cannot change cannot be shared: two equal ones are not a tie.
_IMMUTABLE = (
    bool, int, float, complex, str, bytes, type(None), type, tuple, frozenset, range, slice, np.generic, np.dtype,
    np.ufunc, types.FunctionType, types.BuiltinFunctionType, functools.partial, types.MethodType, types.ModuleType,
    enum.Enum, types.EllipsisType,
)  # fmt: skip


def is_mutable(x: Any) -> bool:
    parameters = getattr(type(x), "__dataclass_params__", None)
    return not isinstance(x, _IMMUTABLE) and not (parameters is not None and parameters.frozen)


class Walk:
    """One depth-first, parent-first walk over a tree and, beside it, over others of the same structure.

    A subclass says what the walk is for: what is done at a leaf, where to stop, what becomes of the parts.
    """

    def __init__(self) -> None:
        # Holds the object beside its result: an id is given again once its object is gone.
        self.seen: dict[tuple, tuple[Any, Any]] = {}
        self.inside: dict[int, KeyPath] = {}

    def leaf(self, path: KeyPath, x: Any, *others: Any) -> Any:
        """What stands for the leaf `x` in the result."""
        return x

    def is_end(self, path: KeyPath, x: Any) -> bool:
        """Whether `x` is handed to `leaf`, and not taken apart."""
        return is_leaf(x)

    def parts(self, x: Any) -> tuple[Any, Any]:
        return children(x)

    def combine(self, x: Any, results: Any, rebuild: Any) -> Any:
        """What stands for `x`, of what stands for its parts."""
        return rebuild(results)

    def key(self, x: Any) -> tuple | None:
        """Equal for two places that hold one thing, which is met once; None for what cannot be shared."""
        return parameter_key(x) if is_mutable(x) else None

    def repeat(self, path: KeyPath, first: Any, result: Any, x: Any, *others: Any) -> Any:
        """What stands at a later place of `first`, for which `result` stands: ties survive."""
        if first is x or not (is_array(x) or is_tracked(x)) or lies_alike(x, first):
            return result
        if getattr(result, "shape", None) == first.shape:
            return same_view(x, first, result)
        return self.leaf(path, x, *others)  # what was made, a number for example, says nothing about x

    def run(self, x: Any, *others: Any) -> Any:
        """Walk over `x`. Raises `ValueError` on a cycle and where the trees differ, `RecursionError` on a deep tree."""
        try:
            return self.visit(KeyPath(), x, *others)
        except RecursionError:
            raise RecursionError(f"the parts of this {type(x).__name__} are nested too deep to be walked") from None

    def visit(self, path: KeyPath, x: Any, *others: Any) -> Any:
        key = self.key(x)
        if key in self.seen:
            return self.repeat(path, *self.seen[key], x, *others)
        try:
            result = self.leaf(path, x, *others) if self.is_end(path, x) else self.descend(path, x, *others)
        except RuntimeError:
            check_open(path, x)
            raise
        if key is not None:
            self.seen[key] = (x, result)
        return result

    def descend(self, path: KeyPath, x: Any, *others: Any) -> Any:
        if id(x) in self.inside:
            raise ValueError(
                f"{_place(path)} is the same object as {_place(self.inside[id(x)])}, which contains it: a cycle has no "
                "end to walk to. Take the reference out, or register a class whose children leave it out."
            )
        self.inside[id(x)] = path
        parts, rebuild = self.parts(x)
        results = []
        for step, part in steps(x, parts):
            beside = [_beside(path, x, other, step) for other in others]
            results.append(self.visit(path + (step,), part, *beside))
        del self.inside[id(x)]
        if isinstance(parts, Mapping):
            return self.combine(x, dict(zip(parts, results)), rebuild)
        return self.combine(x, results if isinstance(parts, list) else tuple(results), rebuild)


def check_open(path: KeyPath, x: Any) -> None:
    """Raises `RuntimeError` if `x` is a tracked array that a gradient call left behind, at `path`."""
    if is_tracked(x):
        x.check_open(str(path))


def _place(path: KeyPath) -> str:
    return str(path) or "the object itself"


def steps(x: Any, parts: Any) -> Iterator[tuple[Any, Any]]:
    if not isinstance(parts, Mapping):
        yield from enumerate(parts)
    elif isinstance(x, Mapping):
        yield from parts.items()
    else:
        yield from ((Attribute(name) if isinstance(name, str) else name, part) for name, part in parts.items())


def _beside(path: KeyPath, x: Any, other: Any, step: Any) -> Any:
    """The part of `other` that stands where `step` leads in `x`."""
    parts = children(other)[0]
    if step in (parts if isinstance(parts, Mapping) else range(len(parts))):
        return parts[step]
    raise ValueError(
        f"the trees differ at {_place(path + (step,))}: the first has it in a {type(x).__name__}, "
        f"the other has a {type(other).__name__} without it there"
    )


_KEEP = object()  # `prune` was not given: a repeated place gets the first one's result


class _Map(Walk):
    """Calls a function at each leaf and builds the tree again."""

    def __init__(self, function: Callable, exclude: Callable, prune: Any, cache: bool):
        super().__init__()
        check(function=function, exclude=exclude, cache=cache)
        self.function, self.exclude, self.prune, self.cache = function, exclude, prune, cache

    def leaf(self, path: KeyPath, x: Any, *others: Any) -> Any:
        return self.function(x, *others)

    def is_end(self, path: KeyPath, x: Any) -> bool:
        return self.exclude(x)

    def key(self, x: Any) -> tuple | None:
        return super().key(x) if self.cache else None

    def repeat(self, path: KeyPath, first: Any, result: Any, x: Any, *others: Any) -> Any:
        return super().repeat(path, first, result, x, *others) if self.prune is _KEEP else self.prune


class _MapWithPath(_Map):
    """Its functions are also told where they are."""

    def leaf(self, path: KeyPath, x: Any, *others: Any) -> Any:
        return self.function(path, x, *others)

    def is_end(self, path: KeyPath, x: Any) -> bool:
        return self.exclude(path, x)


class _MapStructure(_Map):
    """Builds nothing again: the parts stay as they come."""

    def combine(self, x: Any, results: Any, rebuild: Any) -> Any:
        return results


def fmap_with_path(
    function: Callable,
    x: Any,
    *others: Any,
    exclude: Callable[[KeyPath, Any], bool] = lambda path, node: is_leaf(node),
    prune: Any = _KEEP,
    cache: bool = True,
) -> Any:
    """`fmap` whose `function` and `exclude` are also told where they are: ``function(path, leaf, …)``.

    >>> fmap_with_path(lambda path, leaf: str(path), {"layers": [1, 2]})
    {'layers': ["['layers'][0]", "['layers'][1]"]}
    """
    return _MapWithPath(function, exclude, prune, cache).run(x, *others)


def fmap(
    function: Callable,
    x: Any,
    *others: Any,
    exclude: Callable[[Any], bool] = is_leaf,
    prune: Any = _KEEP,
    cache: bool = True,
) -> Any:
    """A new tree like `x` with ``function(leaf)`` for every leaf (Flux: ``fmap``).

    An array found at two places is handed over once, and its result stands at both: ties survive, also
    between ``W`` and ``W.T``. ``prune=value`` puts `value` at every place after the first; ``cache=False``
    breaks the ties. ``exclude(node)`` says where to stop and call `function`. With `others`, trees of the
    same structure, calls ``function(leaf, other_leaf, …)``; the result has the types of `x`.

    `x` is left as it is; an unregistered object is a leaf. Raises `ValueError` on a cycle, and where
    the trees differ.

    >>> fmap(lambda leaf: leaf * 2, {"a": 1, "b": (2, [3.0])})
    {'a': 2, 'b': (4, [6.0])}
    """
    return _Map(function, exclude, prune, cache).run(x, *others)


def fmapstructure(
    function: Callable, x: Any, *, exclude: Callable[[Any], bool] = is_leaf, prune: Any = _KEEP, cache: bool = True
) -> Any:
    """`fmap` without rebuilding: registered objects become dicts of their fields (Flux: ``fmapstructure``).

    >>> fmapstructure(type, (1, ["a"]))
    (<class 'int'>, [<class 'str'>])
    """
    return _MapStructure(function, exclude, prune, cache).run(x)


class _Nodes(Walk):
    """Notes what it meets, parents first."""

    def __init__(self, exclude: Callable[[Any], bool], parts_of: Callable[[Any], Any] | None):
        super().__init__()
        self.exclude, self.parts_of = exclude, parts_of
        self.found: list[tuple[KeyPath, Any]] = []

    def is_end(self, path: KeyPath, x: Any) -> bool:
        if self.exclude(x):
            return True
        self.found.append((path, x))
        return is_leaf(x)

    def parts(self, x: Any) -> tuple[Any, Any]:
        return children(x) if self.parts_of is None else (self.parts_of(x), None)

    def combine(self, x: Any, results: Any, rebuild: Any) -> None:
        return None


class _EveryPlace(_Nodes):
    """Notes what is shared at each of its places."""

    def key(self, x: Any) -> None:
        return None


def nodes(
    x: Any, exclude: Callable[[Any], bool] = lambda node: False, parts_of: Callable[[Any], Any] | None = None
) -> Iterator[tuple[KeyPath, Any]]:
    """(path, node) of `x` and everything in it, parents first; what is shared, once, at its first place.

    A node for which `exclude` is true is left out with all that it contains. ``parts_of(node)`` says what to go into
    where that is not all children, as `trainable` does.
    """
    walk = _Nodes(exclude, parts_of)
    walk.run(x)
    return iter(walk.found)


def every_place(x: Any) -> Iterator[tuple[KeyPath, Any]]:
    """`nodes`, with what is shared at each of its places."""
    walk = _EveryPlace(lambda node: False, None)
    walk.run(x)
    return iter(walk.found)


def fcollect(x: Any, exclude: Callable[[Any], bool] = lambda node: False) -> list:
    """`x` and all its parts, depth first, parents before children (Flux: ``fcollect``).

    >>> fcollect([1, (2, 3)])
    [[1, (2, 3)], 1, (2, 3), 2, 3]
    """
    check_callable("fcollect(x, exclude): exclude", exclude)
    return [node for _, node in nodes(x, exclude)]


def leaves(x: Any) -> list:
    """The leaves of `x` in order; a shared array once (Functors: ``fleaves``).

    >>> leaves({"a": 1, "b": [2, (), 3]})
    [1, 2, 3]
    """
    found = []
    for path, node in nodes(x):
        if is_leaf(node) and not (isinstance(node, tuple) and not node):
            check_open(path, node)
            found.append(node)
    return found
