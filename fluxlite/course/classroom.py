"""Handing in and looking at a class: one zip file per learner, and no server.

``python -m fluxlite handin NAME`` packs a learner's notebooks with his record of progress; ``python -m fluxlite class
FOLDER`` shows a folder of such files as a table of learners and exercises, and what the class guessed.
"""

from __future__ import annotations

import datetime
import getpass
import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import fluxlite

from . import exercises, progress
from .guesses import Question
from .lab import FOLDER

ABOUT = "handin.json"
# A record of progress has some kilobytes; more than this is something else.
LARGEST = 1_000_000


def handin(name: str = "", folder: Path | None = None) -> Path:
    """Pack the notebooks and the progress in `folder` into one zip file there, and return its path.

    `name` is the learner's, by default the one he is logged in with. `folder` is ``my-course`` if there is one, else
    the current folder. Raises `ValueError` where there is no notebook, or the name has no letter.
    """
    folder = (Path(FOLDER) if Path(FOLDER).is_dir() else Path()) if folder is None else folder
    name = name.strip() or getpass.getuser()
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


class Handin(NamedTuple):
    """What one learner handed in."""

    name: str
    time: str
    checks: dict[str, str]
    guesses: dict[str, str]


class Class:
    """A class: what is in the zip files of a folder. Prints as a table and, for each question, a histogram."""

    def __init__(self, handins: list[Handin], unreadable: dict[str, str]) -> None:
        self.handins, self.unreadable = handins, unreadable

    def __repr__(self) -> str:
        if not self.handins and not self.unreadable:
            return "nobody has handed in"
        parts = [self._table(), *self._histograms(), *(f"{file}: {why}" for file, why in self.unreadable.items())]
        return "\n\n".join(part for part in parts if part)

    def _table(self) -> str:
        """Learners below each other, exercises side by side: an x where one was right."""
        ids = [id for number in exercises.lessons() for id in exercises.exercises(number)]
        ids = [id for id in ids if any(id in one.checks for one in self.handins)]
        width = max([len(one.name) for one in self.handins], default=0)
        rows = [_row("", ids, width)]
        for one in self.handins:
            done = [one.checks.get(id) == exercises.RIGHT for id in ids]
            rows.append(f"{_row(one.name, ['x' if right else '.' for right in done], width)}  {sum(done):3} right")
        counts = [str(sum(one.checks.get(id) == exercises.RIGHT for one in self.handins)) for id in ids]
        return "\n".join([*rows, _row("right", counts, width)])

    def _histograms(self) -> Iterable[str]:
        """For each question that somebody answered: how many chose which option."""
        for number in exercises.lessons():
            for id, question in getattr(exercises.lesson(number), "QUESTIONS", {}).items():
                counts = Counter(one.guesses[id] for one in self.handins if id in one.guesses)
                if counts:
                    yield _histogram(id, question, counts)


def _row(name: str, cells: list[str], width: int) -> str:
    return f"{name:<{width}}" + "".join(f"{cell:>6}" for cell in cells)


def _histogram(id: str, question: Question, counts: Counter) -> str:
    lines = [f"{id}  {sum(counts.values())} guesses"]
    for letter, reply in question.replies.items():
        mark = "right" if letter == question.right else "     "
        lines.append(f"  {letter} {mark} {counts[letter]:3} {'#' * counts[letter]:<12} {reply}")
    return "\n".join(lines)


def look_at_class(folder: Path) -> Class:
    """What the learners handed in, from the zip files in `folder` and below; of each the latest.

    Raises `ValueError` if there is no such folder.
    """
    if not folder.is_dir():
        raise ValueError(f"{folder} is no folder; name the one with the files that were handed in")
    found: dict[str, Handin] = {}
    unreadable = {}
    for file in sorted(folder.rglob("*.zip")):
        try:
            one = _read(file)
        except (zipfile.BadZipFile, ValueError, TypeError, KeyError, OSError) as error:
            unreadable[str(file.relative_to(folder))] = f"cannot be read ({error}); ask for it again"
            continue
        if one.name not in found or found[one.name].time <= one.time:
            found[one.name] = one
    return Class(sorted(found.values(), key=lambda one: one.name.lower()), unreadable)


def _read(file: Path) -> Handin:
    with zipfile.ZipFile(file) as archive:
        about = _json(archive, ABOUT)
        kept = _json(archive, progress.FILE) if progress.FILE in archive.namelist() else {}
    checks, guesses = ({str(k): str(v) for k, v in dict(kept.get(part, {})).items()} for part in ("checks", "guesses"))
    return Handin(str(about["name"]), str(about["time"]), checks, guesses)


def _json(archive: zipfile.ZipFile, name: str) -> dict[str, Any]:
    if archive.getinfo(name).file_size > LARGEST:
        raise ValueError(f"{name} is too large to be what it says")
    content = json.loads(archive.read(name))
    if not isinstance(content, dict):
        raise ValueError(f"{name} is not what handin writes")
    return content
