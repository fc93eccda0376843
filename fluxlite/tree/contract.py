"""One contract for everything that is made of parts: ``functor(x) -> (children, rebuild)``.

``children`` are the parts of `x`, and ``rebuild`` makes the same kind of thing from other parts. This is Functors.jl's
contract, under its names. `kind_of` finds out once what a class says of all its objects; a walk (`flat.py`) asks that.
"""

import contextlib
import copy
import copyreg
import dataclasses
import enum
import functools
import inspect
import types
from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import Any, TypeVar, overload

import numpy as np

from ..annotations import Tree
from ..helping import NOT_GIVEN
from ..words import in_words
from .ties import is_array, is_array_type

Parts = list | tuple | Mapping[str, Any]
Rebuild = Callable[[Any], Any]  # from parts like these
Children = tuple[Parts, Rebuild]


@functools.singledispatch
def children(x: Tree) -> Children:
    """The parts of `x` and the function that rebuilds it: the question every walk asks.

    A leaf (an array, a number, a string, a function, an unregistered object) has the parts ``()``, exactly.
    A sequence's parts are the sequence itself; a dict's, the dict; a registered object's, a dict of its fields.

    >>> parts, rebuild = children([1, 2])
    >>> parts, rebuild(["one", "two"])
    ([1, 2], ['one', 'two'])
    >>> children("a string is a leaf")[0]
    ()
    """
    return (), lambda _: x


def is_leaf(x: Tree) -> bool:
    """Whether `x` has no parts, so that a walk hands it to the function as it is.

    >>> is_leaf(np.zeros(3)), is_leaf([1, 2]), is_leaf("relu")
    (True, False, True)
    """
    parts = children(x)[0]
    return isinstance(parts, tuple) and not parts


def trainable(x: Tree) -> Parts:
    """The children of `x` that an optimizer may change; all of them unless declared otherwise (Flux: ``trainable``).

    Declared with ``functor(Cls, trainable=("weight",))``.

    >>> trainable({"weight": 1.0, "bias": 2.0})
    {'weight': 1.0, 'bias': 2.0}
    """
    names = kind_of(type(x)).trainable_names
    if names is None:
        return children(x)[0]
    return {name: getattr(x, name) for name in names}


# -- registering a class -------------------------------------------------------------------------------------------


Class = TypeVar("Class", bound=type)


@overload
def functor(  # type: ignore[overload-overlap]
    x: Class, children: tuple[str, ...] | None = None, trainable: tuple[str, ...] | None = None
) -> Class: ...
@overload
def functor(
    *, children: tuple[str, ...] | None = None, trainable: tuple[str, ...] | None = None
) -> Callable[[Class], Class]: ...
@overload
def functor(x: Tree) -> Children: ...
def functor(
    x: Any = NOT_GIVEN, children: tuple[str, ...] | None = None, trainable: tuple[str, ...] | None = None
) -> Any:
    """Register a class, or take an instance apart (Flux: ``@functor T`` and ``functor(x)``).

    Above a class, ``@functor`` makes all fields children, ``@functor(children=("actor",))`` those named; the others are
    carried over unchanged. ``trainable=`` names what an optimizer may change: what *moves* and what *trains* are two
    questions. Its objects then print as a tree, unless the class has a ``__repr__`` (Flux: ``@layer``).
    Given an instance, returns ``(children, rebuild)``. Raises `TypeError` for what isn't a tuple of names and for a
    class that is more than its fields, and `ValueError` for what would train but not move.

    >>> @functor
    ... class ActorCritic:
    ...     def __init__(self, actor, critic):
    ...         self.actor, self.critic = actor, critic
    >>> parts, rebuild = functor(ActorCritic(1, 2))
    >>> parts, rebuild({"actor": "A", "critic": "C"}).critic
    ({'actor': 1, 'critic': 2}, 'C')
    """
    if x is NOT_GIVEN:
        return lambda cls: functor(cls, children, trainable)
    if not isinstance(x, type):
        if children is not None or trainable is not None:
            raise TypeError(f"names are declared for a class, functor({type(x).__name__}, …), not for one object of it")
        return _children(x)
    if not inspect.isabstract(x):
        object.__new__(x)  # raises TypeError for a class whose objects are more than their fields, as lists are
    _check_names(x, children)
    _check_names(x, trainable)
    if children is not None and not set(trainable or ()) <= set(children):
        raise ValueError(f"what is trainable in {x.__name__}, {trainable}, isn't all among its children, {children}")
    register(x, functools.partial(_fields_of_object, names=children))
    REGISTERED[x.__module__, x.__qualname__] = x
    _TRAINABLE.pop(x, None)
    if trainable is not None:
        _TRAINABLE[x] = trainable
    for tell in on_registration:
        tell(x)
    return x


def _check_names(cls: type, names: object) -> None:
    """Raises `TypeError` for what's neither None nor a tuple of names."""
    if names is None:
        return
    if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
        got = in_words(names)
        raise TypeError(f'functor({cls.__name__}, …) takes a tuple of field names such as ("actor",), got {got}')


