"""The table of derivatives: for each function, how the gradient flows back through it.

An entry is a `Rule`, made with `rule`: one pullback for each operand of the function. The entries are in
`derivatives/`; a learner adds one with a single line:

>>> import numpy as np
>>> from fluxlite import gradient, primitive, rule
>>> @primitive
... def cube(x):
...     return x**3
>>> rule(cube, lambda g, out, x: g * 3 * x**2)
>>> gradient(cube, 2.0)
(12.0,)
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

Pullback = Callable[..., Any]


class Rule:
    """How the gradient flows back through one function.

    ``pullbacks[i]`` belongs to the operand at position `i`; None where an operand has no derivative. It is
    called with the gradient of the result, the result, and the function's own arguments, and returns the
    gradient of that operand: a new array of the operand's shape, or the gradient it was given.
    """

    __slots__ = ("pullbacks", "names", "operand_count", "most_positional", "sequence", "add_into", "forward", "shared")

    def __init__(
        self, pullbacks: Any, parameters_of: Pullback, skip: int, operand_count: int, sequence: bool = False,
        add_into: Callable | None = None, forward: Callable | None = None, shared: Callable | None = None,
    ):  # fmt: skip
        self.names, self.most_positional = parameters(parameters_of, skip)  # of the function's arguments
        self.operand_count = operand_count  # how many may also come by their names
        self.pullbacks = pullbacks + (None,) * len(self.names) if isinstance(pullbacks, tuple) else pullbacks
        self.sequence = sequence  # the first argument is a list of operands, as in np.concatenate([x, y])
        self.add_into, self.forward, self.shared = add_into, forward, shared


class _Each:
    """The pullbacks of a function with any number of operands: one function, which gets the position."""

    __slots__ = ("pullback",)

    def __init__(self, pullback: Pullback):
        self.pullback = pullback

    def __getitem__(self, position: int) -> Pullback:
        return functools.partial(self.pullback, position)


RULES: dict[Callable, Rule] = {}
COMPOSED: dict[Callable, Callable] = {}
REPHRASED: dict[Callable, Callable] = {}
PLAIN: set[Callable] = set()
# Methods of ufuncs that are functions by themselves.
METHODS: dict[tuple[np.ufunc, str], Callable] = {
    (np.add, "reduce"): np.sum,
    (np.multiply, "reduce"): np.prod,
    (np.maximum, "reduce"): np.max,
    (np.minimum, "reduce"): np.min,
    (np.add, "accumulate"): np.cumsum,
    (np.multiply, "accumulate"): np.cumprod,
}


def rule(function: Callable, *pullbacks: Pullback | None, add_into: Callable | None = None) -> None:
    """Enter the derivative of `function`: for each operand ``pullback(g, out, *arguments)``.

    `g` is the gradient of the loss with respect to the result `out`, and has its shape. `arguments` are those
    of the call; a keyword that the pullback does not take is an error when the function is called. Write it in NumPy
    calls (or primitives): then it works on every device, and for second derivatives.

    `add_into(total, g, out, *arguments)`, for a function that reads a part of its first operand, adds its gradient
    into `total` in place. Zygote's name for such a rule is ``@adjoint``, ChainRules' is ``rrule``.
    """
    named = next(pullback for pullback in pullbacks if pullback is not None)
    RULES[function] = Rule(pullbacks, named, 2, len(pullbacks), add_into=add_into)


def rule_for_each(
    function: Callable, pullback: Pullback, sequence: bool = False, *,
    forward: Callable | None = None, shared: Callable | None = None,
) -> None:  # fmt: skip
    """`rule` for a function of any number of operands: ``pullback(position, g, out, *arguments)``.

    With `sequence`, the operands are in a list, which is the first argument. Where the way back needs more than `out`,
    ``forward(*arguments)`` returns `out` and what to keep. ``shared(g, kept, *arguments)`` is what the pieces of all
    operands begin with; `kept` is None if an outer gradient looks on. ``pullback(position, g, out, shared, kept, …)``.
    """
    skip = 3 if forward is None else 5
    RULES[function] = Rule(
        _Each(pullback), pullback, skip, 1 if sequence else 0, sequence, forward=forward, shared=shared
    )


def composed(function: Callable) -> Callable[[Callable], Callable]:
    """Write `function` in terms of other functions: tracked arrays call the decorated function instead."""

    def enter(same: Callable) -> Callable:
        COMPOSED[function] = same
        return same

    return enter


def rephrased(function: Callable) -> Callable[[Callable], Callable]:
    """Write `function` in terms of other functions, for calls with keywords that its rule does not know."""

    def enter(same: Callable) -> Callable:
        REPHRASED[function] = same
        return same

    return enter


def load_rarer() -> bool:
    """Fills the table with what a network seldom needs. Whether it wasn't filled before."""
    rarer = f"{__package__}.derivatives.rarer"
    is_new = rarer not in sys.modules
    importlib.import_module(rarer)
    return is_new


