"""The table of derivatives: for each function, how the gradient flows back through it.

An entry is a `Rule`, made with `rule`: one pullback for each operand of the function. Those of NumPy's functions and of
``arrays.py`` are in `derivatives/`, others next to their function; a learner adds one with a single line.
"""

import functools
import importlib
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from ..arrays import are_half, narrow, wide
from ..messages import explained

Pullback = Callable[..., Any]


@dataclass(eq=False)
class Rule:
    """How the gradient flows back through one function.

    ``pullbacks[i]`` is for the operand at position `i`; None where it has no derivative. From the result's gradient,
    the result and the function's own arguments, it makes the operand's gradient: a new array, or the one it was given.
    """

    pullbacks: Any
    names: tuple[str, ...]  # of the function's arguments, as the first pullback has them
    most_positional: int
    operand_count: int  # how many may also come by their names
    sequence: bool = False  # the first argument is a list of operands, as in np.concatenate([x, y])
    add_into: Callable | None = None
    forward: Callable | None = None  # this and the next are for recurrent layers: see `rule_for_each`
    shared: Callable | None = None


RULES: dict[Callable, Rule] = {}
COMPOSED: dict[Callable, Callable] = {}  # written in terms of other functions: tracked arrays call those instead
REPHRASED: dict[Callable, Callable] = {}  # the same, for calls with keywords that the function's rule doesn't know
PLAIN: set[Callable] = set()  # results that don't depend smoothly on the arguments: they're just computed
# Methods of ufuncs that are functions by themselves.
METHODS: dict[tuple[np.ufunc, str], Callable] = {
    (np.add, "reduce"): np.sum, (np.multiply, "reduce"): np.prod, (np.maximum, "reduce"): np.max,
    (np.minimum, "reduce"): np.min, (np.add, "accumulate"): np.cumsum, (np.multiply, "accumulate"): np.cumprod,
}  # fmt: skip


@explained("a function, and a pullback for each operand")
def rule(function: Callable, *pullbacks: Pullback | None, add_into: Callable | None = None) -> None:
    """Enter the derivative of `function`: for each operand ``pullback(g, out, *arguments)``, or None.

    `function` is one of NumPy's, or your own marked `primitive`. `g` is the gradient of the loss with respect to the
    result `out`, and has its shape; `arguments` are those of the call, under the names that the function gives them.
    What is returned is the operand's gradient, in its shape. Written in NumPy calls (or primitives), it works on every
    device, and for second derivatives. ``add_into(total, g, out, *arguments)`` adds the first operand's gradient into
    `total` in place, for a function that reads a part of it (Zygote: ``@adjoint``; ChainRules: ``rrule``).

    Raises `TypeError` for a function that's neither NumPy's nor a `primitive`; in use, `ValueError` for a wrong shape.

    >>> @fl.primitive
    ... def cube(x):
    ...     return x**3
    >>> rule(cube, lambda g, out, x: g * 3 * x**2)
    >>> fl.gradient(lambda x: np.sum(cube(x)), np.array([1.0, 2.0]))
    (array([ 3., 12.]),)
    """
    _check_pullbacks(function, pullbacks)
    # NumPy's functions, and what `primitive` has wrapped; nothing else hands its call to a tracked array.
    if not isinstance(function, (np.ufunc, type(np.sum))) and not hasattr(function, "__wrapped__"):
        what = f"{name_of(function)} is neither a function of NumPy's nor a primitive"
        raise TypeError(f"{what}: write @fluxlite.primitive above it")
    given = [pullback for pullback in pullbacks if pullback is not None]
    for pullback in given:
        if len(parameter_names(pullback, 0)[0]) < 2 and parameter_names(pullback, 2)[1] < 2:
            write = f"write fluxlite.rule({name_of(function)}, lambda g, out, x: …)"
            raise TypeError(f"a pullback of {name_of(function)} takes g, out and the arguments of the call: {write}")
    names, most = parameter_names(given[0], 2)
    if not given[0].__module__.startswith(f"{__package__.partition('.')[0]}."):  # ours are tested
        pullbacks = tuple([pullback and _checked(function, i, pullback) for i, pullback in enumerate(pullbacks)])
    RULES[function] = Rule(pullbacks + (None,) * len(names), names, most, len(pullbacks), add_into=add_into)