on_registration: list[Callable[[type], None]] = []  # what else there is to do for a class: its mode, how it prints
_children = children  # `functor` has a keyword of this name
_register = children.register
REGISTERED: dict[tuple[str, str], type] = {}  # by module and name, which a cell that ran again gives another class
_TRAINABLE: dict[type, tuple[str, ...]] = {}
KINDS: dict[type, "Kind"] = {}  # what `kind_of` has found out


def register(cls: type, rule: Any = None) -> Any:
    """Enter a rule of your own: how the objects of a class come apart (like a method of ``Flux.functor``)."""
    KINDS.clear()
    return _register(cls, rule)


children.register = functor.register = register  # type: ignore


# -- the rules -----------------------------------------------------------------------------------------------------


class NotAPart:
    """What a class may have in place of a field's value: what its objects hold under that name is no part of them."""


def _fields_of_object(x: object, names: tuple[str, ...] | None) -> Children:
    if names is None:
        names = _dataclass_fields(type(x))
        if "__dataclass_fields__" not in vars(type(x)):  # a plain class, or a subclass that added attributes of its own
            names = tuple(dict.fromkeys([*names, *attributes(x)]))
    parts = {name: getattr(x, name) for name in names}
    return parts, lambda values: _copy_into(object.__new__(type(x)), x, values)


def _dataclass_fields(cls: type) -> tuple[str, ...]:
    """Without the ClassVars and InitVars, which an object doesn't hold, and without what's no part of it."""
    if not dataclasses.is_dataclass(cls):
        return ()
    names = [field.name for field in dataclasses.fields(cls)]
    return tuple([name for name in names if not isinstance(inspect.getattr_static(cls, name, None), NotAPart)])


def attributes(x: object) -> dict[str, Any]:
    """What `x` itself holds, in slots and otherwise. A cached_property is left out: it's computed when asked."""
    found = {}
    for slot in copyreg._slotnames(type(x)):  # type: ignore[attr-defined]
        with contextlib.suppress(AttributeError):  # never set
            found[slot] = object.__getattribute__(x, slot)
    found.update(_own_dict(x))
    cached = functools.cached_property
    return {name: value for name, value in found.items() if not isinstance(getattr(type(x), name, None), cached)}


def _own_dict(x: object) -> dict[str, Any]:
    """``x.__dict__``, even if the class answers for another object's attributes with a ``__getattr__``."""
    try:
        return object.__getattribute__(x, "__dict__")
    except AttributeError:
        return {}


def put_attribute(x: object, name: str, value: Any, in_its_dict: bool = False) -> None:
    """``x.name = value``, without running the class's ``__setattr__``."""
    if in_its_dict and hasattr(getattr(type(x), name, None), "__set__"):  # a property's own store
        _own_dict(x)[name] = value
    else:
        object.__setattr__(x, name, value)


def _copy_into(new: Any, x: Any, values: Mapping[str, Any]) -> Any:
    """`new`, with what `x` holds and the `values` in place of their namesakes. None of the class's own code runs."""
    for name, value in {**attributes(x), **values}.items():
        put_attribute(new, name, value, name in _own_dict(x))
    return new


@register(tuple)
def _(x: tuple) -> Children:
    if hasattr(x, "_fields"):  # a named tuple: its fields are attributes
        return dict(zip(x._fields, x)), lambda values: x._replace(**values)  # type: ignore[attr-defined]
    if type(x) is tuple:
        return x, tuple
    return tuple(x), lambda values: _copy_into(tuple.__new__(type(x), values), x, {})


@register(list)
def _(x: list) -> Children:
    def rebuild(values: list) -> list:
        new = copy.copy(x)
        list.__setitem__(new, slice(None), values)
        return new

    return x, rebuild


@register(dict)
def _(x: dict) -> Children:
    def rebuild(values: dict) -> dict:
        new = copy.copy(x)  # keeps an OrderedDict one, and a defaultdict's default
        for key, value in values.items():
            dict.__setitem__(new, key, value)  # not update, with which a Counter adds
        return new

    return x, rebuild


@register(functools.partial)
def _(x: functools.partial) -> Children:
    def rebuild(parts: Mapping[str, Any]) -> functools.partial:
        new = functools.partial.__new__(type(x), parts["func"], *parts["args"], **parts["keywords"])
        return _copy_into(new, x, {})

    return {"func": x.func, "args": x.args, "keywords": x.keywords}, rebuild


@register(types.MethodType)
def _(x: types.MethodType) -> Children:
    if is_leaf(x.__self__) and not is_array(x.__self__):
        return (), lambda _: x
    return {"__self__": x.__self__}, lambda parts: types.MethodType(x.__func__, parts["__self__"])


# -- kinds: what a class says about its objects --------------------------------------------------------------------


@dataclasses.dataclass(eq=False)
class Kind:
    """What `children` says, found out once for a class: how its objects come apart.

    ``take(x) -> (names, parts, make)``; the names are None for a sequence. ``make(x, names, parts)`` builds another.
    A walk asks this of every object, so it's a plain tuple: to make a named one would take a fifth of the walk's time.
    """

    take: Callable | None  # None: a leaf
    is_container: bool  # a list, tuple or dict: a container of data, whose gradient is a container
    is_mapping: bool  # its parts are named by keys, not by attributes
    trainable_names: tuple[str, ...] | None  # the names of what an optimizer may change; None: all
    is_mutable: bool  # two places may share one
    is_plain: bool  # its objects are just their ``__dict__``
    is_array: bool


