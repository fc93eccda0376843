"""Guesses: asked before a cell runs, stored, and answered afterwards.

A question's words and options are in the lesson's text cell, and only there. Which option is right, and what we reply
to each, is in ``questions.toml`` in the lesson's folder.
"""

import json
import re
import tomllib
from typing import Any, NamedTuple

from fluxlite.messages import at_words
from simgpu.words import in_words

from . import copies, exercises, progress

_GUESS = re.compile(r"\*\*Guess (\d\d-[A-Z])\.\*\* (.*?)\n\n(.*)", re.DOTALL)
_OPTION = re.compile(r"^- \*\*([a-z])\*\* (.+?)(?=\n- \*\*|\n\n|\Z)", re.DOTALL | re.MULTILINE)


class Question:
    """A question with lettered options: the right letter, and a reply to each option.

    >>> q = Question("b", a="a plus sign would be needed", b="two and two are joined", c="text is not added")
    """

    def __init__(self, right: str, **replies: str) -> None:
        if right not in replies:
            raise ValueError(f"the right option {right!r} has no reply")
        self.right, self.replies = right, replies


def questions(number: str) -> dict[str, Question]:
    """A lesson's questions by id, in the order of its folder's ``questions.toml``.

    Raises `ValueError` for an unknown lesson, and for a mistake in the file, with the question where it is.

    >>> questions("03")["03-A"].right
    'b'
    """
    file = exercises.folders()[exercises.existing(number)] / "questions.toml"
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:  # it isn't TOML, or isn't UTF-8
        raise ValueError(f"{file}: {error}") from None
    found = {}
    for id, table in tables.items():
        if exercises.number_in(id) != number:  # of the other notebook that this folder is for
            continue
        try:
            found[id] = _in_file(table)
        except ValueError as error:
            raise ValueError(f"{file}, {id}: {error}") from None
    return found


def _in_file(table: Any) -> Question:
    """A question from its table: ``right`` and a reply for each letter."""
    if not isinstance(table, dict):
        raise ValueError("a question is a table, such as [03-A]")
    for key, text in table.items():
        if key != "right" and not re.fullmatch("[a-z]", key):
            raise ValueError(f"unknown key {key!r}; a question has right, and the options a, b, …")
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"{key} is text in quotes; got {in_words(text)}")
    if "right" not in table:
        raise ValueError('which option is right? Add a line such as right = "b"')
    return Question(**table)


def question(id: str) -> Question:
    """The question with this id, ``"03-A"``. Raises `ValueError` if there's none."""
    known = questions(exercises.number_in(id))
    if id not in known:
        raise ValueError(f"there is no question {id!r} in this lesson; there are {', '.join(known) or 'none'}")
    return known[id]


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


def guess(id: str, option: Any = ...) -> None:
    """Store your guess, a letter such as ``"b"``; three dots pass. Wrong guesses are the useful ones.

    >>> guess("03-A", ...)
    03-A  passed
    """
    options = list(question(id).replies)
    letter = option.strip().lower() if isinstance(option, str) else ""
    if option is ...:
        print(f"{id}  passed")
    elif letter in options:
        progress.keep("guesses", id, letter)
        print(f"{id}  your guess is {letter}")
    else:
        none = f"{in_words(option)} is none of the options: {', '.join(options)}."
        print(f"{id}  {none} For example: guess({id!r}, {options[0]!r})")


def answer(id: str) -> None:
    """Print the answer to a question, and what you guessed.

    >>> answer("03-A")  # doctest: +SKIP
    03-A  you guessed a; it is b: fmap enters only what is registered.
    """
    about, guessed = question(id), progress.read()["guesses"].get(id)
    words = f"it is {about.right}: {about.replies[about.right]}"
    if guessed == about.right:
        words = f"you guessed {guessed}, and {words}"
    elif guessed in about.replies:  # not without a guess, nor with an option that no longer exists
        words = f"you guessed {guessed}: {about.replies[guessed]}\n      {words}"
    print(at_words(f"{id}  {words}", indent=" " * 6))
