"""One contract for everything that is made of parts: ``functor(x) -> (children, rebuild)``.

``children`` are the parts of `x`, and ``rebuild`` makes the same kind of thing from other parts.
Moving a model to a GPU, marking its arrays for a gradient, setting up an optimizer, saving: each is
a walk that takes a model apart and builds it again (`walks.py`), and all of them stand on that pair.

This is Functors.jl's contract, under its names.
"""

from __future__ import annotations

import contextlib
import copy
import copyreg
import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

from ..arguments import in_words
from .modes import Automatic, declare_mode

Rebuild = Callable[[Any], Any]
Children = tuple[Any, Rebuild]

# ---------------------------------------------------------------------------------------------
# The contract: how each type comes apart, and how it is put together again
# ---------------------------------------------------------------------------------------------


@functools.singledispatch
def children(x: Any) -> Children:
    """The parts of `x` and the function that rebuilds it: the question every walk asks.

    A leaf (an array, a number, a string, an unregistered object) has the parts ``()``, exactly.
    A sequence's parts are the sequence itself; a dict's, the dict; a registered object's, a dict of its fields.

    >>> parts, rebuild = children([1, 2])
    >>> parts, rebuild(["one", "two"])
    ([1, 2], ['one', 'two'])
    >>> children("a string is a leaf")[0]
    ()
    """
    return (), lambda _: x


_NOT_GIVEN = object()


def functor(
    x: Any = _NOT_GIVEN, children: tuple[str, ...] | None = None, trainable: tuple[str, ...] | None = None
) -> Any:
    """Register a class, or take an instance apart (Flux: ``@functor T`` and ``functor(x)``).

    As a decorator, ``@functor``, all fields of the class are its children; ``@functor(children=("actor",))``
    or ``functor(ActorCritic, ("actor",))`` names those that are, and the others are carried over unchanged.
    ``trainable=`` names the fields that an optimizer may change: what *moves* and what *trains* are two
    questions. Objects of the class then print with a line for each part and the number of its parameters, unless the
    class has a ``__repr__`` of its own (Flux: ``@layer``). Given an instance, returns ``(children, rebuild)``.

    Raises `TypeError` for children that are not a tuple of names and for a class that is more than its fields,
    `AttributeError` for a name that the class cannot hold, `ValueError` for what would train but not move.

    >>> from dataclasses import dataclass
    >>> @functor
    ... @dataclass
    ... class ActorCritic:
    ...     actor: object
    ...     critic: object
    >>> parts, rebuild = functor(ActorCritic(1, 2))
    >>> parts
    {'actor': 1, 'critic': 2}
    >>> rebuild({"actor": "A", "critic": "C"})
    ActorCritic(actor='A', critic='C')
    """
    if x is _NOT_GIVEN:
        return lambda cls: functor(cls, children, trainable)
    if not isinstance(x, type):
        if children is not None or trainable is not None:
            raise TypeError(f"names are declared for a class, functor({type(x).__name__}, …), not for one object of it")
        return _children(x)
    _check_class(x)
    _check_names(x, children, "children")
    _check_names(x, trainable, "trainable")
    for name in trainable or ():
        if children is not None and name not in children:
            raise ValueError(f"{x.__name__}.{name} cannot be trainable without being one of the children, {children}")
    _children.register(x, functools.partial(_fields_of_object, names=children))
    _REGISTERED[_full_name(x)] = x
    if trainable is not None:
        _trainable.register(x, functools.partial(_named, names=trainable))
    declare_mode(x)
    _FIELDS.clear()
    for tell in on_registration:
        tell(x)
    return x


on_registration: list[Callable[[type], None]] = []  # what else there is to do for a class: how it prints
# `functor` and `fmap` take keywords of these names; the functions stay reachable under these.
_children = children
functor.register = children.register  # type: ignore[attr-defined]  # a rule of one's own, like a method of Flux.functor


class Fields(NamedTuple):
    """What a walk has to know of a registered class whose objects are no more than their ``__dict__``."""

    names: tuple[str, ...] | None  # the children; None: all that the object holds
    needed: frozenset[str]  # the same, as a set
    trained: frozenset[str] | None  # those that an optimizer may change; None: all


