"""Reading hand-ins: zip files, possibly inside zip files, since a learning platform packs a class's into one.

We look for ``handin.json`` in any folder of any zip file, two zip files deep. We never run what was handed in, or write
it to the disk, and text is made printable before it's shown. A class's zip file may have any number of members. What
one of them may cost depends on how much of the file it takes: so nobody's hand-in takes long, and none uses up what
another needs. What we can't read, or don't count, is named with the reason, and we go on with the others.
"""

import contextlib
import functools
import io
import os
import re
import stat
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from fluxlite.words import many

from . import editions, exercises, progress
from .guesses import questions
from .zips import Member, Zip

ABOUT = "handin.json"
LARGEST, LARGEST_ZIP = 1_000_000, 64_000_000  # bytes: a record has a few thousand, a learner's notebooks a few million
DEEPEST, DEEPEST_FOLDER = 2, 30  # zip files inside each other, and folders
# For each of its bytes in the outermost zip file, a member may unpack to so many. A record has 5, a notebook up to 10.
TIMES = 50
# What it counts, in unpacked bytes, to list a member of a zip file in another one, and to look into it.
LISTED, OPENED = 300, 3_000
OTHER_PACKINGS = (".rar", ".7z", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".zipx")
# What a learner may hand in instead: a notebook, a program, or what it looks like.
INSTEAD = (".doc", ".docx", ".heic", ".html", ".ipynb", ".jpeg", ".jpg", ".odt", ".pages", ".pdf", ".png", ".py")
NO_HAND_INS = (".csv", ".ipynb", ".json", ".zip")  # though their names may begin as those of hand-ins do
# Letters that take no place or show nothing, so that two names with them look like one.
INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
ACCENTS = 3  # on top of one another: with more of them, a name covers the lines above it
OF_MOODLE = "_assignsubmission_"  # comes after a learner's name in the names of Moodle's folders, or of its files
OF_HANDIN = "handin-"  # is in the names of files that handin makes, also where a platform or a browser adds to them


class Handin(NamedTuple):
    """What one learner handed in, in one file or combined from several."""

    name: str
    time: str
    checks: dict[str, str]
    guesses: dict[str, str]
    learner: str = ""  # the id in their record of progress
    files: tuple[str, ...] = ()
    lessons: tuple[str, ...] = ()  # of a shorter course; none for the whole one


def collect(folder: Path) -> tuple[list[Handin], list[str]]:
    """All hand-ins in the zip files in `folder` and below, and what to say about other files."""
    found: list[Handin | str] = []
    for file in _files(folder):
        if isinstance(file, str):
            found.append(file)
            continue
        where = printable(file.relative_to(folder).as_posix())
        if file.name == ABOUT:  # Safari, for one, unpacks what it downloads
            found.append(f"{where}: an unpacked hand-in isn't counted: zip its folder again, or keep the zip file")
        elif file.suffix.lower() == ".zip":
            found += _look_into_file(file, where)
        elif _looks_packed(file.name):
            found.append(f"{where}: {_ONLY_ZIP}")
        elif file.name == progress.FILE and not _is_beside_a_hand_in(file):
            found.append(f"{where}: {_ALONE}")
    found += [f"{printable(name)}: {_ONLY_ZIP}" for name in _instead_on_disk(folder)]
    return [one for one in found if isinstance(one, Handin)], [one for one in found if isinstance(one, str)]


_ONLY_ZIP = "only zip files are read: ask for the one that handin made"
_NOTHING = "there's no hand-in in it"
_ALONE = f"it isn't counted without the {ABOUT} that handin packs with it"


def _is_beside_a_hand_in(file: Path) -> bool:
    """Whether a record lies in a folder with a hand-in: in the lessons' folder, handin puts its file there."""
    return any(name == ABOUT or name.lower().endswith(".zip") for name in os.listdir(file.parent))