def _check_pullbacks(function: Any, pullbacks: tuple[Any, ...]) -> None:
    """Raises `TypeError` if there's no pullback, or one that isn't a function."""
    given = [pullback for pullback in pullbacks if pullback is not None]
    wanted = f"the rule of {name_of(function)} needs a function for each operand, such as lambda g, out, x: …"
    if not given:
        raise TypeError(f"{wanted}; got none")
    for pullback in given:
        if not hasattr(inspect.unwrap(pullback), "__code__"):
            raise TypeError(f"{wanted}; got {type(pullback).__name__}")


def _checked(function: Any, position: int, pullback: Pullback) -> Pullback:
    """`pullback`, whose result is looked at: without a sum over a broadcast axis, NumPy would broadcast it too."""

    @functools.wraps(pullback)
    def checked(g: Any, out: Any, *arguments: Any, **keywords: Any) -> Any:
        piece = pullback(g, out, *arguments, **keywords)
        wanted = getattr(arguments[position], "shape", ())
        got = getattr(piece, "shape", () if isinstance(piece, (int, float)) else None)
        if got == wanted:
            return piece
        what, hint = f"{type(piece).__name__} as the gradient", ""
        if got is not None:
            what, hint = f"a gradient of shape {got}", ". Where an operand was broadcast, its gradient is summed"
        if piece is None:
            hint = ". Does its function end with return? An operand without a derivative has None as its pullback"
        operand = dict(enumerate(parameter_names(pullback, 2)[0])).get(position, f"number {position}")
        raise ValueError(f"the rule of {name_of(function)} gives {what} for {operand}, of shape {wanted}{hint}")

    return checked


def accurate(pullback: Any, again: Callable | None = None) -> Any:
    """A pullback that's computed in float32 if the numbers are float16, in which a square may be too large or small.

    `again` is the function itself, to compute `out` again, too: near 1, a rounded one has lost what ``1 - out**2`` is.
    """
    if pullback is None:
        return None

    @functools.wraps(pullback)
    def computed(g: Any, out: Any, *operands: Any, **keywords: Any) -> Any:
        if not are_half(g, out, *operands):
            return pullback(g, out, *operands, **keywords)
        given = [wide(x) for x in operands]
        out = wide(out) if again is None else again(*given, **keywords)
        return narrow(pullback(wide(g), out, *given, **keywords))

    return computed


def accurate_rule(function: Any, *pullbacks: Any, again: bool = False) -> None:
    """`rule` with pullbacks that are `accurate`."""
    rule(function, *[accurate(pullback, function if again else None) for pullback in pullbacks])


class _Each:
    """The pullbacks of a function with any number of operands: one function, which gets the position."""

    def __init__(self, pullback: Pullback):
        self.pullback = pullback

    def __getitem__(self, position: int) -> Pullback:
        return functools.partial(self.pullback, position)


def rule_for_each(function: Callable, pullback: Pullback, sequence: bool = False, **hooks: Callable) -> None:
    """`rule` for a function of any number of operands: ``pullback(position, g, out, *arguments)``.

    With `sequence`, the operands are in a list, which is the first argument. Where the backward pass needs more than
    `out`, there are two `hooks`. ``forward=`` is a function that returns, for the arguments, `out` and what to keep.
    ``shared(g, kept, *arguments)``, where `kept` is None if an outer gradient watches, is what the pieces of all
    operands begin with. Then it's ``pullback(position, g, out, shared, kept, *arguments)``.
    """
    names, most = parameter_names(pullback, 5 if hooks else 3)
    RULES[function] = Rule(_Each(pullback), names, most, 1 if sequence else 0, sequence, **hooks)


def composed(function: Callable, table: dict[Callable, Callable] = COMPOSED) -> Callable[[Callable], Callable]:
    """Above a function that expresses `function` in terms of others."""

    def enter(same: Callable) -> Callable:
        table[function] = same
        return same

    return enter


rephrased = functools.partial(composed, table=REPHRASED)


def no_derivative(*functions: Callable) -> None:
    PLAIN.update(functions)


def load_rarer() -> bool:
    """Fill the table with what a network seldom needs; False if that was done before."""
    rarer, before = f"{__package__}.derivatives.rarer", dict(RULES)
    if rarer in sys.modules:
        return False
    importlib.import_module(rarer)
    RULES.update(before)  # what the program itself has entered stays
    return True


