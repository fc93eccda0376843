"""What stands on `flatten`: `fmap` and its kin, what's in a model, what trains. Each is a loop over a recipe.

The names are Flux's and Functors.jl's: `fmap`, `fmapstructure`, `fcollect`, ``fmap_with_path``, ``KeyPath``.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from ..annotations import Array, T, Tree
from ..array_kinds import several_cards
from ..helping import NOT_GIVEN
from ..words import explained
from .contract import children, is_leaf, kind_of
from .flat import Flat, KeyPath, Made, flatten, parts_at_steps, path_steps, taken_apart
from .ties import HERE, is_tracked, is_trainable_array, lies_alike, on_card_of, view_as

_AT_LEAVES = lambda path, node: is_leaf(node)  # noqa: E731  (in the signature it says nothing)


@explained()
def fmap_with_path(
    function: Callable,
    x: T,
    *others: Tree,
    exclude: Callable[[KeyPath, Any], bool] = _AT_LEAVES,
    prune: Any = NOT_GIVEN,
    cache: bool = True,
) -> T:
    """`fmap` whose `function` and `exclude` also get the path: ``function(path, leaf, …)``.

    >>> fmap_with_path(lambda path, leaf: str(path), {"layers": [1, 2]})
    {'layers': ["['layers'][0]", "['layers'][1]"]}
    """
    stop = None
    if exclude is not _AT_LEAVES:
        stop = lambda path, node: exclude(KeyPath(path), node)  # noqa: E731
    flat = flatten(x, stop, cache)
    paths = flat.paths()
    return _map_leaves(flat, lambda number, *leaves: function(paths[number], *leaves), others, prune)


@explained()
def fmap(
    function: Callable,
    x: T,
    *others: Tree,
    exclude: Callable[[Any], bool] = is_leaf,
    prune: Any = NOT_GIVEN,
    cache: bool = True,
) -> T:
    """A new tree like `x` with ``function(leaf)`` for every leaf (Flux: ``fmap``).

    An array at two places is handed over once, and its result stands at both: ties survive, even between ``W`` and
    ``W.T``. ``prune=value`` puts `value` at every place after the first; ``cache=False`` breaks the ties.
    ``exclude(node)`` says where to stop. With `others`, trees of the same structure, it's
    ``function(leaf, other_leaf, …)``. `x` stays as it is. Raises `ValueError` on a cycle, and where the trees differ.

    >>> fmap(lambda leaf: leaf * 2, {"a": 1, "b": (2, [3.0])})
    {'a': 2, 'b': (4, [6.0])}
    """
    flat = flatten(x, _stop(exclude), cache)
    return _map_leaves(flat, lambda number, *leaves: function(*leaves), others, prune)


@explained()
def fmapstructure(
    function: Callable, x: Tree, *, exclude: Callable[[Any], bool] = is_leaf, prune: Any = NOT_GIVEN, cache: bool = True
) -> Any:
    """`fmap` without rebuilding: registered objects become dicts of their fields (Flux: ``fmapstructure``).

    >>> fmapstructure(type, (1, ["a"]))
    (<class 'int'>, [<class 'str'>])
    """
    flat = flatten(x, _stop(exclude), cache)
    for branch in flat.recipe:
        if isinstance(branch, Made):
            branch.make = _as_parts
    return _map_leaves(flat, lambda number, leaf: function(leaf), (), prune)


def _as_parts(x: Tree, names: tuple | None, parts: list) -> list | tuple | dict:
    if names is None:
        return type_of_parts(x)(parts)
    return dict(zip(names, parts))


def type_of_parts(x: Tree) -> type[list] | type[tuple]:
    """Whether a sequence of parts is a list or a tuple."""
    if isinstance(children(x)[0], list):
        return list
    return tuple


def _stop(exclude: Callable) -> Callable | None:
    """`exclude`, which is asked about a node, as `flatten` asks it; None if it says nothing new."""
    if exclude is is_leaf:
        return None
    return lambda path, node: exclude(node)


def _map_leaves(flat: Flat, function: Callable, others: tuple, prune: Any) -> Any:
    trees = [flat.match(other, _parts_or_refuse) for other in others]

    def call(number: int, leaf: Tree) -> Any:
        try:
            return function(number, leaf, *[tree[number] for tree in trees])
        except RuntimeError:
            check_open(flat, [number])
            raise

    def again(number: int, x: Any, first: Any, result: Any) -> Any:
        if prune is not NOT_GIVEN:  # otherwise a repeated place gets the first one's result
            return prune
        if x is first or lies_alike(x, first):
            return result
        if getattr(result, "shape", None) == first.shape:
            return view_as(result, like=x, of=first)
        return call(number, x)  # what was made, a number for example, says nothing about x

    made = flat.results([call(number, leaf) for number, leaf in enumerate(flat.leaves)], again)
    return made[flat.root]


def _parts_or_refuse(flat: Flat, number: int, other: Tree) -> Sequence:
    """What `other` has for each part at this place. Raises `ValueError` where it has nothing."""
    branch = flat.recipe[-1 - number]
    names, values = taken_apart(other)
    if names == branch.names and len(values) == len(branch.parts):
        return values
    parts = dict(parts_at_steps(other))
    for step in path_steps(branch):
        if step not in parts:
            raise ValueError(
                f"the trees differ at {flat.paths()[number] + (step,)}: the first has it in a "
                f"{type(branch.x).__name__}, the other has a {type(other).__name__} without it there"
            )
    return [parts[step] for step in path_steps(branch)]


def check_open(flat: Flat, places: Iterable[int]) -> None:
    """Raises `RuntimeError`, with the path, if a gradient call left a tracked array behind at one of these places."""
    for place in places:
        x = flat.at(place)
        if is_tracked(x) and not x.level.is_open:
            x.check_open(str(flat.paths()[place]))


# -- what is in it -------------------------------------------------------------------------------------------------


def nodes(
    x: Tree, exclude: Callable[[Any], bool] | None = None, every_place: bool = False
) -> list[tuple[KeyPath, Any]]:
    """(path, node) of `x` and everything in it, parents first; what is shared, once, or at `every_place`.

    A node for which `exclude` is true is left out with all that it contains.
    """
    if exclude is None:
        flat = flatten(x, None, not every_place)
    else:
        flat = flatten(x, lambda path, node: exclude(node) or is_leaf(node), not every_place)
    paths = flat.paths()
    found = []
    for number in flat.order():
        node = flat.at(number)
        is_left_out = exclude is not None and number >= 0 and exclude(node)
        if flat.first_place(number) == number and not is_left_out:
            found.append((paths[number], node))
    return found


@explained()
def fcollect(x: Tree, exclude: Callable[[Any], bool] = lambda node: False) -> list:
    """`x` and all its parts, depth first, parents before children (Flux: ``fcollect``).

    >>> fcollect([1, (2, 3)])
    [[1, (2, 3)], 1, (2, 3), 2, 3]
    """
    return [node for _, node in nodes(x, exclude)]


@explained()
def leaves(x: Tree) -> list:
    """The leaves of `x` in order; a shared array once (Functors: ``fleaves``).

    >>> leaves({"a": 1, "b": [2, (), 3]})
    [1, 2, 3]
    """
    flat = flatten(x)
    check_open(flat, range(len(flat.leaves)))
    return [leaf for leaf in flat.leaves if not isinstance(leaf, tuple) or leaf]


def is_mutable(x: Tree) -> bool:
    return kind_of(type(x)).is_mutable


def on_first_card_of(x: Tree) -> AbstractContextManager[Any]:
    """`on_card_of` for a container or a model: the first of its arrays that's on one of several cards says which."""
    if several_cards:
        for leaf in leaves(x):
            card = on_card_of(leaf)
            if card is not HERE:
                return card
    return HERE


