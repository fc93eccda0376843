"""Reading hand-ins: zip files, possibly inside zip files, from people you may not know.

A learning platform packs a class's hand-ins into one zip file, and learners may zip theirs a second time. So we look
for ``handin.json`` in any folder of any zip file. Nothing that was handed in is run, or written to the disk; what's
larger than a hand-in can be isn't read; text is made printable before we show it. A file that can't be read is named,
and doesn't keep us from reading the others.
"""

import contextlib
import functools
import io
import json
import os
import unicodedata
import zipfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from . import exercises, progress
from .guesses import questions

ABOUT = "handin.json"
# In bytes: what a hand-in says takes a few thousand, a learner's notebooks a few million; a zip file says itself how
# long its list of contents is, and that's read at once.
LARGEST, LARGEST_ZIP, LONGEST_LIST = 1_000_000, 64_000_000, 2_000_000
# So many zip files are opened in one: a school's hand-ins in a platform's, one or two in a learner's. And none deeper.
INSIDE = (2_000, 20, 0)
# So many remarks are enough about one file, about a zip file inside it, and about one inside that.
REMARKS = (100, 3, 3)
OTHER_PACKINGS = (".rar", ".7z", ".tar", ".gz", ".tgz", ".bz2", ".xz")


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


def collect(folder: Path) -> tuple[list[Handin], list[Remark]]:
    """All hand-ins in the zip files in `folder` and below, and remarks about the files."""
    search = _Search(folder)

    def closed(error: OSError) -> None:
        search.say(os.fsdecode(error.filename), f"this folder cannot be opened ({error.strerror})")

    for place, folders, files in os.walk(folder, onerror=closed):
        folders.sort()
        if ABOUT in files:  # Safari, for one, unpacks what it downloads
            search.say(place, "an unpacked hand-in is not counted: zip this folder again, or keep the zip file")
        for path in sorted(Path(place, name) for name in files + folders):
            if path.suffix.lower() in OTHER_PACKINGS and path.name in files:
                search.say(path, "only zip files are read: ask for the one that fluxlite handin made")
            elif path.name.lower().endswith(".zip"):
                search.look_at(path)
    return search.found, search.remarks


def printable(text: str) -> str:
    """A text on one line, without characters that move a terminal's cursor; of a long one the beginning and the end."""
    text = text if len(text) <= 100 else f"{text[:60]}…{text[-39:]}"
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def comparable(name: str) -> str:
    """Names that should count as one have the same text here: Zoë and ZOË, however their letters are stored."""
    return unicodedata.normalize("NFKC", name).casefold()


class _Bounded(io.BufferedReader):
    """A file from which `zipfile` can't read a list of contents that's longer than a class's."""

    def read(self, size: int | None = -1, /) -> bytes:
        content = super().read(LONGEST_LIST + 1 if size is None or size < 0 else min(size, LONGEST_LIST + 1))
        if len(content) > LONGEST_LIST:
            raise ValueError("its list of contents is too long")
        return content


