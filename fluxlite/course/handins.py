"""Reading hand-ins: zip files, possibly inside zip files, from people you may not know.

A learning platform packs a class's hand-ins into one zip file, and learners may zip theirs a second time. So we look
for ``handin.json`` in any folder of any zip file. We don't trust a size before we've read the data, unpack nothing onto
the disk, and make all text printable before showing it. What a file may cost depends on its own size, so that a small
one can't take long, and nobody's hand-in keeps us from reading the others.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import re
import stat
import unicodedata
import zipfile
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from . import exercises, progress

ABOUT = "handin.json"
# In bytes: a record of progress takes a few thousand, and a learner's notebooks a few million.
LARGEST, LARGEST_ZIP = 1_000_000, 64_000_000
# In bytes: what we read at a time. A zip file's list of contents, which has to be read at once, must be no longer.
PART = 2_000_000
# A file may unpack to this many times its size, and this much more. Notebooks don't shrink when they're zipped again.
TIMES, MORE = 3, 10_000_000
# The same for one zip file inside another. A learner's own may be packed better, but there can be many.
TIMES_INSIDE, MORE_INSIDE = 20, 1_000_000
# What it counts, in bytes, to list a member, and to look into one.
LISTED, OPENED = 200, 5_000
# Zip files inside a zip file: the platform's, the learner's own, handin's.
DEEPEST = 2
# Files that pack others, and that nobody's zip command made.
OTHER_PACKINGS = (".rar", ".7z", ".tar", ".gz", ".tgz", ".bz2", ".xz")
# Folders inside folders: that's a file system's own limit, or a joke.
DEEPEST_FOLDER = 30
WORDS = (exercises.RIGHT, exercises.NOT_RIGHT, exercises.STOPPED)
# Letters that take no place or show nothing, so that two names with them look like one.
INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
# Accents on top of one another: with more of them, a name covers the lines above it.
ACCENTS = 3


class Handin(NamedTuple):
    """What one learner handed in, in one file or combined from several."""

    name: str
    time: str
    checks: dict[str, str]
    guesses: dict[str, str]
    learner: str = ""  # the id in their record of progress
    place: str = ""  # set if the record ends with the session: then each hand-in from there has a different id
    files: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()  # the guesses that a later file of theirs answers differently

    @property
    def key(self) -> str:
        """The name, however its letters are stored: one computer writes ë as one letter, another as two."""
        return comparable(self.name)


class Remark(NamedTuple):
    """Something to say about a file."""

    file: str
    words: str

    def __str__(self) -> str:
        return f"{self.file}: {self.words}"


class TooMuch(ValueError):
    """Raised when a file unpacks to more than a class can hand in. We then stop reading it."""


def collect(folder: Path) -> tuple[list[Handin], list[Remark]]:
    """All hand-ins in the zip files in `folder` and below, and remarks about the files."""
    found: list[Handin] = []
    remarks: list[Remark] = []
    for file in _zips(folder, remarks):
        search = _Search()
        search.try_to(search.look_at, file, where=short(file.relative_to(folder).as_posix()))
        found += search.found
        remarks += search.remarks
    return found, remarks


def _zips(folder: Path, remarks: list[Remark]) -> Iterator[Path]:
    """All files named .zip or .ZIP, sorted by name. What looks like a hand-in but isn't a zip file is remarked on."""

    def closed(error: OSError) -> None:
        where = short(os.path.relpath(os.fsdecode(error.filename), folder))
        remarks.append(Remark(where, f"this folder cannot be opened ({error.strerror})"))

    for place, folders, files in os.walk(folder, onerror=closed):
        below = Path(place).relative_to(folder)
        if len(below.parts) >= DEEPEST_FOLDER and folders:
            remarks.append(Remark(short(below.as_posix()), "folders in it were not opened: it's too deep"))
            folders.clear()
        folders.sort()
        if ABOUT in files:  # Safari, for one, unpacks what it downloads
            words = "an unpacked hand-in is not counted: zip this folder again, or keep the zip file"
            remarks.append(Remark(short(below.as_posix()), words))
        for name in sorted(files):
            if name.lower().endswith(OTHER_PACKINGS):
                where = short((below / name).as_posix())
                remarks.append(Remark(where, "only zip files are read: ask for the one that fluxlite handin made"))
        yield from (Path(place, name) for name in sorted(files + folders) if name.lower().endswith(".zip"))


# -- text from elsewhere ----------------------------------------------------------------------------------------------


def printable(text: str) -> str:
    """A text on one line, without characters that move a terminal's cursor or hide text, at most 1,000 of them.

    >>> printable("Ada\\nL. \\x1b[31m")
    'Ada L. [31m'
    """
    shown: list[str] = []
    accents = 0
    for letter in unicodedata.normalize("NFC", INVISIBLE.sub(" ", text[:1000])):
        accents = accents + 1 if unicodedata.category(letter) in ("Mn", "Me") else 0
        if accents <= ACCENTS:
            shown.append(letter if letter.isprintable() else " ")
    return " ".join("".join(shown).split())


