"""Writing a whole file: next to the old one, then renamed, so that half a file is never seen.

Even if the program is killed, the disk is full or the power fails, you have the old file or the new one.
"""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import re
import secrets
import stat
from collections.abc import Iterator
from typing import Any, BinaryIO

_in_use: set[str] = set()  # temporary files that this process's threads are writing
# Only a new file, never one that's there already, and never what a link leads to.
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def write_whole(path: Any, data: Any) -> None:
    """Make `data` the contents of the file `path`, or leave it unchanged. There's nothing in between.

    Raises what `whole_file` raises.
    """
    with whole_file(path) as file:
        file.write(data)


@contextlib.contextmanager
def whole_file(path: Any) -> Iterator[BinaryIO]:
    """``with whole_file(path) as file:`` what you write becomes the file `path` if the block ends without an error.

    It goes to a file next to it, ``.<name>.tmp-<process>-<random number>@<computer>``, which then takes its name. Such
    files left by killed programs are removed. A new file's mode follows the umask. An existing file keeps its mode, and
    its owner if you may give files away; until it has its name, nobody else can read the new one.

    Raises `OSError`, leaving nothing behind, if that fails: `PermissionError` for a file that's read-only, also if the
    folder would let you replace it.
    """
    path = os.path.realpath(path)  # keep a link, and replace the file that it leads to
    folder, name = os.path.split(path)
    before = replaceable(path)
    _remove_left_behind(folder, name)
    temporary = os.path.join(folder, f".{name}.tmp-{os.getpid()}-{secrets.token_hex(8)}@{platform.node()}")
    _in_use.add(temporary)
    try:
        with open(os.open(temporary, _NEW, 0o666 if before is None else 0o600), "wb") as file:
            yield file
            file.flush()
            if before is not None:
                _resemble(file.fileno() if os.chmod in os.supports_fd else temporary, before)
            os.fsync(file.fileno())  # the data reaches the disk before the name does
        os.replace(temporary, path)
        _sync_folder(folder)
    finally:
        _in_use.discard(temporary)
        with contextlib.suppress(OSError):  # after success it has a new name
            os.remove(temporary)


def replaceable(path: str) -> os.stat_result | None:
    """What's known of the file that is to be replaced, None if there's none. Raises `OSError` if it has to stay."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):  # a folder, a pipe, a device
        raise OSError(errno.EINVAL, "this is no ordinary file, and stays", path)
    # The bits are looked at too, since an administrator may write everywhere.
    if not found.st_mode & 0o222 or not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "this file is read-only, and stays", path)
    return found


def _resemble(temporary: int | str, before: os.stat_result) -> None:
    """Give the new file the old one's owner and mode, as far as that's possible.

    A descriptor can't be exchanged for a link to another file; a name could be.
    """
    for owner in (-1, before.st_gid), (before.st_uid, -1):
        with contextlib.suppress(OSError, AttributeError):  # not ours to give; Windows has no owners
            os.chown(temporary, *owner)
    with contextlib.suppress(OSError):  # some file systems have no modes
        os.chmod(temporary, stat.S_IMODE(before.st_mode))


def _sync_folder(folder: str) -> None:
    """Make sure that the new name is on the disk too. Windows can't do that for a folder."""
    if os.name == "nt":
        return
    with contextlib.suppress(OSError):  # some file systems refuse
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _remove_left_behind(folder: str, name: str) -> None:
    pattern = re.compile(rf"\.{re.escape(name)}\.tmp-(\d+)-[0-9a-f]+@{re.escape(platform.node())}")
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
