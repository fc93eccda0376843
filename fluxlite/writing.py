"""Writing a file whole: beside the old one, then renamed, so that nobody ever finds half of it.

A program that is killed, a full disk, a pulled plug: afterwards the old file is there, or the new one.
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
_in_use: set[str] = set()  # the temporary files that threads of this process are writing


def write_whole(path: Any, data: Any) -> None:
    """Make `data` the contents of the file `path`, or leave it as it is: there is no moment in between.

    The data goes to a file beside it, ``.<name>.tmp-<process>-<number>@<computer>``, which then takes its name. Such
    files that killed programs left are removed. A new file gets the mode that the umask says, another keeps its own.
    Raises `OSError`, and leaves nothing behind, if that is not possible.
    """
    path = os.path.realpath(path)  # a link stays one, and the file that it leads to is replaced
    folder, name = os.path.split(path)
    _remove_left_behind(folder, name)
    temporary = os.path.join(folder, f".{name}.tmp-{os.getpid()}-{next(_count)}@{platform.node()}")
    _in_use.add(temporary)
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # the data is on the disk before its name is
        with contextlib.suppress(OSError):  # a new file has none yet; some file systems have no modes
            shutil.copymode(path, temporary)
        os.replace(temporary, path)
        _sync_folder(folder)
    finally:
        with contextlib.suppress(OSError):  # after success it has another name
            os.remove(temporary)
        _in_use.discard(temporary)


def _sync_folder(folder: str) -> None:
    """The new name is on the disk too. Windows cannot do that to a folder."""
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
    with contextlib.suppress(OSError):  # if it cannot be read: writing will say so
        for entry in os.listdir(folder):
            found = pattern.fullmatch(entry)
            temporary = os.path.join(folder, entry)
            if found and temporary not in _in_use and not _is_another_living(int(found[1])):
                with contextlib.suppress(OSError):  # another process was quicker
                    os.remove(temporary)


def _is_another_living(process: int) -> bool:
    """Whether another program of this number runs. Only asked about those that ran on this computer."""
    if process == os.getpid():
        return False
    if os.name == "nt":  # asking as below would end it; so nothing is removed there
        return True
    try:
        os.kill(process, 0)  # signal 0 does nothing but ask
    except (ProcessLookupError, OverflowError):  # the second: no process can have such a number
        return False
    except OSError:  # it is somebody else's
        return True
    return True
