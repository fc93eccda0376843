"""How a model prints that is made of layers: as Flux's do, a line for each part, and in notebooks a tree that unfolds.

A class of your own that `functor` registers prints in the same way, unless it has a text of its own.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import reprlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..autodiff.tracked import untracked_leaf
from ..tree.contract import children, is_leaf, on_registration, trainable
from ..tree.ties import is_array, is_tracked
from ..tree.walks import fmap, leaves
from .printing import call_of, comment_of, described, name_of, number, places_of, said_where

WIDTH = 80  # what's longer has a line for each part
MOST = 40  # parts of one thing that are drawn

_CONTAINERS = (dict, list, functools.partial)
_PLAIN = (str, bytes, int, float, complex, range, slice, type(None))


class Part(NamedTuple):
    """A part of a model: what stands before it in a text, its name in a notebook's tree, and itself."""

    before: str
    name: str
    value: Any
    trains: bool = True


def text(x: Any) -> str:
    """`x`, a layer or an object of a registered class, with the number of parameters of each part."""
    if _parts(x) is None:
        return described(x)
    places = places_of(x)
    # Where all is in one place, it is said once, at the end.
    *lines, (last, _) = _lines(Part("", "", x), "", each=len(places) > 1)
    lines.append((last.removesuffix(","), f"# {comment_of(x, ' in all')}{said_where(places)}"))
    width = max(len(line) for line, _ in lines) + 6
    return "\n".join(f"{line:<{width}}{comment}".rstrip() for line, comment in lines)


def _lines(part: Part, indent: str, each: bool) -> Iterator[tuple[str, str]]:
    """The lines of a part, each with its comment, and where `each` part is."""
    parts = _parts(part.value, part.trains)
    if parts is None:
        yield f"{indent}{part.before}{_one_line(part.value)},", _comment(part, each)
        return
    opening, closing = _brackets(part.value)
    yield f"{indent}{part.before}{opening}", ""
    for inner in parts[:MOST]:
        yield from _lines(inner, indent + "  ", each)
    if len(parts) > MOST:
        others = Part("", "", [inner.value for inner in parts[MOST:]], part.trains)
        yield f"{indent}  … {len(parts) - MOST:,} more", _comment(others, each)
    yield f"{indent}{closing},", ""


def _comment(part: Part, each: bool) -> str:
    arrays = list(filter(is_array, _leaves(part.value)))
    said = comment_of(part.value) if part.trains else f"{number(sum(x.size for x in arrays))} not trained"
    where = f", on {' and '.join(places_of(part.value))}" if each else ""
    return f"# {said}{where}" if arrays else ""


def _parts(x: Any, trains: bool = True, width: int = WIDTH) -> list[Part] | None:
    """What `x` is made of; None if it stands on one line."""
    if hasattr(x, "_call"):
        inside = x._parts() if hasattr(x, "_parts") else []
        is_long = inside and (x._in_lines or len(x._call()) > width)
        return [_part(key, part, trains) for key, part in inside] if is_long else None
    if is_array(x) or is_tracked(x) or callable(x) and not _is_object(x) or is_leaf(x):
        return None
    parts = children(x)[0]
    if _is_object(x):
        return _fields(x, parts, trains) if isinstance(parts, Mapping) else None
    if not any(map(_holds, _leaves(x))):
        return None
    if isinstance(parts, Mapping):
        return [Part(f"{key!r}: ", f"[{key!r}]", part, trains) for key, part in parts.items()]
    return [_part(index, part, trains) for index, part in enumerate(parts)]


def _part(key: Any, part: Any, trains: bool) -> Part:
    if isinstance(key, str):
        return Part(f"{key}=", key, part, trains)
    return Part("", key[0] if isinstance(key, tuple) else f"[{key}]", part, trains)


def _fields(x: Any, parts: Mapping[str, Any], trains: bool) -> list[Part]:
    trained: Any = trainable(x)
    return [_part(key, part, trains and key in trained) for key, part in parts.items()]


def _is_object(x: Any) -> bool:
    """Whether `x` is of a registered class: no container, and no function."""
    return hasattr(x, "__dict__") and not is_leaf(x) and not inspect.isroutine(x) and not isinstance(x, _CONTAINERS)


def _leaves(x: Any) -> list:
    """The leaves of `x`, plain ones, also of a model that was kept after its gradient."""
    return leaves(fmap(untracked_leaf, x))


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

    root = _row(Part("", "", x), each=len(places_of(x)) > 1)
    root.places = places_of(x)
    return as_html(root, [])


def _row(part: Part, each: bool) -> Any:
    from ..outline import Row

    x = part.value
    parts = _parts(x, part.trains, width=0)
    row = Row(part.name, _brackets(x)[0].rstrip("(") if parts else _one_line(x), places_of(x) if each else [])
    if parts and type(x) in (list, tuple, dict):
        row.what = f"{type(x).__name__} of {len(x)}"
    row.remarks = list(filter(None, [_comment(part, each=False).removeprefix("# ")]))
    row.folded = parts is None  # a layer, which unfolds to its arrays
    fields = parts or (_arrays_of(x, part.trains) if hasattr(x, "_call") else [])
    row.rows = [_row(inner, each) for inner in fields[:MOST]]
    if len(fields) > MOST:
        row.rows.append(Row("…", f"{len(fields) - MOST:,} more"))
    return row


def _arrays_of(layer: Any, trains: bool) -> list[Part]:
    parts = children(layer)[0]
    held = parts if isinstance(parts, Mapping) else {}
    return _fields(layer, {key: x for key, x in held.items() if _holds(x)}, trains)


# ---------------------------------------------------------------------------------------------
# Classes of one's own
# ---------------------------------------------------------------------------------------------


def print_as_tree(cls: type) -> None:
    """Objects of `cls`, which was just registered, print as trees, unless the class says how it prints."""
    own: Any = cls.__repr__
    if own is object.__repr__ or _is_of_dataclass(own):
        cls.__repr__ = lambda x: _text_or(x, own)  # type: ignore[method-assign, assignment, misc]
        if not hasattr(cls, "_repr_html_"):
            cls._repr_html_ = _html_or_none  # type: ignore[attr-defined]


def _is_of_dataclass(text_of: Any) -> bool:
    """Whether ``@dataclass`` wrote this: it would show all values, and fetch them from a device."""
    code = getattr(inspect.unwrap(text_of), "__code__", None)
    return code is not None and code.co_filename == "<string>"


def _text_or(x: Any, own: Any) -> str:
    with contextlib.suppress(ValueError, RuntimeError, AttributeError):  # a cycle, or an object that isn't finished
        if _is_object(x) and any(map(_holds, (x, *_leaves(x)))):
            return text(x)
    return own(x)


def _html_or_none(x: Any) -> str | None:
    with contextlib.suppress(ValueError, RuntimeError, AttributeError):
        if _is_object(x) and any(map(_holds, _leaves(x))):
            return html(x)
    return None


on_registration.append(print_as_tree)
