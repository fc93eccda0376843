"""Reading hand-ins: zip files, possibly inside zip files, from people you may not know.

A learning platform packs a class's hand-ins into one zip file, and learners may zip theirs a second time. So we look
for ``handin.json`` in any folder of any zip file. We don't trust a size before we've read the data, unpack nothing onto
the disk, and make all text printable before showing it.
"""

from __future__ import annotations

import functools
import json
import os
import zipfile
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import IO, Any, NamedTuple

from . import exercises, progress

ABOUT = "handin.json"
# In bytes: a record of progress takes a few thousand, and a learner's notebooks a few million. The last limit is for
# all that one file unpacks to: the hand-ins of a large class.
LARGEST, LARGEST_ZIP, MOST = 1_000_000, 64_000_000, 500_000_000
# Zip files inside a zip file: the platform's, the learner's own, handin's.
DEEPEST = 2
WORDS = (exercises.RIGHT, exercises.NOT_RIGHT, exercises.STOPPED)


class Handin(NamedTuple):
    """What one learner handed in, in one file or combined from several."""

    name: str
    time: str
    checks: dict[str, str]
    guesses: dict[str, str]
    learner: str = ""  # the id in their record of progress
    place: str = ""  # set if the record ends with the session: then each hand-in from there has a different id
    files: tuple[str, ...] = ()


class TooMuch(ValueError):
    """Raised when a file unpacks to more than a class can hand in. We then stop reading it."""


def collect(folder: Path) -> tuple[list[Handin], list[str]]:
    """All hand-ins in the zip files in `folder` and below, and messages about them, one per line."""
    found: list[Handin] = []
    to_say: list[str] = []
    for file in _zips(folder):
        search, where = _Search(), printable(file.relative_to(folder).as_posix())
        try:
            search.try_to(search.look_at, file, where=where)
        except TooMuch:
            search.to_say.append(f"{where}: unpacks into more than {MOST:,} bytes, so it was not read to its end")
        found += search.found
        to_say += search.to_say
    return found, to_say


def _zips(folder: Path) -> Iterator[Path]:
    """All files named .zip or .ZIP, sorted by name."""
    for place, folders, files in os.walk(folder):
        folders.sort()
        yield from (Path(place, name) for name in sorted(files + folders) if name.lower().endswith(".zip"))


def printable(text: str) -> str:
    """A text on one line, without characters that move a terminal's cursor or hide text.

    >>> printable("Ada\\nL. \\x1b[31m")
    'Ada L. [31m'
    """
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


