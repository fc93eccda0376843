"""Messages: plain lines, such as ``[ Info: Float64 arrays become …``, which you can list and forget. Most appear once.

They're on standard error, so that a program's output is only its own; in a notebook on standard output, since there
standard error is red, and looks like a mistake.
"""

import contextlib
import io
import sys
import textwrap
from collections.abc import Hashable, Iterator
from typing import Any

_said: dict[Hashable, str] = {}  # the line, or an empty one if `first_time` was asked


def notice(key: Hashable, text: str, level: str = "Info") -> None:
    """Print ``[ Info: text`` the first time that `key` is used (Julia: ``@info … maxlog=1``)."""
    if key not in _said:
        _said[key] = formatted(level, text)
        say(at_words(_said[key], indent="  "))


def warn(key: Hashable, text: str) -> None:
    """Print ``┌ Warning: text`` the first time that `key` is used (Julia: ``@warn … maxlog=1``)."""
    notice(key, text, "Warning")


def warn_again(key: Hashable, text: str) -> None:
    """`warn`, also if it was said before: for what matters each time."""
    _said.pop(key, None)
    warn(key, text)


def first_time(key: Hashable) -> bool:
    """Whether `key` is asked about for the first time: for what is looked for once."""
    return key not in _said and _said.setdefault(key, "") == ""


def was_said(key: Hashable) -> bool:
    """Whether the message with this `key` has appeared."""
    return key in _said


def notices() -> list[str]:
    """All messages so far, in order."""
    return [line for line in _said.values() if line]


def reset_notices() -> None:
    """Forget all messages, so that they can appear again."""
    _said.clear()


@contextlib.contextmanager
def forgotten_afterwards() -> Iterator[None]:
    """Messages inside the block don't count afterwards, and earlier messages aren't repeated."""
    before = dict(_said)
    try:
        yield
    finally:
        _said.clear()
        _said.update(before)


def formatted(level: str, text: str) -> str:
    """`text` as Julia's logger prints it: ``[ Info: …``, or several lines after ``┌``, ``│`` and ``└``."""
    first, *middle = text.split("\n")
    if not middle:
        return f"┌ Warning: {first}" if level == "Warning" else f"[ {level}: {first}"
    last = middle.pop()
    return "\n".join([f"┌ {level}: {first}", *(f"│ {line}" for line in middle), f"└ {last}"])


def say(line: str) -> None:
    """Print `line`, `formatted`, each time."""
    print(line, file=stream())


def stream() -> Any:
    """Where messages go."""
    return sys.stdout if in_notebook() else sys.stderr


@contextlib.contextmanager
def put_aside() -> Iterator[io.StringIO]:
    """Messages, and whatever else the block prints, aren't shown. They're in here."""
    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(said):
        yield said


def ipython() -> Any:
    """The IPython shell that runs this, or None. Imports nothing."""
    module = sys.modules.get("IPython")
    return None if module is None else module.get_ipython()


def in_notebook() -> bool:
    """Whether a Jupyter kernel runs this, so that messages appear below a cell."""
    return "ipykernel" in sys.modules and ipython() is not None


def at_words(text: str, indent: str = "") -> str:
    """In a notebook, `text` with its long lines broken between words: a page would break them anywhere."""
    if not in_notebook():
        return text
    options: Any = {"break_long_words": False, "break_on_hyphens": False, "replace_whitespace": False}
    lines = (textwrap.fill(line, 96, subsequent_indent=indent, **options) for line in text.split("\n"))
    return "\n".join(lines)


def many(count: int, one: str, several: str = "") -> str:
    """A number of things in words, such as ``2,000 copies``; an irregular plural is given as `several`."""
    regular = f"{one[:-1]}ies" if one.endswith("y") and one[-2] not in "aeou" else f"{one}s"
    return f"{count:,} {one if count == 1 else several or regular}"
