"""Notices: lines that are printed once, and can be listed and forgotten. Errors are in words.py.

As long as all goes well, we only look at what would give a wrong result without an error.
"""

import contextlib
import io
import sys
import textwrap
from collections.abc import Hashable, Iterator
from typing import Any, TextIO

said: dict[Hashable, str] = {}  # what has appeared, by its key; an empty line is a key that's only remembered


def notice(key: Hashable, text: str, level: str = "Info") -> None:
    """Print ``[ Info: text`` the first time that `key` is used (Julia: ``@info … maxlog=1``)."""
    if key not in said:
        said[key] = _format(text, level)
        print(at_words(said[key], indent="  "), file=stream())


def warn(key: Hashable, text: str) -> None:
    """Print ``┌ Warning: text`` the first time that `key` is used (Julia: ``@warn … maxlog=1``)."""
    notice(key, text, "Warning")


def say(text: str, level: str = "Info") -> None:
    """Print it each time; `notices` doesn't list it."""
    print(_format(text, level), file=stream())


def _format(text: str, level: str) -> str:
    """`text` as Julia's logger prints it: ``[ Info: …``, or several lines after ``┌``, ``│`` and ``└``."""
    first, *more = text.split("\n")
    if more:
        *between, last = more
        return "\n".join([f"┌ {level}: {first}", *[f"│ {line}" for line in between], f"└ {last}"])
    if level == "Warning":
        return f"┌ Warning: {first}"
    return f"[ {level}: {first}"


def stream() -> TextIO:
    """Where messages go: in a program its output stays its own; in a notebook standard error would be red."""
    if in_notebook():
        return sys.stdout
    return sys.stderr


def notices() -> list[str]:
    """All messages so far, in order."""
    return [line for line in said.values() if line]


def reset_notices() -> None:
    """Forget all messages, so that they can appear again."""
    said.clear()


@contextlib.contextmanager
def put_aside() -> Iterator[io.StringIO]:
    """Messages, and whatever else the block prints, aren't shown. They're kept here."""
    with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.redirect_stderr(printed):
        yield printed


def ipython() -> Any:
    """The IPython shell that runs this, or None. Imports nothing."""
    module: Any = sys.modules.get("IPython")
    if module is None:
        return None
    return module.get_ipython()


def in_notebook() -> bool:
    """Whether a Jupyter kernel runs this, in a browser too, so that messages appear below a cell.

    IPython alone prints what it's asked to show; a kernel has a publisher of its own, which sends it to the page.
    """
    publisher = getattr(ipython(), "display_pub_class", None)
    return publisher is not None and publisher.__module__ != "IPython.core.displaypub"


def at_words(text: str, indent: str = "") -> str:
    """In a notebook, `text` with its long lines broken between words: a page would break them anywhere."""
    if not in_notebook():
        return text
    breaks: Any = dict.fromkeys(("break_long_words", "break_on_hyphens", "replace_whitespace"), False)
    return "\n".join(textwrap.fill(line, 96, subsequent_indent=indent, **breaks) for line in text.split("\n"))


def __getattr__(name: str) -> Any:
    from . import words

    if name not in ("LayerError", "DeviceError", "ShapeError", "InputError", "ClosedError"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    notice(("moved", name), f"{name} is fluxlite.words.{name} now. Its old name works until 0.5.")
    return getattr(words, name)