# -- what trains ---------------------------------------------------------------------------------------------------


@explained()
def trainables(x: Tree) -> Iterator[tuple[KeyPath, Array]]:
    """(path, array) of every floating-point array that an optimizer may change; a tied one at its first place.

    Inside `gradient` these are the tracked arrays, so that a penalty over them is part of the loss (Optimisers.jl:
    ``trainables(x, path=true)``). A path leads to the same place in a tree beside the model: ``state[path]`` is what an
    optimizer has there, as in the example at `adjust`; if the model is a dict or a list, it's ``path.get(state)``.

    >>> [(str(path), array.shape) for path, array in trainables({"W": np.zeros((2, 3)), "steps": np.arange(3)})]
    [("['W']", (2, 3))]
    """
    flat = flatten(x)
    paths = flat.paths()
    return iter([(paths[place], flat.at(place)) for place, _ in parameters(flat)])


def parameters(flat: Flat) -> list[tuple[int, int]]:
    """(place, leaf) of what `trainables` lists."""
    found = [(place, leaf) for place, leaf in flat.trainable_places() if _is_parameter(flat.leaves[leaf])]
    check_open(flat, [place for place, _ in found])
    return found


def _is_parameter(x: Any) -> bool:
    while is_tracked(x):
        x = x.value
    return is_trainable_array(x)
