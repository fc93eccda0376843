"""Writing a whole file: next to the old one, then renamed, so that half a file is never seen."""

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Iterator


def write_whole(path: str | os.PathLike, data: bytes) -> None:
    """Make `data` the contents of the file `path`, or leave it unchanged. There's nothing in between."""
    with whole_file(path) as temporary, open(temporary, "wb") as file:
        file.write(data)


@contextlib.contextmanager
def whole_file(path: str | os.PathLike) -> Iterator[str]:
    """``with whole_file(path) as temporary:`` the file `temporary` takes the name `path` if the block ends well.

    Whatever happens, you have the old file or the new one. It keeps its mode, and a link keeps leading to it. If the
    program is killed, a hidden file such as ``.run.5e90d9d7c2888ef6.tmp`` may stay next to it: delete it.
    """
    path = check_place(path)
    temporary = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.{secrets.token_hex(8)}.tmp")
    open(temporary, "xb").close()  # a new file has the mode that the umask says
    try:
        if os.path.exists(path):
            shutil.copymode(path, temporary)
        mode = os.stat(temporary).st_mode
        yield temporary
        os.chmod(temporary, mode)  # the block may have replaced it
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())  # the data reaches the disk before the name does
        os.replace(temporary, path)
    finally:
        with contextlib.suppress(FileNotFoundError):  # it has its name
            os.remove(temporary)


def check_place(path: str | os.PathLike) -> str:
    """Where `path` leads, through links. Raises `OSError` if no file can be written there."""
    path = os.path.realpath(path)
    if not os.path.isdir(os.path.dirname(path)):
        raise FileNotFoundError(errno.ENOENT, "could not save, there is no such folder", os.path.dirname(path))
    if os.path.exists(path) and not (os.path.isfile(path) and os.stat(path).st_mode & 0o222):  # for administrators, too
        raise PermissionError(errno.EACCES, "this file is read-only, or not an ordinary file, and stays as it is", path)
    return path