# Values that can't change can't be shared: two equal ones aren't a tie.
_IMMUTABLE = (
    bool, int, float, complex, str, bytes, type(None), type, tuple, frozenset, range, slice, np.generic, np.dtype,
    np.ufunc, types.FunctionType, types.BuiltinFunctionType, functools.partial, types.MethodType, types.ModuleType,
    enum.Enum, types.EllipsisType,
)  # fmt: skip


def kind_of(cls: type) -> Kind:
    kind = KINDS.get(cls)
    if kind is None:
        kind = KINDS[cls] = _find_kind(cls)
    return kind


def _find_kind(cls: type) -> Kind:
    is_frozen = getattr(getattr(cls, "__dataclass_params__", None), "frozen", False)
    kind = Kind(
        take=_take_apart,
        is_container=issubclass(cls, (list, tuple, dict)),
        is_mapping=issubclass(cls, Mapping),
        trainable_names=next((_TRAINABLE[base] for base in cls.__mro__ if base in _TRAINABLE), None),
        is_mutable=not is_frozen and not issubclass(cls, _IMMUTABLE),
        is_plain=False,
        is_array=is_array_type(cls),
    )
    rule: Any = children.dispatch(cls)
    if rule is children.dispatch(object):
        kind.take = None
    elif cls in _CONTAINERS:
        kind.take = _CONTAINERS[cls]
    elif getattr(rule, "func", None) is _fields_of_object and not is_frozen and not _has_more_than_fields(cls):
        kind.is_plain = True
        kind.take = _taker_of_fields(cls, rule.keywords["names"])
    return kind


def _has_more_than_fields(cls: type) -> bool:
    """Slots, properties that can be set, cached ones, or computed attributes."""
    if copyreg._slotnames(cls):  # type: ignore[attr-defined]
        return True
    if getattr(cls, "__getattribute__") is not object.__getattribute__:  # noqa: B009
        return True
    for name in type.__dir__(cls):
        kind = type(inspect.getattr_static(cls, name))
        is_computed = hasattr(kind, "__set__") or issubclass(kind, functools.cached_property)
        if is_computed and name[:2] != "__" and not issubclass(kind, NotAPart):
            return True
    return False


def _taker_of_fields(cls: type, names: tuple[str, ...] | None) -> Callable:
    """A function that takes apart an object that's just its ``__dict__``: into the fields `names`, or, if None, all."""
    if names is None and "__dataclass_fields__" in vars(cls):
        names = _dataclass_fields(cls)
    if names is None:
        return _take_all_attributes
    return functools.partial(_take_named_fields, names, _tuple_getter(names))


def _tuple_getter(names: tuple[str, ...]) -> Callable:
    """A function that gives a tuple of what a dict holds under these names, the quickest there is."""
    if len(names) > 1:
        return itemgetter(*names)
    return lambda held: tuple([held[name] for name in names])  # an itemgetter of one name gives no tuple


def _take_all_attributes(x: object) -> tuple:
    held = x.__dict__
    return tuple(held), tuple(held.values()), _make_object


def _take_named_fields(names: tuple[str, ...], get_tuple: Callable, x: object) -> tuple:
    try:
        return names, get_tuple(x.__dict__), _make_object
    except KeyError:  # an attribute of the class, or a missing one
        return _take_apart(x)


def _make_object(x: object, names: tuple, parts: Iterable) -> object:
    new = object.__new__(x.__class__)
    held = new.__dict__
    if len(names) < len(x.__dict__):
        held.update(x.__dict__)
    held.update(zip(names, parts))
    return new


def _take_apart(x: Tree) -> tuple:
    """By a rule in `children` that isn't `functor`'s own, which is asked for each object."""
    parts, rebuild = children(x)

    def make_by_name(x: Tree, names: tuple, values: list) -> Any:
        return rebuild(dict(zip(names, values)))

    def make_in_order(x: Tree, names: None, values: list) -> Any:
        return rebuild(values if isinstance(parts, list) else tuple(values))

    if isinstance(parts, Mapping):
        return tuple(parts), list(parts.values()), make_by_name
    return None, parts, make_in_order


def _take_tuple(x: tuple) -> tuple:
    return None, x, _make_tuple


def _make_tuple(x: tuple, names: None, parts: list) -> tuple:
    return tuple(parts)


def _take_list(x: list) -> tuple:
    return None, x, _make_list


def _make_list(x: list, names: None, parts: list) -> list:
    return parts


def _take_dict(x: dict) -> tuple:
    return tuple(x), list(x.values()), _make_dict


def _make_dict(x: dict, names: tuple, parts: list) -> dict:
    return dict(zip(names, parts))


# Exactly these classes, of which a model has many, come apart quicker than by their rules in `children`.
_CONTAINERS: dict[type, Callable] = {tuple: _take_tuple, list: _take_list, dict: _take_dict}