class _Search:
    """What we find in a folder's files, and in the zip files inside them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.found: list[Handin] = []
        self.remarks: list[Remark] = []

    def where(self, path: str | Path) -> str:
        return printable(Path(path).relative_to(self.folder).as_posix())

    def say(self, path: str | Path, words: str) -> None:
        self.remarks.append(Remark(self.where(path), words))

    @contextlib.contextmanager
    def trying(self, where: str) -> Iterator[None]:
        """If what's in the block fails, say so and go on."""
        try:
            yield
        except Exception as error:  # damaged, locked by a password, or not a zip file: there are many ways
            why = printable(str(error)) or type(error).__name__
            self.remarks.append(Remark(where, f"cannot be read ({why}); ask for it again"))

    def look_at(self, file: Path) -> None:
        where = self.where(file)
        with self.trying(where):
            if file.is_symlink() or not file.is_file():  # opening a pipe would wait, and a link leads to who knows what
                raise ValueError("it is no file of its own")
            self.look_into(io.FileIO(file), 0, where)

    def look_into(self, stream: Any, depth: int, where: str) -> None:
        before = len(self.remarks)
        with _Bounded(stream) as bounded, zipfile.ZipFile(bounded) as archive:
            try:
                self.walk(archive, depth, where)
            finally:
                del self.remarks[before + REMARKS[depth] :]

    def walk(self, archive: zipfile.ZipFile, depth: int, where: str) -> None:
        """Read all hand-ins in an archive, and in the archives inside it. Raises `ValueError` if there are none."""
        of_moodle: dict[str, bool] = {}  # has this learner's folder or file in Moodle's zip file a hand-in?
        opened, any_hand_in = 0, False
        for info in archive.infolist():
            path = info.filename.replace("\\", "/").split("/")
            name = path[-1]
            if any(part.startswith(".") or part == "__MACOSX" for part in path):
                continue
            is_zip = name.lower().endswith(".zip")
            is_hand_in = is_zip or name == ABOUT
            any_hand_in |= is_hand_in
            opened += is_zip
            whose, submission, _ = path[0].partition("_assignsubmission_")
            if submission:
                of_moodle[whose] = of_moodle.get(whose, False) or is_hand_in
            if opened > INSIDE[depth]:
                raise ValueError("too many zip files inside zip files; unpack the outer one")
            here = printable("/".join([where, *(path if is_zip else path[:-1])]))
            with self.trying(here):
                if is_zip:
                    self.look_into(io.BytesIO(_read(archive, info, LARGEST_ZIP)), depth + 1, here)
                elif is_hand_in:
                    self.read(archive, info, here)
        if not any_hand_in and not of_moodle:
            raise ValueError(f"no {ABOUT} is in it: fluxlite handin makes one that has it")
        for whose, something in of_moodle.items():
            if not something:
                self.remarks.append(Remark(printable(f"{where}/{whose}"), "no hand-in is in it"))

    def read(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo, where: str) -> None:
        about = _json(archive, info)
        beside = archive.NameToInfo.get(info.filename.removesuffix(ABOUT) + progress.FILE)
        kept = _json(archive, beside) if beside else {}
        if progress.is_older(kept):
            raise ValueError("it is of fluxlite 0.2, whose lessons have other numbers")
        written = [kept.get(part, {}) for part in ("checks", "guesses")]
        checks, guesses = ({id: word for id, word in part.items() if word in _known().get(id, ())} for part in written)
        if left_out := sorted({*written[0], *written[1]} - {*checks, *guesses}):
            named = ", ".join(printable(id)[:20] for id in left_out[:5])
            more = f" and {len(left_out) - 5} more" if len(left_out) > 5 else ""
            self.remarks.append(Remark(where, f"has what no lesson writes: {named}{more}; not counted"))
        name = printable(str(about["name"])) or Path(where).stem
        place = about["place"] if about.get("place") in progress.PASSING else ""
        learner = str(kept.get("learner", {}).get("id", ""))[:100]
        self.found.append(Handin(name, printable(str(about["time"])), checks, guesses, learner, place, (where,)))


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> bytes:
    """A member's content, at most `most` bytes. No more than that is unpacked, whatever size the archive claims."""
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # zipfile unpacks others without a limit
        raise ValueError("it is packed in a way that handin does not use")
    if info.file_size > most:
        raise ValueError(f"{printable(info.filename)} is too large to be what it says")
    with archive.open(info) as stream:
        return stream.read(info.file_size)


def _json(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> dict[str, Any]:
    content = json.loads(_read(archive, info, LARGEST))
    if not isinstance(content, dict):
        raise ValueError(f"{printable(info.filename)} is not what handin writes")
    return content


@functools.cache
def _known() -> dict[str, Collection[str]]:
    """What a lesson writes: for each exercise the verdicts that are kept, for each question its letters."""
    found: dict[str, Collection[str]] = {}
    for number in exercises.folders():
        found |= dict.fromkeys(exercises.exercises(number), (exercises.RIGHT, exercises.NOT_RIGHT, exercises.STOPPED))
        found |= {id: list(it.replies) for id, it in questions(number).items()}
    return found


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
    checks, guesses, replaced = dict[str, str](), dict[str, str](), set[str]()
    for one in group:
        replaced |= {id for id, letter in one.guesses.items() if guesses.get(id, letter) != letter}
        guesses |= one.guesses
        checks |= {id: word for id, word in one.checks.items() if checks.get(id) != exercises.RIGHT}
    files = tuple(file for one in group for file in one.files)
    return group[-1]._replace(checks=checks, guesses=guesses, files=files, replaced=tuple(sorted(replaced)))
