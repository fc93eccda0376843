"""Reading hand-ins: zip files, possibly inside zip files, since a learning platform packs a class's into one.

We look for ``handin.json`` in any folder of any zip file, two zip files deep. We never run what was handed in, or write
it to the disk. What's larger than a hand-in isn't unpacked, and text is made printable before it's shown. A file that
we can't read is named, and we go on with the others.
"""

import functools
import io
import json
import zipfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from . import exercises, progress
from .guesses import questions

ABOUT = "handin.json"
LARGEST, LARGEST_ZIP = 1_000_000, 64_000_000  # bytes: a record has a few thousand, a learner's notebooks a few million
DEEPEST, MOST = 2, 2_000  # zip files inside each other, and members of one


class Handin(NamedTuple):
    """What one learner handed in, in one file or combined from several."""

    name: str
    time: str
    checks: dict[str, str]
    guesses: dict[str, str]
    learner: str = ""  # the id in their record of progress
    files: tuple[str, ...] = ()


def collect(folder: Path) -> tuple[list[Handin], list[str]]:
    """All hand-ins in the zip files in `folder` and below, and what to say about other files."""
    found: list[Handin | str] = []
    for file in sorted(folder.rglob("*")):
        where = printable(file.relative_to(folder).as_posix())
        if file.is_symlink() or not file.is_file():  # a link could lead anywhere, and opening a pipe would wait
            continue
        if file.name == ABOUT:  # Safari, for one, unpacks what it downloads
            found.append(f"{where}: an unpacked hand-in isn't counted: zip its folder again, or keep the zip file")
        elif file.suffix.lower() == ".zip":
            found += [*_look_into(file, where)] or [f"{where}: there's no hand-in in it"]
    return [one for one in found if isinstance(one, Handin)], [one for one in found if isinstance(one, str)]


def _look_into(file: Any, where: str, depth: int = 0) -> Iterator[Handin | str]:
    """A zip file's hand-ins, and what to say about those that can't be read."""
    try:
        with zipfile.ZipFile(file) as archive:
            for info in archive.infolist()[:MOST]:
                *folders, name = info.filename.replace("\\", "/").split("/")
                here = printable("/".join([where, *folders]))
                if any(part.startswith((".", "__MACOSX")) for part in [*folders, name]):
                    continue
                if name == ABOUT:
                    try:
                        yield _read(archive, info, here)
                    except Exception as error:  # damaged, locked by a password, not JSON: there are many ways
                        yield _cannot_read(here, error)
                elif name.lower().endswith(".zip") and depth < DEEPEST:
                    inner = io.BytesIO(_unpack(archive, info, LARGEST_ZIP))
                    yield from _look_into(inner, printable(f"{here}/{name}"), depth + 1)
    except Exception as error:
        yield _cannot_read(where, error)


def _cannot_read(where: str, error: Exception) -> str:
    return f"{where}: can't be read ({printable(str(error)) or type(error).__name__}); ask for it again"


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo, where: str) -> Handin:
    about = json.loads(_unpack(archive, info, LARGEST))
    beside = archive.NameToInfo.get(info.filename.removesuffix(ABOUT) + progress.FILE)
    kept = progress.as_record(json.loads(_unpack(archive, beside, LARGEST))) if beside else {}
    checks, guesses = (
        {id: word for id, word in kept.get(part, {}).items() if word in _allowed().get(id, ())}
        for part in ("checks", "guesses")
    )
    name = printable(str(about["name"])) or Path(where).stem
    # On Colab, Kaggle and Binder each session has a record of its own, so there the name decides.
    learner = "" if about.get("place") else str(kept.get("learner", {}).get("id", where))[:100]
    return Handin(name, printable(str(about["time"])), checks, guesses, learner, (where,))


def _unpack(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> bytes:
    """A member's content. Raises `ValueError` if it has more than `most` bytes: zipfile stops where it says it ends."""
    if info.file_size > most:
        raise ValueError(f"{printable(info.filename)} is too large to be what it says")
    return archive.read(info)


@functools.cache
def _allowed() -> dict[str, Collection[str]]:
    """What a lesson writes: for each exercise the verdicts that are kept, for each question its letters."""
    found: dict[str, Collection[str]] = {}
    for number in exercises.folders():
        found |= dict.fromkeys(exercises.in_lesson(number), (exercises.RIGHT, exercises.NOT_RIGHT, exercises.STOPPED))
        found |= {id: list(it.replies) for id, it in questions(number).items()}
    return found


def printable(text: str) -> str:
    """A text on one line, without characters that move a terminal's cursor. A long one loses its middle."""
    text = text if len(text) <= 100 else f"{text[:60]}…{text[-39:]}"
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def by_learner(handins: list[Handin]) -> list[Handin]:
    """One hand-in per learner, sorted by name: files with the same name and record of progress are combined.

    What was right once stays right. If guesses differ, the later one counts.
    """
    groups: dict[tuple[str, str], list[Handin]] = {}
    for one in handins:
        groups.setdefault((one.name.casefold(), one.learner), []).append(one)
    return [_together(sorted(groups[key], key=lambda one: one.time)) for key in sorted(groups)]


def _together(group: list[Handin]) -> Handin:
    checks, guesses = dict[str, str](), dict[str, str]()
    for one in group:
        guesses |= one.guesses
        checks |= {id: word for id, word in one.checks.items() if checks.get(id) != exercises.RIGHT}
    return group[-1]._replace(checks=checks, guesses=guesses, files=tuple(file for one in group for file in one.files))
