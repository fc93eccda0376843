"""Writing a whole file: next to the old one, then renamed, so that half a file is never seen.

Even if the program is killed, the disk is full or the power fails, you have the old file or the new one.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import platform
import re
import shutil
from typing import Any

_count = itertools.count()
_in_use: set[str] = set()  # temporary files that this process's threads are writing


def write_whole(path: Any, data: Any) -> None:
    """Make `data` the contents of the file `path`, or leave it unchanged. There's nothing in between.

    The data goes to a file next to it, ``.<name>.tmp-<process>-<number>@<computer>``, which then takes its name. Such
    files left by killed programs are removed. A new file's mode follows the umask; an existing file keeps its mode.
    Raises `OSError`, leaving nothing behind, if that fails.
    """
    path = os.path.realpath(path)  # keep a link, and replace the file that it leads to
    folder, name = os.path.split(path)
    _remove_left_behind(folder, name)
    temporary = os.path.join(folder, f".{name}.tmp-{os.getpid()}-{next(_count)}@{platform.node()}")
    _in_use.add(temporary)
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # the data reaches the disk before the name does
        with contextlib.suppress(OSError):  # a new file has no mode yet; some file systems have none
            shutil.copymode(path, temporary)
        os.replace(temporary, path)
        _sync_folder(folder)
    finally:
        with contextlib.suppress(OSError):  # after success it has a new name
            os.remove(temporary)
        _in_use.discard(temporary)


def _sync_folder(folder: str) -> None:
    """Make sure that the new name is on the disk too. Windows can't do that for a folder."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # some file systems refuse
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove_left_behind(folder: str, name: str) -> None:
    pattern = re.compile(rf"\.{re.escape(name)}\.tmp-(\d+)-\d+@{re.escape(platform.node())}")
    with contextlib.suppress(OSError):  # if it can't be read, writing will say so
        for entry in os.listdir(folder):
            found = pattern.fullmatch(entry)
            temporary = os.path.join(folder, entry)
            if found and temporary not in _in_use and not _is_another_living(int(found[1])):
                with contextlib.suppress(OSError):  # another process was faster
                    os.remove(temporary)


def _is_another_living(process: int) -> bool:
    """Whether another program with this number is running. Only used for programs on this computer."""
    if process == os.getpid():
        return False
    if os.name == "nt":  # the check below would kill it on Windows, so we remove nothing there
        return True
    try:
        os.kill(process, 0)  # signal 0 only checks
    except (ProcessLookupError, OverflowError):  # the second: no process can have such a number
        return False
    except OSError:  # it belongs to another user
        return True
    return True
