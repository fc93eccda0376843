"""Words: what errors say of what a function was given, what a program can write instead, tables of names."""

from collections.abc import Sequence
from typing import Any

# What a program writes to move an array. A library that builds on this one puts its own names here.
WRITE = {"to the host": "cp.asnumpy", "to the GPU": "cp.asarray", "for a GPU": "cp.asarray(x)"}


def in_words(x: Any) -> str:
    """`x` in a few words: numbers, shapes and short texts as they are, an array's dtype and shape, or else its type."""
    if hasattr(x, "shape") and hasattr(x, "dtype"):
        return f"an array of {x.dtype}, shape {x.shape}"
    if _is_plain(x) or type(x) is tuple and len(x) < 5 and all(map(_is_plain, x)):
        text = repr(x)
        if len(text) <= 40:
            return text
        return f"{text[:36]} …"
    if isinstance(x, type):
        return f"the class {x.__name__}"
    kind = type(x).__name__
    return f"{'an' if kind[:1].lower() in 'aeio' else 'a'} {kind}"


def many(count: int, word: str, several: str = "") -> str:
    """``1 copy``, ``2,048 copies``: a count and its word."""
    return f"{count:,} {word if count == 1 else several or f'{word}s'}"


def word_set(text: str) -> frozenset[str]:
    """The words of a text as a set. So a table reads like a list."""
    return frozenset(text.split())


def as_table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows of a table as lines. Numbers end below each other; the last column is text."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ["  ".join([*(f"{x:>{width}}" for x, width in zip(row[:-1], widths)), row[-1]]).rstrip() for row in rows]


def _is_plain(x: Any) -> bool:
    return x is None or isinstance(x, (bool, float, complex, str, bytes)) or isinstance(x, int) and abs(x) < 10**20


class Missing(NotImplementedError, AttributeError):
    """CuPy has this name, and we don't. For `hasattr` and ``from … import``, it isn't there."""


class Unsupported(TypeError, AttributeError):
    """A list, a number or a host array where CuPy takes arrays of a GPU. CuPy raises one or the other."""
