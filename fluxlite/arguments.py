"""What a function was given, in words, when it can't compute with it.

Nothing is checked as long as all goes well. Only after an error we look at the arguments.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from opcode import opmap
from types import TracebackType
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

# An error is told anew as the first of these that it is. What Python says about a missing attribute is about our inner
# workings: its words are left out.
_AS = (KeyError, IndexError, ValueError, RecursionError, OverflowError, MemoryError, ArithmeticError, TypeError)
_OWNER = ("self", "cls")
_OURS = ("fluxlite", "simgpu", "numpy", "cupy", "mlx", "functools")  # singledispatch is of functools


def explained(takes: str, *keep: type[Exception]) -> Callable[[Function], Function]:
    """Errors of the function name it, what it `takes` and what it got, if they don't say so by themselves.

    An error that comes from a function of the caller's stays as it is, and so does one of fluxlite's own types. An
    `AttributeError` becomes a `TypeError`, unless it's among those to `keep`.

    >>> @explained("a number")
    ... def half(x):
    ...     return x / 2
    >>> half(None)
    Traceback (most recent call last):
    TypeError: half(x) takes a number, got x=None: unsupported operand type(s) for /: 'NoneType' and 'int'
    """

    def decorate(function: Function) -> Function:
        function.__takes__ = takes  # type: ignore[attr-defined]

        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except Exception as error:
                raise told_again(function, args, kwargs, error, keep)

        return checked  # type: ignore[return-value]

    return decorate


def takes(what: str) -> Callable[[Function], Function]:
    """What the errors of a `primitive` say that it takes; by itself that's an array or a number."""

    def decorate(function: Function) -> Function:
        function.__takes__ = what  # type: ignore[attr-defined]
        return function

    return decorate


def told_again(
    function: Callable, args: tuple, kwargs: Mapping[str, Any], error: Exception, keep: tuple[type[Exception], ...] = ()
) -> Exception:
    """`error` in words that name `function` and its arguments; as it is, if there's nothing to add.

    It's for the caller to raise. If we raised it here, this frame would be in its traceback, and hold it and all that
    the failed call made, until the garbage is collected.
    """
    name = _name(function, args)
    inside = error.__traceback__ and error.__traceback__.tb_next
    if type(error).__module__.startswith(_OURS[:2]) or not _is_ours(inside):
        return error
    try:
        given = inspect.signature(function).bind(*args, **kwargs).arguments
    except TypeError:  # Python says what differs; of an inherited function by the name of the class that it's from
        what = re.sub(r"^[\w.<>]+\(\) (?=got|missing|takes)", "", _said(error)).replace("missing", "is missing", 1)
        if what.startswith(("takes", "is missing")):
            what += f"; write {name}({', '.join(_parameters(function, what.startswith('takes')))})"
        differs = TypeError(f"{name}() {what}")
        differs.__suppress_context__ = True
        return differs
    first = getattr(error, "first", None)  # a function that this one called has told it already
    names = [rf"{re.escape(name)}\(", *(rf"\b{key}\b" for key in given if len(key) > 1)]
    if first is None and _on_purpose(inside) and re.search("|".join(names), _said(error)):
        return error  # it says which argument is wrong
    given = {key: value for key, value in given.items() if key not in _OWNER}
    got = "; ".join(f"{key}={in_words(value)}" for key, value in given.items())
    first = first or error
    why = f": {_said(first)}" if _said(first) and not isinstance(first, (AttributeError, KeyError)) else ""
    kind: type[Exception] = next((kind for kind in (*keep, *_AS) if isinstance(error, kind)), TypeError)
    what = getattr(function, "__takes__", "an array or a number")
    call = f"{name}({', '.join(given)})" if not name.endswith("__getitem__") else f"{name.split('.')[0]}[index]"
    again = kind(f"{call} takes {what}, got {got}{why}")
    again.first = first  # type: ignore[attr-defined]
    again.__cause__ = error
    return again


