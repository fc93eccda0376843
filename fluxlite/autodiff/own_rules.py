"""`rule`, as a learner calls it: an entry in the table of derivatives, and a look at what it does.

The library's own rules are tested, and stand in the table as they are (`rules.py`). One of your own may forget a sum
over a broadcast axis; NumPy would then broadcast the gradient too, and nobody would notice.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arguments import check_callable, explained, in_words
from . import derivatives  # noqa: F401  (the table is filled before something is added to it)
from .rules import RULES, Pullback, Rule, name_of, parameter_names


@explained("a function, and a pullback for each operand")
def rule(function: Callable, *pullbacks: Pullback | None, add_into: Callable | None = None) -> None:
    """Enter the derivative of `function`: for each operand ``pullback(g, out, *arguments)``, or None.

    `function` is one of NumPy's, or your own marked `primitive`. `g` is the gradient of the loss with respect to the
    result `out`, and has its shape; `arguments` are those of the call. What is returned is the gradient of the operand,
    in the operand's shape. Written in NumPy calls (or primitives), it works on every device, and for second
    derivatives. `add_into(total, g, out, *arguments)` adds the first operand's gradient into `total` in place, for
    a function that reads a part of it. Zygote's name for such a rule is ``@adjoint``, ChainRules' is ``rrule``.

    Raises `TypeError` for a function that is neither NumPy's nor a `primitive`, and for too few arguments. When a
    rule is used, a gradient of another shape than its operand's raises `ValueError`.

    >>> @fl.primitive
    ... def cube(x):
    ...     return x**3
    >>> rule(cube, lambda g, out, x: g * 3 * x**2)
    >>> fl.gradient(lambda x: np.sum(cube(x)), np.array([1.0, 2.0]))
    (array([ 3., 12.]),)
    """
    check_callable("rule(function, …): the function", function)
    if add_into is not None:
        check_callable("rule(…, add_into=…)", add_into)
    if all(pullback is None for pullback in pullbacks):
        raise TypeError(f"rule({name_of(function)}, …) takes a pullback for each operand, got none")
    for pullback in pullbacks:
        if pullback is not None:
            _check_entry(function, pullback)
    named = next(filter(None, pullbacks))
    watched = tuple([pullback and _watched(function, i, pullback) for i, pullback in enumerate(pullbacks)])
    RULES[function] = Rule(watched, named, 2, len(watched), add_into=add_into)


def _check_entry(function: Any, pullback: Pullback) -> None:
    name = name_of(function)
    # NumPy's functions, and what `primitive` has wrapped; nothing else hands its call to a tracked array.
    if not isinstance(function, (np.ufunc, type(np.sum))) and not hasattr(function, "__wrapped__"):
        raise TypeError(
            f"{name} is no function of NumPy's and no primitive, so nobody would ask for its rule: "
            "write @fluxlite.primitive above it"
        )
    code = getattr(pullback, "__code__", None)
    if code is None:
        how = f"rule({name}, lambda g, out, x: …)"
        raise TypeError(f"a pullback of {name} is a function or a lambda, got {in_words(pullback)}; write {how}")
    if code.co_argcount < 3 and not code.co_flags & inspect.CO_VARARGS:
        raise TypeError(
            f"a pullback of {name} takes g, out, and the arguments of {name}, as in lambda g, out, x: …; "
            f"this one takes {', '.join(parameter_names(pullback)) or 'nothing'}"
        )


def _watched(function: Any, position: int, pullback: Pullback) -> Pullback:
    """`pullback`, whose result is looked at."""

    @functools.wraps(pullback)
    def watched(g: Any, out: Any, *arguments: Any, **keywords: Any) -> Any:
        piece = pullback(g, out, *arguments, **keywords)
        wanted = getattr(arguments[position], "shape", ())
        got = () if isinstance(piece, (int, float)) else getattr(piece, "shape", None)
        if got == wanted:
            return piece
        what = f"a gradient of shape {got}" if got is not None else f"{type(piece).__name__} as the gradient"
        hint = ". Where an operand was broadcast, its gradient is summed" if got is not None else ""
        names = parameter_names(pullback)[2:]
        operand = names[position] if position < len(names) else f"number {position}"
        raise ValueError(f"the rule of {name_of(function)} gives {what} for {operand}, of shape {wanted}{hint}")

    return watched
