"""How a model prints that is made of layers: as Flux's do, a line for each part, and in notebooks a tree that unfolds.

A class of your own that `functor` registers prints in the same way, unless it has a text of its own.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import reprlib
from collections.abc import Iterator, Mapping
from typing import Any

from ..tree.contract import children, is_leaf, on_registration
from ..tree.ties import is_array, is_tracked
from ..tree.walks import leaves
from .printing import call_of, comment_of, described, name_of, places_of, said_where

WIDTH = 80  # what's longer has a line for each part
MOST = 40  # parts of one thing that are drawn

_CONTAINERS = (dict, list, functools.partial)
_PLAIN = (str, bytes, int, float, complex, range, slice, type(None))


def text(x: Any) -> str:
    """`x`, a layer or an object of a registered class, with the number of parameters of each part."""
    if _parts(x) is None:
        return described(x)
    places = places_of(x)
    # Where all is in one place, it is said once, at the end.
    *lines, (last, _) = _lines("", x, "", each=len(places) > 1)
    lines.append((last.removesuffix(","), f"# {comment_of(x, ' in all')}{said_where(places)}"))
    width = max(len(line) for line, _ in lines) + 6
    return "\n".join(f"{line:<{width}}{comment}".rstrip() for line, comment in lines)


def _lines(name: str, x: Any, indent: str, each: bool) -> Iterator[tuple[str, str]]:
    """The lines of `x`, each with its comment, and where `each` part is."""
    parts = _parts(x)
    if parts is None:
        yield f"{indent}{name}{_one_line(x)},", _comment(x, each)
        return
    opening, closing = _brackets(x)
    yield f"{indent}{name}{opening}", ""
    for part_name, part in parts[:MOST]:
        yield from _lines(part_name, part, indent + "  ", each)
    if len(parts) > MOST:
        yield f"{indent}  … {len(parts) - MOST:,} more", _comment([part for _, part in parts[MOST:]], each)
    yield f"{indent}{closing},", ""


def _comment(x: Any, each: bool) -> str:
    arrays = any(is_array(leaf) or is_tracked(leaf) for leaf in leaves(x))
    said = comment_of(x) if arrays else ""
    where = f", on {' and '.join(places_of(x))}" if each else ""
    return f"# {said}{where}" if said else ""


def _parts(x: Any) -> list[tuple[str, Any]] | None:
    """(name, part) for what `x` is made of; None if it stands on one line."""
    if hasattr(x, "_call"):
        inside = x._parts() if hasattr(x, "_parts") else []
        is_long = inside and (x.in_lines or len(x._call()) > WIDTH)
        return [_named(name, part) for name, part in inside] if is_long else None
    if is_array(x) or is_tracked(x) or callable(x) and not _is_object(x) or is_leaf(x):
        return None
    parts = children(x)[0]
    if _is_object(x):
        return [_named(name, part) for name, part in parts.items()] if isinstance(parts, Mapping) else None
    if not any(_holds(part) for part in leaves(x)):
        return None
    if isinstance(parts, Mapping):
        return [(f"{name!r}: ", part) for name, part in parts.items()]
    return [("", part) for part in parts]


def _named(name: Any, part: Any) -> tuple[str, Any]:
    return (f"{name}=" if isinstance(name, str) and name else ""), part


def _is_object(x: Any) -> bool:
    """Whether `x` is of a registered class: no container, and no function."""
    return hasattr(x, "__dict__") and not is_leaf(x) and not inspect.isroutine(x) and not isinstance(x, _CONTAINERS)


def _holds(part: Any) -> bool:
    return is_array(part) or is_tracked(part) or hasattr(part, "_call")


def _one_line(x: Any) -> str:
    if is_array(x) or is_tracked(x):
        return f"{x.dtype} {tuple(x.shape)}"
    if callable(x):
        return call_of(x)
    if isinstance(x, _PLAIN):
        return reprlib.repr(x)
    if isinstance(x, (list, tuple, dict)):
        return f"{type(x).__name__} of {len(x)}" if len(x) > 6 else reprlib.repr(x)
    return name_of(x)


def _brackets(x: Any) -> tuple[str, str]:
    return _BRACKETS.get(type(x).__name__, (f"{type(x).__name__}(", ")"))


_BRACKETS = {"list": ("[", "]"), "tuple": ("(", ")"), "dict": ("{", "}")}


# ---------------------------------------------------------------------------------------------
# In notebooks
# ---------------------------------------------------------------------------------------------


def html(x: Any) -> str | None:
    """`x` as a tree that unfolds, to its arrays; None if its text is one line, which is enough."""
    if _parts(x) is None:
        return None
    from ..outline import as_html

    places = places_of(x)
    root = _row("", x, each=len(places) > 1)
    root.places = places
    return as_html(root, [f"{comment_of(x, ' in all')}{said_where(places)}."])


def _row(name: str, x: Any, each: bool) -> Any:
    from ..outline import Row

    parts = _parts(x)
    fields: list = parts or (_arrays_of(x) if hasattr(x, "_call") else [])
    what = _one_line(x) if parts is None else _brackets(x)[0].rstrip("(") or "("
    if parts is not None and type(x) in (list, tuple, dict):
        what = f"{type(x).__name__} of {len(x)}"
    row = Row(name, what, places_of(x) if each else [], [said] if (said := _comment(x, False)[2:]) else [])
    row.folded = parts is None
    for number, (part_name, part) in enumerate(fields[:MOST]):
        row.rows.append(_row(part_name.rstrip("=: ") or f"[{number}]", part, each))
    if len(fields) > MOST:
        row.rows.append(Row("…", f"{len(fields) - MOST:,} more"))
    return row


def _arrays_of(layer: Any) -> list[tuple[str, Any]]:
    parts = children(layer)[0]
    return [(name, part) for name, part in parts.items() if _holds(part)] if isinstance(parts, Mapping) else []


# ---------------------------------------------------------------------------------------------
# Classes of one's own
# ---------------------------------------------------------------------------------------------


def print_as_tree(cls: type) -> None:
    """Objects of `cls`, which was just registered, print as trees, unless the class says how it prints."""
    own: Any = cls.__repr__
    if own is object.__repr__ or _is_of_dataclass(own):
        with contextlib.suppress(TypeError):  # a class written in C
            cls.__repr__ = lambda x: _text_or(x, own)  # type: ignore[method-assign, assignment, misc]
            if not hasattr(cls, "_repr_html_"):
                cls._repr_html_ = _html_or_none  # type: ignore[attr-defined]


def _is_of_dataclass(text_of: Any) -> bool:
    """Whether ``@dataclass`` wrote this: it would show all values, and fetch them from a device."""
    code = getattr(inspect.unwrap(text_of), "__code__", None)
    return code is not None and code.co_filename == "<string>"


def _text_or(x: Any, own: Any) -> str:
    with contextlib.suppress(ValueError, RuntimeError, AttributeError):  # a cycle, or an object that isn't finished
        if _is_object(x) and any(_holds(leaf) for leaf in (x, *leaves(x))):
            return text(x)
    return own(x)


def _html_or_none(x: Any) -> str | None:
    with contextlib.suppress(ValueError, RuntimeError, AttributeError):
        if _is_object(x) and any(_holds(leaf) for leaf in leaves(x)):
            return html(x)
    return None


on_registration.append(print_as_tree)
