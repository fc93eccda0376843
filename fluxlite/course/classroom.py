"""Handing in and looking at a class: one zip file per learner, and no server.

``python -m fluxlite handin NAME`` packs a learner's notebooks with his record of progress; ``python -m fluxlite class
FOLDER`` shows a folder of such files as a table of learners and exercises, ``class FOLDER 03`` a lesson without names,
for the wall.
"""

from __future__ import annotations

import datetime
import getpass
import json
import re
import textwrap
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import fluxlite

from . import exercises, progress
from .asked import Asked, asked
from .guesses import Question
from .lab import FOLDER

ABOUT = "handin.json"
# A record of progress has some kilobytes; more than this is something else.
LARGEST = 1_000_000
# What the last row of a room can read: so many characters in a line, of them for an option, and for a bar.
WIDTH, OPTION, LONGEST = 96, 50, 30
SIGNS = {exercises.RIGHT: "+", exercises.NOT_RIGHT: "-", exercises.STOPPED: "-", "": "."}


def handin(name: str = "", folder: Path | None = None) -> Path:
    """Pack the notebooks and the progress in `folder` into one zip file there, and return its path.

    `name` is the learner's, by default the one he is logged in with. `folder` is ``my-course`` if there is one, else
    the current folder. Raises `ValueError` where there is no notebook, or the name has no letter.
    """
    folder = (Path(FOLDER) if Path(FOLDER).is_dir() else Path()) if folder is None else folder
    name = name.strip() or user()
    stem = re.sub(r"[^\w-]+", "-", name).strip("-")
    if not stem:
        raise ValueError(f"a name has letters in it, got {name!r}: python -m fluxlite handin Ada")
    notebooks = sorted(folder.glob("*.ipynb"))
    if not notebooks:
        raise ValueError(f"there is no notebook in {folder.absolute()}; hand in where your lessons are")
    target = folder / f"handin-{stem}.zip"
    about = {"name": name, "version": fluxlite.__version__, "time": datetime.datetime.now().isoformat()}
    part = target.with_suffix(".part")
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(ABOUT, json.dumps(about))
        for file in [*notebooks, folder / progress.FILE]:
            if file.exists():
                archive.write(file, file.name)
    part.replace(target)
    return target


def user() -> str:
    """The name of who is logged in. Raises `ValueError` where there is none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        raise ValueError("say who you are: python -m fluxlite handin Ada") from None


class Handin(NamedTuple):
    """What one learner handed in."""

    name: str
    time: str
    checks: dict[str, str]
    guesses: dict[str, str]


class Class:
    """A class: what is in the zip files of a folder.

    Prints as a table of names and lessons, for the teacher; `on_the_wall` shows a lesson to all, without names.
    """

    def __init__(self, handins: list[Handin], to_say: list[str]) -> None:
        self.handins, self.to_say = handins, to_say

    def __repr__(self) -> str:
        parts = (
            [self._table(), self._counts(), *self.to_say] if self.handins else ["nobody has handed in", *self.to_say]
        )
        return "\n\n".join(parts)

    def _table(self) -> str:
        """Learners below each other, lessons side by side: for each exercise one sign."""
        shown = [number for number in exercises.lessons() if self._begun(number)]
        widths = [max(len(exercises.exercises(number)), 2) + 2 for number in shown]
        indent = max(len(_short(one.name)) for one in self.handins) + 2
        heads = "".join(f"{number:<{width}}" for number, width in zip(shown, widths))
        rows = [f"{_learners(self.handins)}   + right, - tried, . not yet", "", " " * indent + heads.rstrip()]
        for one in self.handins:
            signs = ("".join(SIGNS[one.checks.get(id, "")] for id in exercises.exercises(n)) for n in shown)
            right = sum(word == exercises.RIGHT for word in one.checks.values())
            cells = "".join(f"{sign:<{width}}" for sign, width in zip(signs, widths))
            rows.append(f"{_short(one.name):<{indent}}{cells}{right:3} right")
        return "\n".join(rows)

    def _begun(self, number: str) -> bool:
        return any(id in one.checks for one in self.handins for id in exercises.exercises(number))

    def _counts(self) -> str:
        """For each exercise how many have it right; for each question how many guessed it."""
        rows = ["how many are right: exercises .1, .2 …, and guesses A, B …"]
        for number in exercises.lessons():
            checks = [
                f".{id.partition('.')[2]} {self._checked(id, exercises.RIGHT)}" for id in exercises.exercises(number)
            ]
            questions = _questions(number)
            guesses = [f"{id[-1]} {self._guessed(id)[questions[id].right]}" for id in questions]
            if self._begun(number) or any(self._guessed(id) for id in questions):
                cells = "".join(f"{cell:<6}" for cell in checks).ljust(26)
                rows.append(f"lesson {number}  {cells}{'  '.join(guesses)}".rstrip())
        return "\n".join(rows)

    def _checked(self, id: str, word: str) -> int:
        return sum(one.checks.get(id) == word for one in self.handins)

    def _guessed(self, id: str) -> Counter[str]:
        return Counter(one.guesses[id] for one in self.handins if id in one.guesses)

    def on_the_wall(self, number: str) -> str:
        """A lesson's exercises, and its questions with what was guessed. Raises `ValueError` for an unknown lesson."""
        lines = [f"lesson {number}   {_learners(self.handins)}", ""]
        for id, exercise in exercises.exercises(number).items():
            right = self._checked(id, exercises.RIGHT)
            tried = sum(id in one.checks for one in self.handins) - right
            lines.append(f"{id}  {exercise.title:<44}{right:3} right {tried:3} tried")
        read = asked(number)
        for id, question in _questions(number).items():
            if counts := self._guessed(id):
                lines += ["", *_histogram(id, question, counts, read.get(id, Asked("", {})))]
        return "\n".join(lines)