class _Search:
    """What we find in one file, and in the zip files inside it."""

    def __init__(self) -> None:
        self.found: list[Handin] = []
        self.to_say: list[str] = []
        self.left = MOST

    def try_to(self, do: Callable[..., None], *arguments: Any, where: str) -> None:
        """Do something. If it fails, say so and go on."""
        try:
            do(*arguments, where)
        except TooMuch:
            raise
        except Exception as error:  # damaged, locked by a password, or not a zip file: there are many ways
            why = printable(str(error))[:200] or type(error).__name__
            self.to_say.append(f"{where}: cannot be read ({why}); ask for it again")

    def look_at(self, file: Path, where: str) -> None:
        if file.is_symlink() or not file.is_file():
            raise ValueError("it is no file of its own")
        with zipfile.ZipFile(file) as archive:
            self.walk(archive, 0, where)

    def walk(self, archive: zipfile.ZipFile, depth: int, where: str) -> None:
        """Read all hand-ins in an archive, and in the archives inside it. Raises `ValueError` if there are none."""
        empty: dict[str, bool] = {}  # for each learner in Moodle's zip file: is a hand-in still missing?
        seen = 0
        for info in archive.infolist():
            name = info.filename.replace("\\", "/")
            parts = name.split("/")
            if any(part.startswith(".") or part == "__MACOSX" for part in parts):
                continue
            here = printable(f"{where}/{name}")
            whose, of_moodle, _ = parts[0].partition("_assignsubmission_")
            if of_moodle:
                empty.setdefault(whose, True)
            if parts[-1] == ABOUT:
                self.try_to(self.handin, archive, info, where=here.removesuffix(f"/{ABOUT}"))
            elif parts[-1].lower().endswith(".zip"):
                self.try_to(self.inner, archive, info, depth + 1, where=here)
            else:
                continue
            seen += 1
            empty[whose] = False
        if not seen and not empty:
            raise ValueError(f"no {ABOUT} is in it: python -m fluxlite handin makes one that has it")
        self.to_say += [f"{printable(f'{where}/{whose}')}: no hand-in is in it" for whose, yes in empty.items() if yes]

    def inner(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo, depth: int, where: str) -> None:
        if depth > DEEPEST:
            raise ValueError("a zip file in a zip file in a zip file; unpack the outer one")
        with zipfile.ZipFile(BytesIO(self.read(archive, info, LARGEST_ZIP))) as inside:
            self.walk(inside, depth, where)

    def read(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> bytes:
        """A member's content, if it's really no larger than `most`, whatever size the archive claims."""
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError("it is packed in a way that handin does not use")
        most = min(most, self.left)
        stream: IO[bytes]
        with archive.open(info) as stream:
            content = stream.read(most + 1)
        self.left -= len(content)
        if self.left < 0:
            raise TooMuch
        if len(content) > most:
            raise ValueError(f"{printable(info.filename)} is too large to be what it says")
        return content

    def json(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> dict[str, Any]:
        content = json.loads(self.read(archive, info, LARGEST))
        if not isinstance(content, dict):
            raise ValueError(f"{printable(info.filename)} is not what handin writes")
        return content

    def handin(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo, where: str) -> None:
        about = self.json(archive, info)
        beside = archive.NameToInfo.get(info.filename.removesuffix(ABOUT) + progress.FILE)
        kept = self.json(archive, beside) if beside else {}
        checks, guesses, learner = (dict(kept.get(part, {})) for part in ("checks", "guesses", "learner"))
        unknown = sorted({*checks, *guesses} - {*_exercises(), *_questions()})
        if unknown:
            more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
            ids = ", ".join(printable(id)[:20] for id in unknown[:5])
            self.to_say.append(f"{where}: no lesson has {ids}{more}; not counted")
        self.found.append(
            Handin(
                name=printable(str(about["name"])) or Path(where).stem,
                time=str(about["time"]),
                checks={id: word for id, word in checks.items() if id in _exercises() and word in WORDS},
                guesses={id: letter for id, letter in guesses.items() if letter in _questions().get(id, ())},
                learner=str(learner.get("id", "")),
                place=printable(str(about.get("place", "")))[:20],
                files=(where,),
            )
        )


@functools.cache
def _exercises() -> frozenset[str]:
    return frozenset(id for number in exercises.lessons() for id in exercises.exercises(number))


@functools.cache
def _questions() -> dict[str, list[str]]:
    """The letters of each question."""
    asked = [getattr(exercises.lesson(number), "QUESTIONS", {}) for number in exercises.lessons()]
    return {id: list(question.replies) for lesson in asked for id, question in lesson.items()}


# -- several files of one learner -------------------------------------------------------------------------------------


def by_learner(handins: list[Handin]) -> list[Handin]:
    """One hand-in per learner, sorted by name. Several files by one learner are combined.

    Files belong together if they have the same name and come from the same record of progress. On Colab and Binder each
    session has its own record, so there the name decides.
    """
    groups: dict[tuple[str, str], list[Handin]] = {}
    for one in handins:
        whose = one.place or one.learner or str(one.files)
        groups.setdefault((one.name.casefold(), whose), []).append(one)
    together = [_together(sorted(group, key=lambda one: one.time)) for group in groups.values()]
    return sorted(together, key=lambda one: (one.name.casefold(), one.files))


def _together(group: list[Handin]) -> Handin:
    """Combine hand-ins. What was right once stays right. If guesses differ, the later one counts."""
    checks: dict[str, str] = {}
    for one in group:
        checks |= {id: word for id, word in one.checks.items() if checks.get(id) != exercises.RIGHT}
    guesses = {id: letter for one in group for id, letter in one.guesses.items()}
    files = tuple(file for one in group for file in one.files)
    return group[-1]._replace(checks=checks, guesses=guesses, files=files)