def unless(condition: Any, g: Any, holds: bool = False) -> Any:
    """``np.where(condition, 0, g)``, or, if `holds`, ``np.where(condition, g, 0)``.

    For plain arrays of one shape it's computed with bits. `np.where` decides for each number by itself, and where the
    processor can't foresee the decision, as after a `relu`, that takes forty times as long.
    """
    is_plain = type(g) is type(condition) is np.ndarray and g.dtype.kind == "f" and g.itemsize <= 8
    if not is_plain or g.shape != condition.shape or condition.dtype != bool:
        return np.where(condition, g, 0) if holds else np.where(condition, 0, g)
    ones = condition.view(np.int8)
    bits = (np.negative(ones) if holds else ones - 1).astype(f"i{g.itemsize}")  # all bits set, or none
    bits &= g.view(bits.dtype)
    return bits.view(g.dtype)


# -- a call and its rule ----------------------------------------------------------------------------------


def parameter_names(function: Any, skip: int = 0) -> tuple[tuple[str, ...], int]:
    """The names of a Python function's parameters after the first `skip`, and how many may come by position."""
    code = inspect.unwrap(function).__code__
    most = 1000 if code.co_flags & inspect.CO_VARARGS else code.co_argcount - skip
    return code.co_varnames[skip : code.co_argcount + code.co_kwonlyargcount], most


def bind(function: Any, rule: Rule, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any], Callable | None]:
    """(arguments by position, as far as they can be operands; keywords; what to call if the rule doesn't know one)."""
    args, kwargs = arranged(function, args, kwargs, rule.names, rule.most_positional, REPHRASED)
    if not kwargs.keys() <= set(rule.names):
        return args, kwargs, REPHRASED[function]
    args = list(args)
    while len(args) < rule.operand_count and rule.names[len(args)] in kwargs:
        args.append(kwargs.pop(rule.names[len(args)]))
    for name, value in kwargs.items():
        if hasattr(type(value), "__primitive__"):
            raise TypeError(f"{name_of(function)} has no derivative with respect to its keyword {name}: use its .data")
    return args, kwargs, None


def arranged(function: Any, args: Any, kwargs: dict, names: Any, most: int, rephrased: Any = ()) -> tuple[Any, dict]:
    """The first `most` by position, the others by name, without those that only repeat a default."""
    if len(args) <= most and kwargs.keys() <= set(names):
        return args, kwargs
    defaults = _defaults(function)
    if len(args) > most:
        if len(args) > len(defaults):
            only = f"takes only {', '.join(names[:most])}" if names else "takes no operand"
            raise TypeError(f"the derivative rule of {name_of(function)} {only} by position")
        args, kwargs = args[:most], dict(zip(tuple(defaults)[most:], args[most:])) | kwargs
    silent = {key: x for key, x in kwargs.items() if x is defaults.get(key, ...) or x is _SILENT.get(key, ...)}
    kwargs = {key: x for key, x in kwargs.items() if key in names or key not in silent}
    unknown = [key for key in kwargs if key not in names]
    if unknown:
        load_rarer()  # which may say the call in other terms, in `rephrased`
    if unknown and function not in rephrased:
        knows = f"it knows {', '.join(names)}" if names else "it knows none"
        raise TypeError(
            f"the derivative rule of {name_of(function)} doesn't know the keyword {unknown[0]!r}; {knows}. "
            "Leave it out, or compute outside the gradient with x.data"
        )
    return args, kwargs


# The defaults of keywords that NumPy's signatures don't show.
_SILENT = {"out": None, "dtype": None, "where": True, "order": "K", "subok": True, "casting": "same_kind"}


@functools.cache
def _defaults(function: Any) -> dict[str, Any]:
    """The names of a function's arguments, in order, with their default values."""
    try:
        return {name: parameter.default for name, parameter in inspect.signature(function).parameters.items()}
    except ValueError:  # written in C, and says nothing about itself
        return {}


def name_of(function: Any) -> str:
    """How a learner writes it: ``np.tanh``, ``np.linalg.inv``."""
    if isinstance(function, np.ufunc):
        return f"np.{function.__name__}"
    module = function.__module__.replace("numpy", "np").replace("fluxlite.arrays", "fluxlite")
    return f"{module}.{function.__qualname__}"


def no_pullback(function: Any, rule: Rule, position: int) -> NoReturn:
    name = rule.names[position] if position < len(rule.names) else f"number {position}"
    what = f"{name_of(function)} has no derivative with respect to its argument {name}, which is tracked here"
    raise TypeError(f"{what}: use its .data, or compute it outside the gradient")
