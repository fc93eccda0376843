"""A folder as a source: the records of progress in it, as learners' notebooks write them, and hand-ins.

On a shared drive or a hub, that's all the wall needs: no lab sends anything. We only read, and never follow a link.
"""

import datetime
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from .. import copies, handins, progress
from .room import FILE, Room, key_of

A_FILE = "a file"
Stamp = tuple[int, int]


class Found(NamedTuple):
    """A learner's record: who it is, their name, what's in it, and when it was written, as ISO 8601 in local time."""

    key: str
    name: str
    record: dict[str, Any]
    time: str
    by_folder: bool = False  # whether the name is that of the learner's folder, rather than what they signed


class Folder:
    """The files below a folder. `look` says what's new since the last look. Raises `ValueError` if it isn't there."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise ValueError(f"{folder} isn't a folder; name the one that your learners' folders are in")
        self.folder = folder
        self._seen: dict[Path, Stamp] = {}
        self._closed: set[str] = set()
        self.remarks: list[tuple[str, str]] = []

    def look(self) -> list[Found]:
        """The records that were written since the last look, the oldest first. What can't be read is in `remarks`."""
        self.remarks = []
        there = self._there()
        new = {file for file, stamp in there.items() if self._seen.get(file) != stamp}
        self._seen |= there
        found: list[Found] = []
        wanted = new
        if any(file.suffix.lower() == ".zip" for file in new):
            found += self._handed_in()
            wanted = set(there)  # a guess made after an older hand-in, which has just been read again, has to stay
        for file in sorted(wanted):
            if file.name == progress.FILE:
                found += self._read(file, file in new)
        return sorted(found, key=lambda one: one.time)

    def _there(self) -> dict[Path, Stamp]:
        """The files that may have records in them, and when they were written."""
        there: dict[Path, Stamp] = {}
        for place, folders, names in os.walk(self.folder, onerror=self._is_closed):
            if len(Path(place).relative_to(self.folder).parts) >= handins.DEEPEST_FOLDER:
                folders.clear()
            for name in names:
                file = Path(place, name)
                if name != progress.FILE and file.suffix.lower() != ".zip":
                    continue
                stamp = _stamp(file)
                if stamp is not None:
                    there[file] = stamp
        return there

    def _is_closed(self, error: OSError) -> None:
        """Remark once that a folder can't be opened: on a hub, who doesn't administer it sees no learner's."""
        where = handins.printable(os.path.relpath(os.fsdecode(error.filename), self.folder))
        if where not in self._closed and not isinstance(error, FileNotFoundError):
            self._closed.add(where)
            self.remarks.append((where, f"this folder can't be opened ({error.strerror})"))

    def _handed_in(self) -> list[Found]:
        """All hand-ins: where a class's zip file has several, none can be read alone."""
        read, remarks = handins.collect(self.folder)
        self.remarks += [(A_FILE, one) for one in remarks if progress.FILE not in one]
        return records_of(read)

    def _read(self, file: Path, is_new: bool) -> list[Found]:
        """A record of progress; nothing for what isn't one, which is remarked if it's new."""
        where = handins.printable(file.relative_to(self.folder).as_posix())
        try:
            with handins.opened(file) as stream:
                content = stream.read(handins.LARGEST + 1)
                time = datetime.datetime.fromtimestamp(os.fstat(stream.fileno()).st_mtime).isoformat()
            if len(content) > handins.LARGEST:
                raise ValueError(f"it has more than {handins.LARGEST:,} bytes")
            record = progress.as_record(progress.parsed(content))
            who = str(record.get("learner", {}).get("id") or where)
        except (OSError, ValueError, OverflowError, AttributeError) as error:
            if is_new:
                self.remarks.append((where, handins.printable(str(error))))
            return []
        name = self._whose(file)
        return [Found(_key(where, who), name, record, time, bool(name))]

    def _whose(self, file: Path) -> str:
        """A learner's name is that of their folder."""
        parts = [part for part in file.relative_to(self.folder).parts[:-1] if part != copies.FOLDER]
        if parts:
            return parts[0]
        return ""


def records_of(read: list[handins.Handin]) -> list[Found]:
    """The records in hand-ins, the oldest first."""
    found: list[Found] = []
    for one in sorted(read, key=lambda one: one.time):
        key = _key(one.files[0], one.learner or handins.comparable(one.name))
        found.append(Found(key, one.name, {"guesses": one.guesses, "checks": one.checks}, one.time))
    return found


def look_into(stream: BinaryIO, name: str) -> tuple[list[Found], list[tuple[str, str]]]:
    """The records in one zip file, and what can't be read there: what a folder's `look` finds, of one file."""
    read = handins.look_into(stream, handins.printable(name) or A_FILE)
    remarks = [(A_FILE, one) for one in read if isinstance(one, str)]
    return records_of([one for one in read if isinstance(one, handins.Handin)]), remarks


def _key(where: str, who: str) -> str:
    """A record counts for the folder that it's in: whoever copies another's random id into theirs is a second guest."""
    top, _, below = where.partition("/")
    if not below or top.lower().endswith(".zip"):
        top = ""
    return key_of(FILE, f"{top}/{who}")


def _stamp(file: Path) -> Stamp | None:
    """When a file was written, and its size. None for what isn't an ordinary file, or has just gone."""
    try:
        about = file.lstat()
    except OSError:
        return None
    if not stat.S_ISREG(about.st_mode):
        return None
    return about.st_mtime_ns, about.st_size


def take(room: Room, found: list[Found], remarks: list[tuple[str, str]]) -> None:
    """Tell the room what was found."""
    for one in found:
        room.put(one.key, FILE, one.name, one.record, rename=one.by_folder)
    for who, why in remarks:
        room.remark(who, why)
