"""What we ask of an array library: one record for each, such as NumPy's, CuPy's, the simulated GPU's or MLX's.

NumPy's functions aren't in it: they go to the library that owns their arguments (NEP 13 and 18). It has the rest. This
room is below all that ask. Each device registers its library's record when it's imported.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from numpy.lib.stride_tricks import sliding_window_view

from .annotations import Tree


@dataclass(frozen=True)
class ArrayKind:
    """What we ask of the arrays of one library. It can't do without the first three."""

    device_of: Callable[[Any], Any]  # the `Device` that an array is on
    address: Callable[[Any], int]  # where in memory it starts: two arrays that start alike may be one parameter
    add_at: Callable[[Any, Any, Any], None]  # ``x[index] += values``, where a position that's named twice counts twice
    can_freeze: bool = False  # it has ``flags.writeable``, so that a gradient can keep what it needs from being changed
    sliding: Callable[..., Any] = sliding_window_view  # ``sliding(x, extent, axes)``: all windows of x, as a view
    generator: type | None = None  # the class of its random number generators, which a checkpoint resumes
    launch: Callable[[Callable, tuple], Any] | None = None  # calls a function of elementwise calls as one launch
    card: Callable[[Any], AbstractContextManager[Any]] | None = None  # makes an array's card the current one
    on_record: Callable[[Any], None] | None = None  # hears of each result that's recorded for a gradient
    is_plain: bool = False  # it computes as NumPy does, on the host: what's quicker there is quicker for it
    take_step: Callable[[Any, Any, Any], None] | None = None  # ``take_step(leaf, x, g)``: an optimizer's, its own way
    draw: Callable[..., Any] | None = None  # ``draw(like, shape, rng)``: random numbers, in a way of its own
    graph: Callable[[Any], Any] | None = None  # ``graph(device)``: an `Order`, with which a captured step is one launch
    why_no_graph: str = "its library launches no graphs"  # what `captured` says if there's none


# By the type of its arrays; by that type's name, as in "cupy.ndarray", as long as the library needn't be imported.
ARRAY_KINDS: dict[type | str, ArrayKind] = {}
_found: dict[type, ArrayKind | None] = {}  # what `array_kind_of` has found out

# One of several cards is the *current* one. These array types have several, and their library computes on that one,
# wherever the operands are. With one card at most it's empty: what runs often asks that first.
several_cards: set[type] = set()
_plain_types: set[type] = set()  # those whose kind `is_plain`


def register(array_type: type | str, kind: ArrayKind) -> None:
    """From now on, objects of this type are arrays, and those of its subclasses."""
    ARRAY_KINDS[array_type] = kind
    if kind.is_plain and isinstance(array_type, type):
        _plain_types.add(array_type)
    _found.clear()


def array_kind(x: Tree) -> ArrayKind | None:
    """The record of the library whose array `x` is; None if it's no array, but a list or a number of NumPy's."""
    try:
        return _found[type(x)]
    except KeyError:
        return array_kind_of(type(x))


def array_kind_of(cls: type) -> ArrayKind | None:
    """The record for objects of this class: its own, or that of its nearest base."""
    try:
        return _found[cls]
    except KeyError:
        kind = _found[cls] = _find(cls)
        return kind


def _find(cls: type) -> ArrayKind | None:
    for base in cls.__mro__:
        for known_as in (base, f"{base.__module__}.{base.__qualname__}"):
            if known_as in ARRAY_KINDS:
                return ARRAY_KINDS[known_as]
    return None


def is_plain(x: Tree) -> bool:
    """Whether `x` is an array that computes as NumPy does, on the host: what's quicker there is quicker for it."""
    return type(x) in _plain_types


def can_freeze(x: Tree) -> bool:
    """Whether `x` is an array that can be made read-only for a while; NumPy's subclasses and memmaps are."""
    kind = array_kind(x)
    return kind is not None and kind.can_freeze


def generator_types() -> tuple[type, ...]:
    """The classes of the generators that the devices' libraries have. NumPy's own isn't loaded before its first use."""
    return tuple([kind.generator for kind in ARRAY_KINDS.values() if kind.generator is not None])


def launcher_of(x: Tree) -> Callable[[Callable, tuple], Any] | None:
    """How the device of `x` makes one launch of a function, given it and its arguments. None: it doesn't."""
    kind = ARRAY_KINDS.get(type(x))  # quicker than `array_kind`: each layer and each step of a rule asks
    if kind is None:
        return None
    return kind.launch
