"""What stands on `flatten`: `fmap` and its kin, what's in a model, what trains. Each is a loop over a recipe.

The names are Flux's and Functors.jl's: `fmap`, `fmapstructure`, `fcollect`, ``fmap_with_path``, ``KeyPath``.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any

from ..messages import NOT_GIVEN, explained
from .contract import children, is_leaf, kind_of
from .flat import Flat, KeyPath, flatten
from .ties import HERE, card_getters, is_tracked, is_trainable_array, lies_alike, on_card_of, same_view

_AT_LEAVES = lambda path, node: is_leaf(node)  # noqa: E731  (in the signature it says nothing)


@explained()
def fmap_with_path(
    function: Callable,
    x: Any,
    *others: Any,
    exclude: Callable[[KeyPath, Any], bool] = _AT_LEAVES,
    prune: Any = NOT_GIVEN,
    cache: bool = True,
) -> Any:
    """`fmap` whose `function` and `exclude` also get the path: ``function(path, leaf, …)``.

    >>> fmap_with_path(lambda path, leaf: str(path), {"layers": [1, 2]})
    {'layers': ["['layers'][0]", "['layers'][1]"]}
    """
    flat = flatten(x, None if exclude is _AT_LEAVES else lambda path, node: exclude(KeyPath(path), node), cache)
    paths = flat.paths()
    return _mapped(flat, lambda number, *leaves: function(paths[number], *leaves), others, prune)


@explained()
def fmap(
    function: Callable,
    x: Any,
    *others: Any,
    exclude: Callable[[Any], bool] = is_leaf,
    prune: Any = NOT_GIVEN,
    cache: bool = True,
) -> Any:
    """A new tree like `x` with ``function(leaf)`` for every leaf (Flux: ``fmap``).

    An array at two places is handed over once, and its result stands at both: ties survive, even between ``W`` and
    ``W.T``. ``prune=value`` puts `value` at every place after the first; ``cache=False`` breaks the ties.
    ``exclude(node)`` says where to stop. With `others`, trees of the same structure, it's
    ``function(leaf, other_leaf, …)``. `x` stays as it is. Raises `ValueError` on a cycle, and where the trees differ.

    >>> fmap(lambda leaf: leaf * 2, {"a": 1, "b": (2, [3.0])})
    {'a': 2, 'b': (4, [6.0])}
    """
    flat = flatten(x, _stop(exclude), cache)
    return _mapped(flat, lambda number, *leaves: function(*leaves), others, prune)


@explained()
def fmapstructure(
    function: Callable, x: Any, *, exclude: Callable[[Any], bool] = is_leaf, prune: Any = NOT_GIVEN, cache: bool = True
) -> Any:
    """`fmap` without rebuilding: registered objects become dicts of their fields (Flux: ``fmapstructure``).

    >>> fmapstructure(type, (1, ["a"]))
    (<class 'int'>, [<class 'str'>])
    """
    flat = flatten(x, _stop(exclude), cache)
    flat.recipe = [branch._replace(make=_as_parts) for branch in flat.recipe]
    return _mapped(flat, lambda number, leaf: function(leaf), (), prune)


def _as_parts(x: Any, names: Any, parts: list) -> Any:
    return type_of_parts(x)(parts) if names is None else dict(zip(names, parts))


def type_of_parts(x: Any) -> type:
    """Whether a sequence of parts is a list or a tuple."""
    return list if isinstance(children(x)[0], list) else tuple


def _stop(exclude: Callable) -> Callable | None:
    return None if exclude is is_leaf else lambda path, node: exclude(node)


def _mapped(flat: Flat, function: Callable, others: tuple, prune: Any) -> Any:
    trees = [flat.along(other, _part_or_refuse) for other in others]

    def call(number: int, leaf: Any) -> Any:
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
            return same_view(x, first, result)
        return call(number, x)  # what was made, a number for example, says nothing about x

    made = flat.results([call(number, leaf) for number, leaf in enumerate(flat.leaves)], again)
    return made[flat.root]


def _part_or_refuse(flat: Flat, number: int, other: Any, step: Any) -> Any:
    parts = children(other)[0]
    if step in (parts if isinstance(parts, Mapping) else range(len(parts))):
        return parts[step]
    raise ValueError(
        f"the trees differ at {flat.paths()[number] + (step,)}: the first has it in a "
        f"{type(flat.at(number)).__name__}, the other has a {type(other).__name__} without it there"
    )


def check_open(flat: Flat, places: Iterable[int]) -> None:
    """Raises `RuntimeError`, with the path, if a gradient call left a tracked array behind at one of these places."""
    for place in places:
        x = flat.at(place)
        if is_tracked(x) and not x.level.is_open:
            x.check_open(str(flat.paths()[place]))


# -- what is in it -------------------------------------------------------------------------------------------------


def nodes(x: Any, exclude: Callable[[Any], bool] | None = None, every_place: bool = False) -> list:
    """(path, node) of `x` and everything in it, parents first; what is shared, once, or at `every_place`.

    A node for which `exclude` is true is left out with all that it contains.
    """
    stop = None if exclude is None else lambda path, node: exclude(node) or is_leaf(node)
    flat = flatten(x, stop, not every_place)
    paths = flat.paths()
    found = [
        (number, flat.at(number)) for number in flat.order() if number >= 0 or flat.recipe[-1 - number].same is None
    ]
    return [(paths[i], node) for i, node in found if i < 0 or exclude is None or not exclude(node)]


@explained()
def fcollect(x: Any, exclude: Callable[[Any], bool] = lambda node: False) -> list:
    """`x` and all its parts, depth first, parents before children (Flux: ``fcollect``).

    >>> fcollect([1, (2, 3)])
    [[1, (2, 3)], 1, (2, 3), 2, 3]
    """
    return [node for _, node in nodes(x, exclude)]


@explained()
def leaves(x: Any) -> list:
    """The leaves of `x` in order; a shared array once (Functors: ``fleaves``).

    >>> leaves({"a": 1, "b": [2, (), 3]})
    [1, 2, 3]
    """
    flat = flatten(x)
    check_open(flat, range(len(flat.leaves)))
    return [leaf for leaf in flat.leaves if not isinstance(leaf, tuple) or leaf]


def is_mutable(x: Any) -> bool:
    return kind_of(type(x)).is_mutable


def on_first_card_of(x: Any) -> AbstractContextManager[Any]:
    """`on_card_of` for a container or a model: the first of its arrays that's on one of several cards says which."""
    return next((card for card in map(on_card_of, leaves(x)) if card is not HERE), HERE) if card_getters else HERE


# -- what trains ---------------------------------------------------------------------------------------------------


@explained()
def trainables(x: Any) -> Iterator[tuple[KeyPath, Any]]:
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
    found = [(place, leaf) for place, leaf in flat.trained() if _is_parameter(flat.leaves[leaf])]
    check_open(flat, [place for place, _ in found])
    return found


def _is_parameter(x: Any) -> bool:
    while is_tracked(x):
        x = x.value
    return is_trainable_array(x)
