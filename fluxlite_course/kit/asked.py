"""A question's words and options, read from the lesson that asks it."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from . import copies

_GUESS = re.compile(r"\*\*Guess (\d\d-[A-Z])\.\*\* (.*?)\n\n(.*)", re.DOTALL)
_OPTION = re.compile(r"^- \*\*([a-z])\*\* (.+?)(?=\n- \*\*|\n\n|\Z)", re.DOTALL | re.MULTILINE)


class Asked(NamedTuple):
    """The words of a question, and of each option by its letter."""

    words: str
    options: dict[str, str]


def asked(number: str) -> dict[str, Asked]:
    """A lesson's questions by id, without Markdown. Empty if there's no such lesson to read.

    >>> asked("03")["03-A"].options["d"]
    'there is an error'
    """
    found = {}
    for path in copies.learner_folder().glob(f"{number}-*.ipynb"):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if match := _GUESS.search("".join(cell["source"])):
                id, words, rest = match.groups()
                found[id] = Asked(_plain(words), {letter: _plain(text) for letter, text in _OPTION.findall(rest)})
    return found


def _plain(text: str) -> str:
    """A text on one line, without Markdown."""
    return " ".join(re.sub(r"\*\*|`|(?<!\w)\*(?=\w)|(?<=\w)\*(?!\w)", "", text).split())