def no_derivative(*functions: Callable) -> None:
    """Functions whose results do not depend smoothly on their arguments: they just compute."""
    PLAIN.update(functions)


# -- a call and its rule ----------------------------------------------------------------------------------


def parameters(function: Any, skip: int = 0) -> tuple[tuple[str, ...], int]:
    """The names of a Python function's parameters after the first `skip`, and how many may come by position."""
    code = function.__code__
    most = 1000 if code.co_flags & inspect.CO_VARARGS else code.co_argcount - skip
    return parameter_names(function)[skip:], most


def bind(function: Any, rule: Rule, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any], Callable | None]:
    """Arguments by position as far as they can be operands; keywords; what to call if the rule does not know one."""
    args, kwargs = told(function, args, kwargs, rule.names, rule.most_positional)
    if not knows(rule.names, kwargs):
        load_rarer()
        if function in REPHRASED:
            return args, kwargs, REPHRASED[function]
    args = list(args)
    while len(args) < rule.operand_count and rule.names[len(args)] in kwargs:
        args.append(kwargs.pop(rule.names[len(args)]))
    check_keywords(function, kwargs, rule.names)
    for name, value in kwargs.items():
        if hasattr(type(value), "__primitive__"):
            raise TypeError(f"{name_of(function)} has no derivative with respect to its keyword {name}: use its .data")
    return args, kwargs, None


def knows(names: tuple[str, ...], kwargs: dict[str, Any]) -> bool:
    return all(name in names for name in kwargs)


def told(function: Any, args: Any, kwargs: dict[str, Any], names: Any, most: int) -> tuple[Any, dict[str, Any]]:
    """The first `most` arguments by position, the others by name; without those that only repeat a default."""
    if len(args) <= most and knows(names, kwargs):
        return args, kwargs
    defaults = _defaults(function)
    if len(args) > most:
        if len(args) > len(defaults):
            raise TypeError(f"the derivative rule of {name_of(function)} takes by position only {', '.join(names)}")
        args, kwargs = args[:most], dict(zip(tuple(defaults)[most:], args[most:])) | kwargs
    return args, {
        name: x
        for name, x in kwargs.items()
        if name in names or x is not defaults.get(name, ...) and x is not _SILENT.get(name, ...)
    }


# The defaults of keywords that NumPy's signatures do not show.
_SILENT = {"out": None, "dtype": None, "where": True, "order": "K", "subok": True, "casting": "same_kind"}


@functools.cache
def _defaults(function: Any) -> dict[str, Any]:
    """The names of a function's arguments, in order, with their default values."""
    try:
        return {name: parameter.default for name, parameter in inspect.signature(function).parameters.items()}
    except ValueError:  # written in C, and says nothing of itself
        return {}


def bind_composed(function: Any, same: Callable, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The arguments of a call of `function` for `same`, which says how it is made of others."""
    names, most = parameters(same)
    args, kwargs = told(function, args, kwargs, names, most)
    check_keywords(function, kwargs, names)
    return args, kwargs


def parameter_names(function: Callable) -> tuple[str, ...]:
    """The names of what `function` takes, without ``*args`` and ``**keywords``.

    >>> parameter_names(lambda g, out, x, *more, axis=None: g)
    ('g', 'out', 'x', 'axis')
    """
    code = function.__code__  # type: ignore[attr-defined]
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def check_keywords(function: Any, kwargs: dict[str, Any], known: tuple[str, ...]) -> None:
    for name in kwargs:
        if name not in known:
            raise TypeError(
                f"the derivative rule of {name_of(function)} does not know the keyword {name!r}; it knows "
                f"{', '.join(known)}. Leave it out, or compute outside the gradient with x.data"
            )


def name_of(function: Any) -> str:
    """How a learner writes it: ``np.tanh``, ``np.linalg.inv``."""
    if isinstance(function, np.ufunc):
        return f"np.{function.__name__}"
    module = function.__module__.replace("numpy", "np").replace("fluxlite.arrays", "fluxlite")
    return f"{module}.{function.__qualname__}"


def no_pullback(function: Any, rule: Rule, position: int) -> NoReturn:
    name = rule.names[position] if position < len(rule.names) else f"number {position}"
    raise TypeError(
        f"{name_of(function)} has no derivative with respect to its argument {name}, which is tracked here: "
        f"use its .data, or compute it outside the gradient"
    )
