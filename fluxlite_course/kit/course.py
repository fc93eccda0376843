"""A course of some of the lessons: ``lab 00-07`` keeps which they are in ``course.json``, beside the copies.

Whatever counts lessons asks here. Copies of a shorter course lead to none of the lessons that it doesn't have.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fluxlite.writing import write_whole

from . import exercises

FILE = "course.json"
ELSEWHERE = "(not in this course)"
LAST = "That was the last lesson."
_LINK = re.compile(r"\[((?:[^][]|\[[^]]*\])*)\]\(((\d\d)-[\w-]+\.ipynb)(?:#[^)]*)?\)")
_NEXT = re.compile(r"\*\*Next: \[[^]]*\]\((\d\d)-[\w-]+\.ipynb\)\*\*.*")
_LIST = 3  # so many links to lessons in a paragraph are a list of lessons


def chosen(words: Sequence[str]) -> list[str]:
    """The lessons that words such as ``00-07`` or ``5`` name, in order. Raises `ValueError` for an unknown lesson.

    >>> chosen(["03", "00-01", "5"])
    ['00', '01', '03', '05']
    """
    known = list(exercises.folders())
    found = set()
    for word in words:
        first, last = _ends(word)
        if first not in known or last not in known or first > last:
            there = f"there are {known[0]} to {known[-1]}: lab 00-07, or lab 00 03 05"
            raise ValueError(f"there's no lesson {word!r}; {there}")
        found |= {number for number in known if first <= number <= last}
    return sorted(found)


def _ends(word: str) -> tuple[str, str]:
    """The first and the last lesson that a word names; empty if it's no such word."""
    named = re.fullmatch(r"(\d\d?)(?:-(\d\d?))?", word)
    if named is None:
        return "", ""
    return named[1].zfill(2), (named[2] or named[1]).zfill(2)


def lessons_in(folder: Path) -> list[str]:
    """The lessons of the course in this folder. All of them where nothing that can be read says otherwise."""
    known = list(exercises.folders())
    try:
        kept = json.loads((folder / FILE).read_text(encoding="utf-8-sig"))["lessons"]
        return [number for number in known if number in kept] or known
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return known


def keep(folder: Path, lessons: Sequence[str]) -> None:
    """From now on, the course in this folder has these lessons."""
    if list(lessons) == list(exercises.folders()):
        (folder / FILE).unlink(missing_ok=True)
        return
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / FILE, f"{json.dumps({'lessons': list(lessons)})}\n".encode())


def is_whole(lessons: Iterable[str]) -> bool:
    """Whether these are all lessons."""
    return set(lessons) >= set(exercises.folders())


def without_others(notebook: dict[str, Any], lessons: Sequence[str], titles: Mapping[str, tuple[str, str]]) -> None:
    """Take out of a notebook what leads to other lessons than these.

    `titles` has each lesson's file and title, by its number.
    """
    number = notebook["metadata"]["fluxlite"]["lesson"]
    later = [one for one in lessons if one > number]
    following = LAST
    if later:
        file, title = titles[later[0]]
        following = f"**Next: [{title}]({file})**."
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = _shortened("".join(cell["source"]), lessons, following).splitlines(keepends=True)


def _shortened(text: str, lessons: Sequence[str], following: str) -> str:
    """A page's text without links to lessons that the course doesn't have."""

    def others_next(match: re.Match[str]) -> str:
        return match[0] if match[1] in lessons else following

    def unlinked(match: re.Match[str]) -> str:
        return match[0] if match[3] in lessons else f"{match[1]} {ELSEWHERE}"

    paragraphs = []
    for paragraph in re.split(r"\n\n+", _NEXT.sub(others_next, text)):
        rows = [row for row in paragraph.split("\n") if not _is_a_row_of_another(row, lessons)]
        linked = [match[3] in lessons for match in _LINK.finditer(paragraph)]
        if len(linked) >= _LIST and not any(linked):
            continue
        if rows:
            paragraphs.append("\n".join(rows))
    return _LINK.sub(unlinked, "\n\n".join(paragraphs))


def _is_a_row_of_another(row: str, lessons: Sequence[str]) -> bool:
    """Whether this is a row of a table that leads to another lesson."""
    link = _LINK.search(row)
    return row.startswith("|") and link is not None and link[3] not in lessons
