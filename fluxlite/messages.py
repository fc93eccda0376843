"""Messages: plain lines, which you can list and forget. Most appear once.

``[ Info: Float64 arrays become Float32 on their way to a GPU, …``

They're on standard error, so that a program's output is only its own; in a notebook on standard output, since there
standard error is red, and looks like a mistake.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Hashable, Iterator
from typing import Any

_said: dict[Hashable, str] = {}
_met: set[Hashable] = set()


def notice(key: Hashable, text: str) -> None:
    """Print ``[ Info: text`` the first time that `key` is used (Julia: ``@info … maxlog=1``).

    >>> reset_notices()
    >>> notice("greeting", "hello")
    [ Info: hello
    >>> notice("greeting", "hello")
    """
    _say(key, formatted("Info", text))


def warn(key: Hashable, text: str) -> None:
    """Print ``┌ Warning: text`` the first time that `key` is used (Julia: ``@warn … maxlog=1``).

    >>> reset_notices()
    >>> warn("hot", "the GPU is at 95 °C")
    ┌ Warning: the GPU is at 95 °C
    """
    _say(key, formatted("Warning", text))


def warn_again(key: Hashable, text: str) -> None:
    """`warn`, also if it was said before: for what matters each time."""
    _said.pop(key, None)
    warn(key, text)


def first_time(key: Hashable) -> bool:
    """Whether `key` is asked about for the first time: for what is looked for once.

    >>> reset_notices()
    >>> first_time("x"), first_time("x")
    (True, False)
    """
    if key in _met:
        return False
    _met.add(key)
    return True


def formatted(level: str, text: str) -> str:
    """`text` as Julia's logger prints it: ``[ Info: …``, or several lines after ``┌``, ``│`` and ``└``.

    >>> print(formatted("Info", "New GPU backend set: CPU.\\nIt is used from now on."))
    ┌ Info: New GPU backend set: CPU.
    └ It is used from now on.
    """
    first, *rest = text.split("\n")
    if not rest:
        return f"┌ Warning: {first}" if level == "Warning" else f"[ {level}: {first}"
    *middle, last = rest
    return "\n".join([f"┌ {level}: {first}", *(f"│ {line}" for line in middle), f"└ {last}"])


def was_said(key: Hashable) -> bool:
    """Whether the message with this `key` has appeared. If so, you needn't compose it again."""
    return key in _said


def notices() -> list[str]:
    """All messages so far, in order.

    >>> reset_notices()
    >>> notices()
    []
    """
    return list(_said.values())


def reset_notices() -> None:
    """Forget all messages, so that they can appear again.

    >>> reset_notices()
    >>> len(notices())
    0
    """
    _said.clear()
    _met.clear()


@contextlib.contextmanager
def forgotten_afterwards() -> Iterator[None]:
    """Messages inside the block don't count afterwards, and earlier messages aren't repeated."""
    before, met = dict(_said), set(_met)
    try:
        yield
    finally:
        reset_notices()
        _said.update(before)
        _met.update(met)


def _say(key: Hashable, line: str) -> None:
    if key not in _said:
        _said[key] = line
        say(at_words(line, indent="  "))


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


# -- where we run ---------------------------------------------------------------------------------------------------


def ipython() -> Any:
    """The IPython shell that runs this, in a notebook or a terminal, otherwise None. Imports nothing."""
    module = sys.modules.get("IPython")
    return None if module is None else module.get_ipython()


def many(count: int, one: str, several: str = "") -> str:
    """A number of things in words: the plural ends in -s, or -ies after a consonant, unless it's given.

    >>> many(1, "copy"), many(2_000, "copy"), many(2, "array")
    ('1 copy', '2,000 copies', '2 arrays')
    """
    regular = f"{one[:-1]}ies" if one.endswith("y") and one[-2] not in "aeou" else f"{one}s"
    return f"{count:,} {one if count == 1 else several or regular}"


def at_words(text: str, indent: str = "") -> str:
    """In a notebook, `text` with its long lines broken between words: a page would break them anywhere.

    >>> at_words("a short line")
    'a short line'
    """
    if not in_notebook():
        return text
    import textwrap  # only here: a program that stays outside notebooks needn't load it

    wrap = textwrap.TextWrapper(
        96, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False, replace_whitespace=False
    )
    return "\n".join(wrap.fill(line) for line in text.split("\n"))


def in_notebook() -> bool:
    """Whether a Jupyter kernel runs this, so that messages appear below a cell."""
    return "ipykernel" in sys.modules and ipython() is not None