def short(name: str) -> str:
    """A file's name, printable, at most 100 characters: its beginning and its end."""
    name = printable(name if len(name) < 1000 else f"{name[:100]}…{name[-100:]}")
    return name if len(name) <= 100 else f"{name[:60]}…{name[-39:]}"


def comparable(name: str) -> str:
    """Names that should count as one name have the same text here.

    >>> comparable("Zoe\u0308") == comparable("ZO\u00cb")
    True
    """
    return unicodedata.normalize("NFKC", name).casefold()


# -- one file ---------------------------------------------------------------------------------------------------------


class _InParts(io.BufferedReader):
    """A file that gives at most `PART` bytes at a time, whatever a zip file says about its own size."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and 0 <= size <= PART:
            return super().read(size)
        content = super().read(PART + 1)
        if len(content) > PART:
            raise ValueError("its list of contents is too long")
        return content


@contextlib.contextmanager
def _opened(file: Path) -> Iterator[_InParts]:
    """A regular file. Raises `ValueError` for anything else, such as a link or a pipe, without opening it."""
    regular = stat.S_ISREG(os.lstat(file).st_mode)
    # It may have become another since: then neither a link is followed nor a pipe waited for.
    flags = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
    if regular:
        with _InParts(io.FileIO(os.open(file, os.O_RDONLY | flags))) as stream:
            if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                yield stream
                return
    raise ValueError("it is no file of its own")


class _Search:
    """What we find in one file, and in the zip files inside it."""

    def __init__(self) -> None:
        self.found: list[Handin] = []
        self.remarks: list[Remark] = []
        self.left = 0

    def try_to(self, do: Callable[..., None], *arguments: Any, where: str) -> None:
        """Do something. If it fails, say so and go on."""
        try:
            do(*arguments, where)
        except TooMuch:
            self.remarks.append(Remark(where, "unpacks into too much for its size, so it was not read to its end"))
        except Exception as error:  # damaged, locked by a password, or not a zip file: there are many ways
            why = printable(str(error))[:200] or type(error).__name__
            self.remarks.append(Remark(where, f"cannot be read ({why}); ask for it again"))

    def look_at(self, file: Path, where: str) -> None:
        with _opened(file) as stream, zipfile.ZipFile(stream) as archive:
            self.left = TIMES * os.fstat(stream.fileno()).st_size + MORE
            self.walk(archive, 0, where)

    def spend(self, cost: int) -> None:
        self.left -= cost
        if self.left < 0:
            raise TooMuch

    def walk(self, archive: zipfile.ZipFile, depth: int, where: str) -> None:
        """Read all hand-ins in an archive, and in the archives inside it. Raises `ValueError` if there are none."""
        signed: dict[str, dict[str, str]] = {}  # for each learner in Moodle's zip file: the names on their hand-ins
        seen: set[str] = set()
        for info in archive.infolist():
            self.spend(LISTED)
            name = info.filename.replace("\\", "/")
            parts = name.split("/")
            if any(part.startswith(".") or part == "__MACOSX" for part in parts):
                continue
            here = f"{where}/{short(name)}"
            whose, of_moodle, _ = parts[0].partition("_assignsubmission_")
            names = signed.setdefault(whose, {}) if of_moodle else {}
            before = len(self.found)
            if parts[-1] == ABOUT:
                self.spend(OPENED)
                self.try_to(self.handin, archive, info, where=here.removesuffix(f"/{ABOUT}"))
            elif parts[-1].lower().endswith(".zip"):
                self.spend(OPENED)
                self.try_to(self.inner, archive, info, depth + 1, where=here)
            else:
                continue
            seen.add(whose)
            names |= {comparable(one.name): one.name for one in self.found[before:]}
        if not seen and not signed:
            raise ValueError(f"no {ABOUT} is in it: fluxlite handin makes one that has it")
        for whose, names in signed.items():
            if whose not in seen:
                self.remarks.append(Remark(f"{where}/{short(whose)}", "no hand-in is in it"))
            elif len(names) > 1:
                words = f"has hand-ins with {len(names)} names: {_some(names.values())}"
                self.remarks.append(Remark(f"{where}/{short(whose)}", words))

    def inner(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo, depth: int, where: str) -> None:
        """Look into a zip file inside another. It may use a part of what's left, so that others have the rest."""
        if depth > DEEPEST:
            raise ValueError("a zip file in a zip file in a zip file; unpack the outer one")
        may_cost = TIMES_INSIDE * info.compress_size + MORE_INSIDE
        content = self.read(archive, info, min(LARGEST_ZIP, may_cost))
        outside, inside = self.left, min(self.left // 2, may_cost)
        self.left = inside
        try:
            with _InParts(content) as stream, zipfile.ZipFile(stream) as archive:  # type: ignore[arg-type]
                self.walk(archive, depth, where)
        finally:
            self.left = outside - (inside - self.left)

    def read(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> io.BytesIO:
        """A member's content, if it's really no larger than `most`, whatever size the archive claims."""
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError("it is packed in a way that handin does not use")
        content = io.BytesIO()
        with archive.open(info) as stream:
            while part := stream.read(min(PART, most + 1 - content.tell())):
                self.spend(len(part))
                content.write(part)
                if content.tell() > most:
                    raise ValueError(f"{short(info.filename)} is too large to be what it says")
        content.seek(0)
        return content

    def json(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> dict[str, Any]:
        content = json.load(self.read(archive, info, LARGEST))
        if not isinstance(content, dict):
            raise ValueError(f"{short(info.filename)} is not what handin writes")
        return content

    def handin(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo, where: str) -> None:
        about = self.json(archive, info)
        beside = archive.NameToInfo.get(info.filename.removesuffix(ABOUT) + progress.FILE)
        kept = self.json(archive, beside) if beside else {}
        checks, guesses, learner = (_record(kept, part) for part in ("checks", "guesses", "learner"))
        counted = {id: word for id, word in checks.items() if id in _exercises() and word in WORDS}
        guessed = {id: letter for id, letter in guesses.items() if letter in _questions().get(id, ())}
        left_out = (checks.keys() - counted) | (guesses.keys() - guessed)
        unknown = left_out - _exercises() - _questions().keys()
        for ids, why in ((unknown, "no lesson has"), (left_out - unknown, "no lesson writes what it has for")):
            if ids:
                self.remarks.append(Remark(where, f"{why} {_some(ids)}; not counted"))
        place = about.get("place")
        self.found.append(
            Handin(
                name=printable(str(about["name"]))[:100] or Path(where).stem,
                time=printable(str(about["time"]))[:40],
                checks=counted,
                guesses=guessed,
                learner=str(learner.get("id", ""))[:100],
                place=place if place in progress.PASSING else "",
                files=(where,),
            )
        )


def _record(kept: dict[str, Any], part: str) -> dict[str, Any]:
    record = kept.get(part, {})
    if not isinstance(record, dict):
        raise ValueError(f"{progress.FILE} is not what the lessons write")
    return record


def _some(texts: Collection[str]) -> str:
    """The first five of them, and how many more there are."""
    more = f" and {len(texts) - 5} more" if len(texts) > 5 else ""
    return ", ".join(printable(text)[:20] for text in sorted(texts)[:5]) + more


@functools.cache
def _exercises() -> frozenset[str]:
    return frozenset(id for number in exercises.lessons() for id in exercises.exercises(number))


@functools.cache
def _questions() -> dict[str, list[str]]:
    """The letters of each question."""
    asked = [getattr(exercises.lesson(number), "QUESTIONS", {}) for number in exercises.lessons()]
    return {id: list(question.replies) for lesson in asked for id, question in lesson.items()}


# -- several files of one learner -------------------------------------------------------------------------------------


def by_learner(handins: list[Handin], one_learner: Collection[str] = ()) -> list[Handin]:
    """One hand-in per learner, sorted by name. Several files by one learner are combined.

    Files belong together if they have the same name and come from the same record of progress. On Colab and Binder each
    session has its own record, so there the name decides; so it does for the names in `one_learner`, for learners who
    changed computers. Raises `ValueError` for a name there that no hand-in has.
    """
    known = {comparable(printable(name)): name for name in one_learner}
    if missing := known.keys() - {one.key for one in handins}:
        raise ValueError(f"no hand-in is signed {', '.join(repr(known[key]) for key in sorted(missing))}")
    groups: dict[tuple[str, str], list[Handin]] = {}
    for one in handins:
        if one.key in known:
            one = one._replace(place="", learner=one.key)
        whose = one.place or one.learner or str(one.files)
        groups.setdefault((one.key, whose), []).append(one)
    together = [_together(sorted(group, key=lambda one: one.time)) for group in groups.values()]
    return sorted(together, key=lambda one: (one.key, one.files))


def _together(group: list[Handin]) -> Handin:
    """Combine hand-ins. What was right once stays right. If guesses differ, the later one counts."""
    checks: dict[str, str] = {}
    guesses: dict[str, str] = {}
    replaced: set[str] = set()
    for one in group:
        replaced |= {id for id, letter in one.guesses.items() if guesses.get(id, letter) != letter}
        guesses |= one.guesses
        checks |= {id: word for id, word in one.checks.items() if checks.get(id) != exercises.RIGHT}
    files = tuple(file for one in group for file in one.files)
    return group[-1]._replace(checks=checks, guesses=guesses, files=files, replaced=tuple(sorted(replaced)))