def _learners(handins: list[Handin]) -> str:
    return f"{len(handins)} learner{'s' * (len(handins) != 1)}"


def _short(name: str) -> str:
    return name if len(name) <= 20 else name[:19] + "…"


def _questions(number: str) -> dict[str, Question]:
    return getattr(exercises.lesson(number), "QUESTIONS", {})


def _histogram(id: str, question: Question, counts: Counter[str], text: Asked) -> list[str]:
    """A question, and a bar for each of its options; the text of an option in as many lines as it takes."""
    lines = textwrap.wrap(f"{id}  {text.words}", WIDTH, subsequent_indent=" " * 6)
    scale = min(1, LONGEST / max(counts.values()))
    for letter in question.replies:
        mark = "right" if letter == question.right else ""
        first, *more = textwrap.wrap(text.options.get(letter, ""), OPTION) or [""]
        bar = "#" * round(counts[letter] * scale)
        lines.append(f"  {letter} {mark:<6}{first:<{OPTION}}{counts[letter]:5} {bar}".rstrip())
        lines += [" " * 10 + line for line in more]
    return lines


def look_at_class(folder: Path) -> Class:
    """What the learners handed in, from the zip files in `folder` and below; of each the latest.

    Raises `ValueError` if there is no such folder.
    """
    if not folder.is_dir():
        raise ValueError(f"{folder} is no folder; name the one with the files that were handed in")
    found: dict[str, list[tuple[Handin, str]]] = {}
    to_say = []
    for file in sorted(folder.rglob("*.zip")):
        name = str(file.relative_to(folder))
        try:
            one = _read(file)
        except Exception as error:  # damaged, locked by a password, or no zip file at all: there are many ways
            to_say.append(f"{name}: cannot be read ({str(error) or type(error).__name__}); ask for it again")
            continue
        found.setdefault(one.name.casefold(), []).append((one, name))
    latest = []
    for of_one in found.values():
        of_one.sort(key=lambda pair: pair[0].time)
        one, name = of_one[-1]
        latest.append(one)
        if len(of_one) > 1:
            to_say.append(f"{one.name}: {len(of_one)} files, {name} is the latest and counts. Are these two people?")
    return Class(sorted(latest, key=lambda one: one.name.casefold()), to_say)


def _read(file: Path) -> Handin:
    with zipfile.ZipFile(file) as archive:
        about = _json(archive, ABOUT)
        kept = _json(archive, progress.FILE) if progress.FILE in archive.namelist() else {}
    checks, guesses = ({str(k): str(v) for k, v in dict(kept.get(part, {})).items()} for part in ("checks", "guesses"))
    checks = {id: word for id, word in checks.items() if word in SIGNS}
    name = "".join(letter if letter.isprintable() else " " for letter in str(about["name"]))
    return Handin(" ".join(name.split()) or file.stem, str(about["time"]), checks, guesses)


def _json(archive: zipfile.ZipFile, name: str) -> dict[str, Any]:
    if archive.getinfo(name).file_size > LARGEST:
        raise ValueError(f"{name} is too large to be what it says")
    content = json.loads(archive.read(name))
    if not isinstance(content, dict):
        raise ValueError(f"{name} is not what handin writes")
    return content
