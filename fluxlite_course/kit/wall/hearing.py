"""What may be heard: a lab's message, read without believing anything in it.

A message is JSON: ``{"name": "Ada", "guesses": {"02-C": "b"}, "checks": {"02.1": "right"}, "puzzles": {}}``. It's all
that the lab has so far, not only what's new. So a message may get lost, or come twice.
"""

import functools
import math
from typing import Any, NamedTuple

from .. import exercises, handins, progress
from ..guesses import Question, questions
from ..puzzles import Puzzle

LARGEST = 16_000  # bytes: all guesses, checks and puzzles of the course together have some 3,000
LONGEST_NAME = 30
LONGEST_FIGURE = 30  # characters
HIGHEST_FIGURE = 1e9  # launches, copies or seconds that a puzzle may have taken
SOME = 5  # of what was strange in a message, so many are named
PARTS = ("guesses", "checks", "puzzles")


class Heard(NamedTuple):
    """What of a message counts, and the ids of what doesn't."""

    name: str
    guesses: dict[str, str]
    checks: dict[str, str]
    puzzles: dict[str, float]
    strange: list[str]

    @property
    def what_is_strange(self) -> str:
        """What doesn't count, in words. Empty if all does."""
        if not self.strange:
            return ""
        more = ""
        if len(self.strange) > SOME:
            more = f" and {len(self.strange) - SOME:,} more"
        return f"no lesson writes what it has for {', '.join(self.strange[:SOME])}{more}"


def read_message(body: bytes | bytearray | None) -> Heard:
    """A lab's message; None is one that was too long. Raises `ValueError`, which says why, if it isn't one.

    >>> read_message(b'{"name": " Ada", "guesses": {"02-C": "b", "99-Z": "b"}}')
    Heard(name='Ada', guesses={'02-C': 'b'}, checks={}, puzzles={}, strange=['99-Z'])
    """
    if body is None or len(body) > LARGEST:
        raise ValueError(f"it has more than {LARGEST:,} bytes")
    try:
        message = progress.parsed(bytes(body))
    except ValueError:
        raise ValueError("it isn't JSON, or nested too deep") from None
    if not isinstance(message, dict) or not isinstance(message.get("name", ""), str):
        raise ValueError("it isn't what a lab sends")
    return counted(message.get("name", ""), message)


def counted(name: str, record: dict[str, Any]) -> Heard:
    """What of a record counts: what a lesson writes, for the questions, exercises and puzzles that exist.

    Raises `ValueError` if a part isn't a table.
    """
    parts = [record.get(part, {}) for part in PARTS]
    if not all(isinstance(part, dict) for part in parts):
        raise ValueError("its guesses, checks or puzzles aren't a table")
    guesses, checks, puzzles = parts
    right_guesses = {id: letter for id, letter in guesses.items() if _is_written(id, letter)}
    right_checks = {id: word for id, word in checks.items() if _is_written(id, word)}
    figures = {id: _figure(id, text) for id, text in puzzles.items()}
    right_figures = {id: figure for id, figure in figures.items() if figure is not None}
    left = (guesses.keys() - right_guesses) | (checks.keys() - right_checks) | (puzzles.keys() - right_figures)
    strange = sorted(handins.printable(id)[:20] for id in left)
    return Heard(as_name(name), right_guesses, right_checks, right_figures, strange)


def as_name(text: str) -> str:
    """A name on one line, without letters that show nothing, and not longer than the wall has room for."""
    return handins.printable(text)[:LONGEST_NAME].strip()


def _is_written(id: str, word: Any) -> bool:
    """Whether a lesson writes this word for this question or exercise."""
    return isinstance(word, str) and word in handins.allowed().get(id, ())


@functools.cache
def asked_in(lesson: str) -> dict[str, Question]:
    """A lesson's questions, by id, read once. Raises `ValueError` for an unknown lesson."""
    return questions(lesson)


@functools.cache
def all_puzzles() -> dict[str, Puzzle]:
    """The course's puzzles, by id."""
    found: dict[str, Puzzle] = {}
    for number in exercises.folders():
        found |= exercises.in_lesson(number, Puzzle)
    return found


def _figure(id: str, text: Any) -> float | None:
    """A puzzle's figure, or None for what can't be one."""
    if id not in all_puzzles() or not isinstance(text, str) or len(text) > LONGEST_FIGURE:
        return None
    try:
        figure = float(text)
    except ValueError:
        return None
    if not math.isfinite(figure) or not 0 <= figure <= HIGHEST_FIGURE:
        return None
    if all_puzzles()[id].counts != "seconds" and figure != int(figure):
        return None
    return figure