def _instead_on_disk(folder: Path) -> Iterator[str]:
    """What lies in `folder` and below in place of a hand-in, by its path there: in each folder below, the first.

    In `folder` itself each file may be another learner's. Where a hand-in lies, and below, nothing is in its place.
    """
    for place, folders, files in os.walk(folder):
        below = Path(place).relative_to(folder)
        is_someones = any(name in (ABOUT, progress.FILE) for name in files)
        if below.parts:
            is_someones = is_someones or any(map(_may_be_a_hand_in, files))
        if is_someones or len(below.parts) >= DEEPEST_FOLDER:
            folders.clear()
        if is_someones or OF_MOODLE in below.name:  # of Moodle's folders, _files says which have nothing
            continue
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__")))
        instead = sorted(name for name in files if _is_instead(name))
        for name in instead[:1] if below.parts else instead:
            yield (below / name).as_posix()


def _is_instead(name: str) -> bool:
    """Whether a learner may have handed in this file, not knowing better."""
    return name.lower().endswith(INSTEAD) and not name.startswith(".") and not _looks_packed(name)


def _may_be_a_hand_in(name: str) -> bool:
    """Whether `collect` says something of a file with this name, or counts it."""
    return name in (ABOUT, progress.FILE) or name.lower().endswith(".zip") or _looks_packed(name)


def _looks_packed(name: str) -> bool:
    """Whether this may be a hand-in that isn't a zip file, or is one under another name, such as a half download."""
    name = name.lower()
    return name.endswith(OTHER_PACKINGS) or (OF_HANDIN in name and not name.endswith(NO_HAND_INS))


def _files(folder: Path) -> Iterator[Path | str]:
    """All files in `folder` and below, sorted; and what to say about folders that weren't opened."""
    trouble: list[str] = []

    def closed(error: OSError) -> None:
        where = printable(os.path.relpath(os.fsdecode(error.filename), folder))
        trouble.append(f"{where}: this folder can't be opened ({error.strerror})")

    for place, folders, files in os.walk(folder, onerror=closed):
        below = Path(place).relative_to(folder)
        if len(below.parts) >= DEEPEST_FOLDER and folders:
            where = printable(below.as_posix())
            yield f"{where}: what's in its folders isn't read, since at most {DEEPEST_FOLDER} may lie in each other"
            folders.clear()
        folders.sort()
        if OF_MOODLE in below.name and not any(map(_may_be_a_hand_in, files)) and not folders:
            yield f"{printable(below.as_posix().partition(OF_MOODLE)[0])}: {_NOTHING}"
        for name in sorted(files):
            yield Path(place, name)
        yield from trouble
        trouble.clear()
    yield from trouble


def _look_into_file(file: Path, where: str) -> list[Handin | str]:
    """The hand-ins in a zip file on the disk, and what to say about it."""
    try:
        with opened(file) as stream:
            return look_into(stream, where)
    except Exception as error:
        return [_cannot_read(where, error)]


def look_into(stream: BinaryIO, where: str) -> list[Handin | str]:
    """The hand-ins in a zip file that's open for reading, and what to say about it. `where` names it there."""
    try:
        archive = Zip(stream)
        return list(_look_into(archive, where, 0, TIMES * archive.size)) or [f"{where}: {_NOTHING}"]
    except Exception as error:
        return [_cannot_read(where, error)]