def fields_of(cls: type) -> Fields | None:
    """How the objects of a registered class come apart, found once; None if `children` has to be asked for each."""
    known = _FIELDS.get(cls, _NOT_GIVEN)
    if known is _NOT_GIVEN:
        known = _FIELDS[cls] = _find_fields(cls)
    return known  # type: ignore[return-value]


_FIELDS: dict[type, Any] = {}


def _find_fields(cls: type) -> Fields | None:
    rule: Any = _children.dispatch(cls)  # type: ignore[attr-defined]
    declared: Any = _trainable.dispatch(cls)
    if getattr(rule, "func", None) is not cast(Any, _fields_of_object) or _has_more_than_fields(cls):
        return None
    names = rule.keywords["names"]
    if names is None and "__dataclass_fields__" in vars(cls):
        names = _dataclass_fields(cls)
    trained = frozenset(declared.keywords["names"]) if isinstance(declared, functools.partial) else None
    return Fields(names, frozenset(names or ()), trained)


def _has_more_than_fields(cls: type) -> bool:
    """Slots, properties that can be set, cached ones, computed attributes, or a class whose objects cannot change."""
    kinds = {type(inspect.getattr_static(cls, name)) for name in dir(cls) if name[:2] != "__"} - {Automatic}
    return (
        bool(copyreg._slotnames(cls))  # type: ignore[attr-defined]
        or getattr(cls, "__getattribute__") is not object.__getattribute__  # noqa: B009
        or any(hasattr(kind, "__set__") or issubclass(kind, functools.cached_property) for kind in kinds)
        or getattr(getattr(cls, "__dataclass_params__", None), "frozen", False)
    )


_REGISTERED: dict[str, type] = {}


def registered_under_name(cls: type) -> type | None:
    """The class registered under the same module and name: another one when a cell was run again."""
    return _REGISTERED.get(_full_name(cls))


def _full_name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _check_class(cls: type) -> None:
    if getattr(cls, "__abstractmethods__", None):  # its subclasses will have objects
        return
    try:
        object.__new__(cls)
    except TypeError:
        raise TypeError(
            f"functor({cls.__name__}): objects of this class are more than their fields. Lists, tuples, dicts and "
            "subclasses of them come apart without functor; for others write a rule with functor.register"
        ) from None


def _check_names(cls: type, names: Any, what: str) -> None:
    if names is None:
        return
    if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
        raise TypeError(
            f'functor({cls.__name__}, {what}=…) takes a tuple of field names such as ("actor",), got {in_words(names)}'
        )
    fields = _dataclass_fields(cls) if "__dataclass_fields__" in vars(cls) else None
    for name in names:
        attribute = getattr(cls, name, None)
        if isinstance(attribute, property) and attribute.fset is None or _is_cached(cls, name):
            raise AttributeError(f"{cls.__name__}.{name} is a read-only property; name the field it is computed from")
        if fields is not None and name not in fields and not isinstance(attribute, property):
            raise AttributeError(f"{cls.__name__} has no field {name!r}; its fields are {', '.join(fields)}")


def _dataclass_fields(cls: type) -> tuple[str, ...]:
    """Without the ClassVars and InitVars, which an object does not hold, and without a mode, which is no part."""
    names = tuple([field.name for field in dataclasses.fields(cls)]) if dataclasses.is_dataclass(cls) else ()
    has_mode = "active" in names and type(inspect.getattr_static(cls, "active", None)) is Automatic
    return tuple([name for name in names if name != "active"]) if has_mode else names


def _is_cached(cls: type, name: str) -> bool:
    return isinstance(getattr(cls, name, None), functools.cached_property)