def _name(function: Callable, args: tuple) -> str:
    """The function's name; for a class that's made or indexed, the class's own, also where the method is inherited."""
    name = getattr(function, "__qualname__", "").rpartition(">.")[2]
    owner, _, last = name.rpartition(".")
    if not owner or not args or last not in ("__init__", "__new__", "__getitem__", "of"):
        return name
    made = args[0] if isinstance(args[0], type) else type(args[0])
    own = getattr(made, last, function)
    if inspect.unwrap(getattr(own, "__func__", own)) is inspect.unwrap(function):  # otherwise super() has called it
        owner = made.__name__
    return f"{owner}.{last}" if last in ("__getitem__", "of") else owner


def _parameters(function: Callable, with_defaults: bool) -> list[str]:
    """The parameters as one writes them, or only those that have no default."""
    parameters = inspect.signature(function).parameters.values()
    wanted = [p for p in parameters if p.kind is not p.VAR_KEYWORD and p.name not in _OWNER]
    wanted = [p for p in wanted if with_defaults or p.default is p.empty]
    by_name = [p.kind is p.KEYWORD_ONLY or p.default is not p.empty for p in wanted]
    return [str(p).split(":")[0].split("=")[0] + "=…" * named for p, named in zip(wanted, by_name)]


def _said(error: Exception) -> str:
    try:
        return str(error)
    except Exception:  # what the caller's object raised may not print
        return ""


def _is_ours(traceback: TracebackType | None) -> bool:
    """Whether all of these calls are fluxlite's and the array libraries': none is a function of the caller's."""
    while traceback is not None:
        if traceback.tb_frame.f_globals.get("__name__", "").partition(".")[0] not in _OURS:
            return False
        traceback = traceback.tb_next
    return True


def _on_purpose(traceback: TracebackType | None) -> bool:
    """Whether a ``raise`` of fluxlite's made the error, and no function that it called."""
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None or not traceback.tb_frame.f_globals.get("__name__", "").startswith(_OURS[:2]):
        return False
    return traceback.tb_frame.f_code.co_code[traceback.tb_lasti] == opmap["RAISE_VARARGS"]


def in_words(x: Any) -> str:
    """`x` in a few words: a number, a shape or a short text as it is, an array's shape and type, otherwise its type.

    >>> in_words(-1), in_words((2, 3)), in_words([1, 2])
    ('-1', '(2, 3)', 'a list')
    """
    if hasattr(x, "shape") and hasattr(x, "dtype"):
        return f"an array of {x.dtype}, shape {x.shape}"
    if _is_plain(x) or type(x) is tuple and len(x) < 5 and all(map(_is_plain, x)):
        text = repr(x)
        return text if len(text) <= 40 else f"{text[:36]} …"
    if isinstance(x, type):
        return f"the class {x.__name__}"
    kind = type(x).__name__
    return f"{'an' if kind[:1].lower() in 'aeio' else 'a'} {kind}"


def _is_plain(x: Any) -> bool:
    return x is None or isinstance(x, (bool, float, complex, str, bytes)) or isinstance(x, int) and abs(x) < 10**20


def check_callable(place: str, x: Any) -> None:
    """Raises `TypeError` if `x`, the argument named in `place`, is no function."""
    if not callable(x):
        raise TypeError(f"{place} is a function, got {in_words(x)}")


def check_whole(place: str, x: Any, least: float = 0) -> None:
    """Raises `TypeError` for what is no whole number, `ValueError` for one below `least`."""
    if isinstance(x, bool) or not hasattr(type(x), "__index__") or hasattr(x, "shape") and not _is_whole(x):
        raise TypeError(f"{place} is a whole number, got {in_words(x)}")
    if x < least:
        raise ValueError(f"{place} is at least {least}, got {in_words(x)}")


def _is_whole(x: Any) -> bool:
    return x.shape == () and x.dtype.kind in "iu"


def check_bool(place: str, x: Any) -> None:
    """Raises `TypeError` for what is neither True nor False, nor 0 or 1."""
    if getattr(x, "shape", ()) or not (isinstance(x, int) or type(x).__name__ in ("bool", "bool_")):
        raise TypeError(f"{place} is True or False, got {in_words(x)}")


def check(*, cache: Any = True, **functions: Any) -> None:
    """What walks are given: functions, and whether to keep ties."""
    for name, function in functions.items():
        check_callable(f"{name}=…", function)
    check_bool("cache=…", cache)