@contextlib.contextmanager
def opened(file: Path) -> Iterator[BinaryIO]:
    """An ordinary file. Raises `ValueError` for a link, which could lead anywhere, and a pipe, which would wait."""
    if file.is_symlink() or not file.is_file():
        raise ValueError("it's a link, or not an ordinary file")
    # It may have become another one since: then a link isn't followed, and a pipe isn't waited for.
    flags = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
    with open(os.open(file, os.O_RDONLY | flags), "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise ValueError("it isn't an ordinary file")
        yield stream


class _Members:
    """The members of a zip file that concern us.

    What they lead to is at most `may_cost`, in unpacked bytes. A member's share of that is as large as its share of the
    zip file.
    """

    def __init__(self, archive: Zip, where: str, depth: int, may_cost: int) -> None:
        self.archive, self.where = archive, where
        self.remarks: list[str] = []
        self.read: list[Member] = []  # the hand-ins and zip files
        self.abouts: dict[str, list[Member]] = {}  # by folder
        self.records: dict[str, list[Member]] = {}
        self.in_turn: dict[str, Iterator[Member]] = {}
        self.others: list[Member] = []  # packed in another way
        self.instead: dict[str, list[Member]] = {}  # by folder: notebooks, say
        self.learners: set[str] = set()  # whom Moodle names
        if archive.doubt:
            self.remarks.append(f"{where}: {archive.doubt}")
        listed, most = 0, may_cost // LISTED
        for entry in archive.entries():
            listed += 1
            # The outermost zip file, which is as large as it is, may have any number.
            if depth and listed > most:
                raise ValueError(f"it has more than {many(most, 'member')}, too many for its size")
            if isinstance(entry, str):
                self.remarks.append(f"{where}: {entry}")
            else:
                self._sort(entry)
        if depth:
            may_cost -= LISTED * listed + OPENED * len(self.read)
        if may_cost < 0:
            raise ValueError(f"it has {len(self.read):,} hand-ins and zip files, too many for its size")
        self.may_cost = may_cost

    def _sort(self, entry: Member) -> None:
        folder, name = split(entry)
        parts = [*folder.split("/"), name]
        if whose := of_moodle(entry):
            self.learners.add(whose)
        if "__MACOSX" in parts or name.startswith("._"):  # what macOS packs beside the files
            return
        is_zip = name.lower().endswith(".zip")
        is_hidden = any(part.startswith(".") and part.strip(".") for part in parts)
        if is_hidden and (name == ABOUT or is_zip):
            self.remarks.append(f"{self.path(entry)}: what's hidden, with a dot before its name, isn't counted")
        elif is_hidden:
            return
        elif name == ABOUT:
            self.read.append(entry)
            self.abouts.setdefault(folder, []).append(entry)
        elif is_zip:
            self.read.append(entry)
        elif name == progress.FILE:
            self.records.setdefault(folder, []).append(entry)
        elif _looks_packed(name):
            self.others.append(entry)
        elif _is_instead(name):
            self.instead.setdefault(folder, []).append(entry)
        elif entry.trouble:  # it may be a hand-in whose name is damaged
            self.remarks.append(f"{self.path(entry)}: {entry.trouble}; ask for it again")

    def path(self, member: Member) -> str:
        """Where a member is, in words."""
        return printable(f"{self.where}/{member.name}".replace("\\", "/"))

    def place(self, folder: str) -> str:
        """Where a folder is, in words."""
        return printable(f"{self.where}/{folder}" if folder else self.where)

    def share(self, member: Member) -> int:
        """What a member may cost."""
        return self.may_cost * member.takes // max(1, self.archive.size)

    def json(self, member: Member) -> Any:
        """What's in a member. Raises `ValueError`, which names it, if that isn't JSON."""
        try:
            return progress.parsed(self.archive.unpack(member, min(LARGEST, self.share(member))))
        except ValueError as error:
            raise ValueError(f"{split(member)[1]}: {error}") from error

    def record_of(self, about: Member) -> Member | None:
        """The record of progress beside a hand-in; ask once for each, in order.

        Two learners may have got one folder. Then each has a record there.
        """
        folder, _ = split(about)
        abouts, records = self.abouts[folder], self.records.get(folder, [])
        if not records:
            return None
        if len(abouts) != len(records):
            how_often = f"{len(abouts):,} {ABOUT} and {len(records):,} {progress.FILE}"
            raise ValueError(f"{how_often} are in one folder, and nothing tells which belong together")
        return next(self.in_turn.setdefault(folder, iter(records)))


def split(member: Member) -> tuple[str, str]:
    """A member's folder and its name there."""
    folder, _, name = member.name.replace("\\", "/").removeprefix("./").rpartition("/")
    return folder, name


def of_moodle(member: Member) -> str:
    """The learner whom Moodle names in a member's path, with the folders above. Empty if it names nobody."""
    whose, is_named, _ = member.name.replace("\\", "/").partition(OF_MOODLE)
    return whose if is_named else ""


def _look_into(archive: Zip, where: str, depth: int, may_cost: int) -> Iterator[Handin | str]:
    """A zip file's hand-ins, and what to say about those that can't be read."""
    members = _Members(archive, where, depth, may_cost)
    yield from members.remarks
    with_a_hand_in = Counter({folder: 1 for folder in members.abouts})  # how many, by folder
    seen: set[str] = set()
    without: list[Member] = []  # the zip files
    for member in members.read:
        folder, name = split(member)
        seen.add(of_moodle(member))
        if name == ABOUT:
            yield from _read(members, member, members.place(folder))
            continue
        found = _look_into_member(members, member, depth + 1)
        if any(isinstance(one, Handin) for one in found):
            with_a_hand_in[folder] += 1
        if not found:
            without.append(member)
        yield from found
    yield from _left_out(members, without, with_a_hand_in)
    for whose in sorted(members.learners - seen):
        yield f"{printable(f'{where}/{whose}')}: {_NOTHING}"


def _look_into_member(members: _Members, member: Member, depth: int) -> list[Handin | str]:
    """The same for a zip file in another one, of which only one is unpacked at a time."""
    where = members.path(member)
    if depth > DEEPEST:
        return [f"{where}: at most {many(DEEPEST, 'zip file')} inside another are opened: unpack the outer one"]
    try:
        share = members.share(member)
        content = members.archive.unpack(member, min(LARGEST_ZIP, share))
        return list(_look_into(Zip(io.BytesIO(content)), where, depth, share - len(content)))
    except Exception as error:
        return [_cannot_read(where, error)]


def _left_out(members: _Members, without: list[Member], with_a_hand_in: Counter[str]) -> Iterator[str]:
    """What looks as if someone had meant to hand it in, unless it lies in the folder of one learner's hand-in."""
    # Where several lie, or at the top, a platform may have put the files of all learners.
    own = {folder for folder, count in with_a_hand_in.items() if count == 1 and folder} | members.abouts.keys()
    for kind, words in ((without, _NOTHING), (members.others, _ONLY_ZIP)):
        for member in kind:
            if not _is_below(split(member)[0], own):
                yield f"{members.path(member)}: {words}"
    for folder, (first, *_) in members.records.items():
        if not _is_below(folder, with_a_hand_in.keys()):
            yield f"{members.path(first)}: {_ALONE}"
    if with_a_hand_in.total() < 2:  # it's one learner's, who may have packed anything
        return
    for folder, instead in members.instead.items():
        if _is_below(folder, own) or _is_below(folder, members.records.keys()):
            continue
        # Beside the hand-ins of others each may be another learner's, and in a folder all are one's.
        for member in instead if with_a_hand_in[folder] else instead[:1]:
            if not of_moodle(member):
                yield f"{members.path(member)}: {_ONLY_ZIP}"


def _is_below(folder: str, folders: Collection[str]) -> bool:
    """Whether a folder is one of `folders`, or lies in one of them."""
    parts = folder.split("/")
    return any("/".join(parts[:count]) in folders for count in range(min(len(parts), DEEPEST_FOLDER) + 1))


def _cannot_read(where: str, error: Exception) -> str:
    return f"{where}: can't be read ({printable(str(error)) or type(error).__name__}); ask for it again"


def _read(members: _Members, member: Member, where: str) -> list[Handin | str]:
    """A hand-in, and what of it isn't counted."""
    try:
        about = members.json(member)
        if not isinstance(about, dict) or not all(isinstance(about.get(part), str) for part in ("name", "time")):
            raise ValueError(f"{ABOUT} isn't what handin writes")
        beside = members.record_of(member)
        if not beside:
            nothing = f"{where}: it has no {progress.FILE}, so no guess and no check is counted"
            return [*_counted(about, {}, where), nothing]
        kept, said = members.json(beside), []
        if editions.is_of_0_2(kept):
            kept, lost = editions.renumbered(kept, progress.EDITION)
            said = [f"{where}: it's from fluxlite 0.2; what it has for exercises that are still there is counted"]
            if lost:
                isnt = "isn't" if len(lost) == 1 else "aren't"
                said = [f"{said[0]}, and {_some(lost)} {isnt}"]
        return [*_counted(about, progress.as_record(kept), where), *said]
    except Exception as error:  # damaged, locked by a password, not JSON: there are many ways
        return [_cannot_read(where, error)]


def _counted(about: dict[str, Any], kept: progress.Record, where: str) -> list[Handin | str]:
    checks, guesses = kept.get("checks", {}), kept.get("guesses", {})
    counted = {id: word for id, word in checks.items() if word in allowed().get(id, ())}
    guessed = {id: word for id, word in guesses.items() if word in allowed().get(id, ())}
    name = printable(about["name"]) or Path(where).stem
    # On Colab, Kaggle and Binder each session has a record of its own, so there the name decides.
    learner = "" if about.get("place") else str(kept.get("learner", {}).get("id", where))[:100]
    lessons = tuple(number for number in exercises.folders() if number in (about.get("lessons") or ()))
    found: list[Handin | str] = [Handin(name, printable(about["time"]), counted, guessed, learner, (where,), lessons)]
    if ids := sorted((checks.keys() - counted) | (guesses.keys() - guessed)):
        found.append(f"{where}: no lesson writes what it has for {_some(ids)}; that isn't counted")
    return found


def _some(ids: list[str]) -> str:
    """The first ids, and how many more there are."""
    more = f" and {len(ids) - 5:,} more" if len(ids) > 5 else ""
    return ", ".join(printable(id)[:20] for id in ids[:5]) + more


@functools.cache
def allowed() -> dict[str, Collection[str]]:
    """What a lesson writes: for each exercise the verdicts that are kept, for each question its letters."""
    found: dict[str, Collection[str]] = {}
    for number in exercises.folders():
        found |= dict.fromkeys(exercises.in_lesson(number), (exercises.RIGHT, exercises.NOT_RIGHT, exercises.STOPPED))
        found |= {id: list(it.replies) for id, it in questions(number).items()}
    return found


def printable(text: str) -> str:
    """A text on one line, without what moves a terminal's cursor or shows nothing. A long one loses its middle."""
    text = text if len(text) <= 100 else f"{text[:60]}…{text[-39:]}"
    shown: list[str] = []
    accents = 0
    for letter in unicodedata.normalize("NFC", INVISIBLE.sub(" ", text)):
        accents = accents + 1 if unicodedata.category(letter) in ("Mn", "Me") else 0
        if accents <= ACCENTS:
            shown.append(letter if letter.isprintable() else " ")
    return " ".join("".join(shown).split())


def comparable(name: str) -> str:
    """The same text for names that count as one: one computer writes ë as one letter, another as two."""
    return unicodedata.normalize("NFKC", name).casefold()


def by_learner(handins: list[Handin]) -> list[Handin]:
    """One hand-in per learner, sorted by name: files with the same name and record of progress are combined.

    What was right once stays right. If guesses differ, the later one counts.
    """
    groups: dict[tuple[str, str], list[Handin]] = {}
    for one in handins:
        groups.setdefault((comparable(one.name), one.learner), []).append(one)
    return [_together(sorted(groups[key], key=lambda one: one.time)) for key in sorted(groups)]


def _together(group: list[Handin]) -> Handin:
    checks, guesses = dict[str, str](), dict[str, str]()
    for one in group:
        guesses |= one.guesses
        checks |= {id: word for id, word in one.checks.items() if checks.get(id) != exercises.RIGHT}
    return group[-1]._replace(checks=checks, guesses=guesses, files=tuple(file for one in group for file in one.files))