def _fields_of_object(x: Any, names: tuple[str, ...] | None) -> Children:
    if names is None:
        names = _dataclass_fields(type(x))
        if "__dataclass_fields__" not in vars(type(x)):  # a plain class, or a subclass that added attributes of its own
            names = tuple(dict.fromkeys([*names, *attributes(x)]))
    missing = [name for name in names if not hasattr(x, name)]
    if missing:
        raise AttributeError(f"this {type(x).__name__} has no field {missing[0]!r}, which functor was told is a child")
    return {name: getattr(x, name) for name in names}, functools.partial(_with_fields, x)


def _with_fields(x: Any, values: Mapping[str, Any]) -> Any:
    """A copy of `x` with other values in some fields. None of the class's own code runs."""
    return _set_attributes(object.__new__(type(x)), x, values)


def attributes(x: Any) -> dict[str, Any]:
    """What `x` itself holds, in slots and otherwise. A cached_property is left out: it is computed anew when asked."""
    found = {}
    for slot in copyreg._slotnames(type(x)):  # type: ignore[attr-defined]
        with contextlib.suppress(AttributeError):  # never set
            found[slot] = object.__getattribute__(x, slot)
    found.update(_own_dict(x))
    return {name: value for name, value in found.items() if not _is_cached(type(x), name)}


def _set_attributes(new: Any, x: Any, values: Mapping[str, Any]) -> Any:
    """Give `new` what `x` holds, and the `values` in place of their namesakes."""
    for name, value in {**attributes(x), **values}.items():
        put_attribute(new, name, value, name in _own_dict(x))
    return new


def put_attribute(x: Any, name: str, value: Any, in_its_dict: bool = False) -> None:
    """``x.name = value``, without running the class's ``__setattr__``."""
    if in_its_dict and hasattr(getattr(type(x), name, None), "__set__"):  # a property's own store
        _own_dict(x)[name] = value
    else:
        object.__setattr__(x, name, value)


def _own_dict(x: Any) -> dict[str, Any]:
    """``x.__dict__``, also where the class answers for another object's attributes with a ``__getattr__``."""
    try:
        return object.__getattribute__(x, "__dict__")
    except AttributeError:
        return {}


@children.register(tuple)
def _(x: tuple) -> Children:
    fields = getattr(type(x), "_fields", None)
    if fields is not None:  # a named tuple: its fields are attributes
        return dict(zip(fields, x)), lambda values: x._replace(**values)  # type: ignore[attr-defined]
    if type(x) is tuple:
        return x, tuple
    return tuple(x), lambda values: _set_attributes(tuple.__new__(type(x), values), x, {})


@children.register(list)
def _(x: list) -> Children:
    def rebuild(values: Any) -> list:
        new = copy.copy(x)
        list.__setitem__(new, slice(None), values)
        return new

    return x, rebuild


@children.register(dict)
def _(x: dict) -> Children:
    def rebuild(values: Any) -> dict:
        new = copy.copy(x)  # keeps an OrderedDict one, and a defaultdict's default
        for key, value in values.items():
            dict.__setitem__(new, key, value)  # not update, with which a Counter adds
        return new

    return x, rebuild


@children.register(functools.partial)
def _(x: functools.partial) -> Children:
    def rebuild(parts: Any) -> functools.partial:
        new = functools.partial.__new__(type(x), parts["func"], *parts["args"], **parts["keywords"])
        return _set_attributes(new, x, {})

    return {"func": x.func, "args": x.args, "keywords": x.keywords}, rebuild


def is_leaf(x: Any) -> bool:
    """Whether `x` has no parts, so that a walk hands it to the function as it is.

    >>> is_leaf(np.zeros(3)), is_leaf([1, 2]), is_leaf("relu")
    (True, False, True)
    """
    parts = children(x)[0]
    return isinstance(parts, tuple) and parts == ()


@functools.singledispatch
def _trainable(x: Any) -> Any:
    return children(x)[0]


def _named(x: Any, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(x, name) for name in names}


def trainable(x: Any) -> Any:
    """The children of `x` that an optimizer may change; all of them unless declared otherwise (Flux: ``trainable``).

    Declared with ``functor(Cls, trainable=("weight",))``.

    >>> trainable({"weight": 1.0, "bias": 2.0})
    {'weight': 1.0, 'bias': 2.0}
    """
    return _trainable(x)
