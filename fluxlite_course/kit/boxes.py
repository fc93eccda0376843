"""The boxes that a page shows instead of printed words: guesses, checks, puzzles. `boxes.css` has their looks."""

import functools
import html
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fluxlite.messages import ipython

_CODE = re.compile(r"`([^`]+)`")
_SHAPES = {"right": "✓", "at par": "✓", "under par": "★", "above par": "▲", "not right": "✗", "stopped": "!"}
_EMPHASIS = re.compile(r"(?<!\w)\*(?=\S)([^*]+)\*(?!\w)")


def marked(text: str) -> str:
    """A text as HTML, with its `code` in backticks and its *emphasis*; nothing else of Markdown.

    >>> marked("`x < 1` is *not* so")
    '<code>x &lt; 1</code> is <em>not</em> so'
    """
    pieces = enumerate(_CODE.split(html.escape(text, quote=False)))  # every second one is code
    return "".join(f"<code>{x}</code>" if k % 2 else _EMPHASIS.sub(r"<em>\1</em>", x) for k, x in pieces)


def plain(text: str) -> str:
    """The same text for a terminal, on one line.

    >>> plain("`x < 1` is *not* so")
    'x < 1 is not so'
    """
    return " ".join(html.unescape(re.sub("</?(code|em)>", "", marked(text))).split())


@functools.cache
def style(*parts: str) -> str:
    """These parts of ``boxes.css``, each named by its comment's first word, below the part that all boxes share."""
    text = Path(__file__).with_name("boxes.css").read_text(encoding="utf-8")
    known = {part.partition(":")[0]: part.partition("*/")[2] for part in text.split("/* ")[1:]}
    return " ".join(" ".join(known[name] for name in ("Boxes", *parts)).split())


def box(kind: str, inside: str, *parts: str) -> str:
    """A box as HTML that needs no kernel. `kind` says how it looks: ``"guess"``, ``"right"``, ``"not right"``, …"""
    kind = kind.replace(" ", "-")
    return f'<style>{style(*parts)}</style>\n<div class="fluxlite-box {kind}">\n{inside}\n</div>'


def publish(text: str, page: str, more: dict[str, Any] | None = None) -> None:
    """Print `text`; in a notebook, show the HTML `page` instead. `more` has other forms, by their kind."""
    if ipython() is None:
        print(text)
        return
    from IPython.display import display

    display({"text/plain": text, "text/html": page, **(more or {})}, raw=True)


def face(id: str, word: str, message: str, rows: Any, below: Iterable[str] = (), joy: bool = False) -> str:
    """A verdict as a box: a shape and a word, never a colour alone. Its rows follow, and the HTML `below`."""
    shape = f'<span class="shape" aria-hidden="true">{_SHAPES.get(word, "…")}</span>'
    message, *more = message.split("\n")  # a check's message may have rows of its own, such as a score
    head = f'<p>{shape}<b class="id">{id}</b> <b class="word">{word}</b> {html.escape(message)}</p>'
    facts = [fact(*row) for row in (*(row.strip().rpartition("  ")[::2] for row in more if row.strip()), *rows)]
    lines = [head, *facts, *below, *['<span class="joy" aria-hidden="true"></span>'] * joy]
    return box(word, "\n".join(lines), "Checks", *["Joy"] * joy)


def dots(done: int, of: int) -> str:
    """How many of a lesson's checks are right, as dots and in words."""
    whole = ": all its exercises are done" * (done == of)
    dots = f'<span class="dots" aria-hidden="true">{"●" * done}{"○" * (of - done)}</span>'
    return f'<p class="small">{dots}{done} of {of} in this lesson{whole}</p>'


def fact(name: str, text: str) -> str:
    """A row of a box: a name, and what's said about it."""
    return f'<div class="fact"><span>{name}</span><span>{html.escape(text)}</span></div>'


def bars(values: list[tuple[str, float, str]]) -> str:
    """Bars below each other, each with its label and its value in words."""
    longest = max(value for _, value, _ in values)
    line = '<div class="fact bar {}"><span>{}</span><span><i style="width:{:.0f}%"></i>{}</span></div>'
    return "\n".join(line.format(label, label, 45 * value / longest, words) for label, value, words in values)
