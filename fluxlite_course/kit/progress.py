"""What a learner has guessed and solved so far, in a small file next to the notebooks."""

import contextlib
import errno
import json
import os
import secrets
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fluxlite.messages import notice
from fluxlite.writing import write_whole

FILE = "progress.json"
PATIENCE = 20.0  # the seconds that one notebook waits for others to write
MOST_PARTS = 1_000  # lists and objects in a record, which has five: each takes many times its bytes in memory
# `learner` holds a random id, since two people may share a name, and one person may hand in twice; and the lessons'
# edition, since those of fluxlite 0.2 had other numbers.
PARTS = ("guesses", "checks", "puzzles", "learner")
EDITION = "3"
# Where nothing stays, and which variable says so. Kaggle comes first, since its image is made from Colab's.
PASSING = {"Kaggle": "KAGGLE_KERNEL_RUN_TYPE", "Colab": "COLAB_RELEASE_TAG", "Binder": "BINDER_LAUNCH_HOST"}
Record = dict[str, dict[str, Any]]
# Where the lesson began: the record stays there, even if a lesson's cell goes to another folder.
_home: Path | None = None
_lesson = ""  # the number of the lesson that began
_tag = secrets.randbits(32)
# What isn't in the file yet, so that a lesson in a read-only folder still remembers it.
_unwritten: Record = {}
# What else wants to know when something new was kept. The wall does, if the learner has joined it.
listeners: list[Callable[[], None]] = []


def path() -> Path:
    """The file: ``progress.json`` in the folder of the notebooks, or what FLUXLITE_PROGRESS names."""
    return home() / (os.environ.get("FLUXLITE_PROGRESS") or FILE)


def home() -> Path:
    """The folder where the lesson began."""
    return (_home or Path()).absolute()


def stay(lesson: str = "") -> None:
    """Keep the record in the current folder, whatever folder becomes the current one later. This `lesson` has begun."""
    global _home, _lesson
    _home = Path.cwd()
    _lesson = lesson


def lesson() -> str:
    """The number of the lesson that has begun in this kernel. Empty if none has."""
    return _lesson


def tag() -> int:
    """A number made from the random id in the record, so the same each time. Without a record, this kernel has one."""
    try:
        return int(_read_file()["learner"]["id"], 16)
    except (OSError, ValueError, KeyError, TypeError):
        return _tag


def passing() -> str:
    """``"Colab"``, ``"Kaggle"`` or ``"Binder"`` if we run there, where the record ends with the session; or empty."""
    return next((place for place, variable in PASSING.items() if variable in os.environ), "")


def read() -> Record:
    """Everything stored: ``{"guesses": {"02-C": "b"}, "checks": {"02.2": "right"}, "puzzles": {}}``."""
    written: Record = {}
    with contextlib.suppress(OSError, ValueError):  # `keep` says what's wrong with the file
        written = _read_file()
    known = _together(written, _unwritten)
    return {part: known[part] for part in PARTS if part != "learner"}


def is_kept(part: str, key: str) -> bool:
    """Whether an entry that `read` gives is in the file, too. The others end with this kernel."""
    return key not in _unwritten.get(part, {})


def keep(part: str, key: str, value: str) -> None:
    """Store one guess, one check's outcome, or a puzzle's best figure. A file that isn't a record is moved aside.

    Where the file can't be written, the entry lasts until this kernel ends, and the next call tries again.
    """
    if read()[part].get(key) == value and is_kept(part, key):
        return
    file = path()
    try:
        with _alone(file):
            try:
                written = _read_file()  # others may have written
            except ValueError as error:
                written, aside = {}, file.with_name(f"{file.stem}.unreadable{file.suffix}")
                os.replace(file, aside)
                notice(("progress", str(file)), f"{file.name}: {error}. It's now {aside.name}, and a new one begins.")
            known = _together(written, _unwritten, {part: {key: value}})
            known["learner"] = {"id": secrets.token_hex(8)} | known["learner"] | {"edition": EDITION}
            write_whole(file, _as_text(known).encode("utf-8"))
            _unwritten.clear()
    except OSError as error:
        _unwritten.setdefault(part, {})[key] = value
        notice("progress", f"Your progress is kept until this kernel ends, not in {file}: {error.strerror}.")
    for tell in listeners:
        tell()


def as_text() -> str:
    """The record as its file would have it, with what couldn't be written: a page that saves it elsewhere asks."""
    written: Record = {}
    with contextlib.suppress(OSError, ValueError):
        written = _read_file()
    return _as_text(_together(written, _unwritten))


def _as_text(record: Record) -> str:
    return json.dumps(record, indent=1, sort_keys=True) + "\n"


def parsed(content: str | bytes) -> Any:
    """What's written in JSON. Raises `ValueError` if that can't be read, or has more parts than a record could have."""
    text = content if isinstance(content, str) else content.decode("latin1")
    parts = text.count("[") + text.count("{")
    if parts > MOST_PARTS:
        raise ValueError(f"it has {parts:,} lists and objects in it; at most {MOST_PARTS:,} are read")
    try:
        return json.loads(content)
    except RecursionError:
        raise ValueError("it's nested too deep") from None


def as_record(record: Any) -> Record:
    """A record, as a file has it. Raises `ValueError` for what isn't one, or isn't of these lessons."""
    if not isinstance(record, dict) or not all(isinstance(record.get(part, {}), dict) for part in PARTS):
        raise ValueError("this isn't a record of progress")
    learner = record.get("learner", {})
    if learner and learner.get("edition") != EDITION:
        raise ValueError("it's from fluxlite 0.2, whose lessons have other numbers")
    return record


def _read_file() -> Record:
    try:
        return as_record(parsed(path().read_text(encoding="utf-8-sig")))  # Notepad may write a byte order mark
    except FileNotFoundError:
        return {}


def _together(*records: Record) -> Record:
    """Combine the words in records. If two have the same entry, the later one counts."""
    known: Record = {name: {} for name in PARTS}
    for name, words in known.items():
        for one in records:
            entries = dict(one.get(name, {}))  # a copy: the wall's thread reads while a lesson writes
            words |= {key: word for key, word in entries.items() if isinstance(word, str)}
    return known


def _lock(file: Path) -> Any:
    """A lock of filelock's, or None where that isn't installed, or this system has no locks, as in a browser.

    filelock then takes a file for the lock, which a kernel that's killed would leave behind.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it says that it has no better one
            from filelock import FileLock, UnixFileLock, WindowsFileLock
    except ImportError:
        return None
    of_the_system: tuple[type, ...] = (UnixFileLock, WindowsFileLock)
    if FileLock not in of_the_system:
        return None
    return FileLock(file)


@contextlib.contextmanager
def _alone(file: Path) -> Iterator[None]:
    """One at a time: otherwise two notebooks that read and then write would lose each other's entries.

    The lock is the operating system's: if a kernel is killed, its lock is free. The file that it's on stays. Where
    there's no such lock, two that write at the same moment may lose an entry, but each writes the whole file.
    """
    os.stat(file.parent)  # raises if it's missing; the lock would make it
    lock = _lock(file.with_name(f".{file.name}.lock"))
    if lock is None:
        yield
        return
    try:
        lock.acquire(timeout=PATIENCE, poll_interval=0.01)
    except TimeoutError:
        raise OSError(errno.EBUSY, "another notebook has been writing it all the time") from None
    except (OSError, NotImplementedError):  # some network drives have no locks
        pass
    try:
        yield
    finally:
        lock.release()
