"""Which backend the user prefers: an environment variable, and a file in the project's folder.

The file is ``LocalPreferences.toml``, the table is ``[fluxlite]``:

    [fluxlite]
    gpu_backend = "AMDGPU"
"""

from __future__ import annotations

import functools
import os
import re
from typing import Any, NamedTuple

from ..messages import warn

FILE = "LocalPreferences.toml"
VARIABLE = "FLUXLITE_GPU_BACKEND"
FOLDER_VARIABLE = "FLUXLITE_PROJECT"


class Wish(NamedTuple):
    """The backend that the user prefers, whatever he wrote, and where he said so."""

    backend: str
    source: str


class Pretended:
    """What `pretend` puts in the place of file and environment."""

    def __init__(self, stored: str | None, environment: str | None) -> None:
        self.stored, self.environment = stored, environment


pretended: list[Pretended] = []  # the last one counts


def wish() -> Wish | None:
    """What the user prefers: the environment first, then the file. Both are looked at anew each time."""
    if pretended:
        environment, stored = pretended[-1].environment, pretended[-1].stored
    else:
        environment = os.environ.get(VARIABLE)
        stored = None if environment else stored_backend()
    if environment:
        return Wish(environment, VARIABLE)
    return None if stored is None else Wish(stored, "preferences")


def preference_file() -> str:
    """Where the preference is kept: in the folder FLUXLITE_PROJECT, or in the project that the program runs in.

    A project is the nearest folder upwards with a ``pyproject.toml``; without one it is the working directory.
    """
    return _file(os.environ.get(FOLDER_VARIABLE), os.getcwd())


@functools.cache  # each move to a GPU asks
def _file(named: str | None, working: str) -> str:
    if named:
        return os.path.join(working, named, FILE)
    folder = working
    while not os.path.isfile(os.path.join(folder, "pyproject.toml")):
        above = os.path.dirname(folder)
        if above == folder:  # the root, and no project on the way
            return os.path.join(working, FILE)
        folder = above
    return os.path.join(folder, FILE)


def stored_backend() -> str | None:
    """The backend that the file names; None without file or entry."""
    if pretended:
        return pretended[-1].stored
    path = preference_file()
    try:
        status = os.stat(path)
    except OSError:
        return None
    return _stored(path, status.st_mtime_ns, status.st_size, status.st_ino)


@functools.lru_cache(maxsize=1)  # one file, read again when it has changed
def _stored(path: str, *status: int) -> str | None:
    import tomllib

    try:
        table = tomllib.loads(_text(path)).get("fluxlite", {})
    except (OSError, ValueError) as error:
        warn(("preferences", str(error)), f"{FILE} cannot be read, so there is no preference: {error}")
        return None
    value = table.get("gpu_backend") if isinstance(table, dict) else None
    return None if value is None else str(value)


def store_backend(name: str | None) -> None:
    """Write `name` into the file, or with None delete the entry; everything else in the file stays as it is.

    Raises `ValueError`, and changes nothing, if the file is not valid TOML or writes the entry in a way that is
    not understood here.
    """
    if pretended:
        pretended[-1].stored = name
        return
    path = preference_file()
    old = _text(path) if os.path.exists(path) else ""
    new = edited(old, name)
    try:
        wanted = _with_backend(_tables(old), name)
    except ValueError as error:
        raise ValueError(f"{path} is not valid TOML: {error}. Mend it, or delete it.") from None
    if not _means(new, wanted):
        what = f'write gpu_backend = "{name}" there' if name else "delete gpu_backend there"
        raise ValueError(f"{path} writes the table [fluxlite] in an unusual way; {what} yourself")
    _replace(path, new)
    _stored.cache_clear()


def _text(path: str) -> str:
    with open(path, encoding="utf-8", newline="") as file:  # the ends of lines as they are
        return file.read()


def _tables(text: str) -> dict[str, Any]:
    """The TOML `text` as dicts; an empty table [fluxlite] is none."""
    import tomllib

    tables = tomllib.loads(text)
    return {key: value for key, value in tables.items() if key != "fluxlite" or value != {}}


def _with_backend(tables: dict[str, Any], name: str | None) -> dict[str, Any]:
    old = tables.get("fluxlite", {})
    table = {key: value for key, value in old.items() if key != "gpu_backend"} if isinstance(old, dict) else {}
    table |= {} if name is None else {"gpu_backend": name}
    others = {key: value for key, value in tables.items() if key != "fluxlite"}
    return others | ({"fluxlite": table} if table else {})


def _means(text: str, tables: dict[str, Any]) -> bool:
    try:
        return _tables(text) == tables
    except ValueError:
        return False


_HEADER = r"[ \t]*\[[ \t]*fluxlite[ \t]*\][ \t]*(#.*)?$"
_ENTRY = r"""(?s)([ \t]*gpu_backend[ \t]*=[ \t]*)("[^"]*"|'[^']*'|[^\s#]+)(.*)$"""


def edited(text: str, name: str | None) -> str:
    """The TOML `text` with another ``gpu_backend`` in its table ``[fluxlite]``; None takes the entry out.

    >>> print(edited('[other]\\nx = 1  # mine', "CPU"))
    [other]
    x = 1  # mine
    <BLANKLINE>
    [fluxlite]
    gpu_backend = "CPU"
    """
    lines = text.splitlines(keepends=True)
    start = next((i for i, line in enumerate(lines) if re.match(_HEADER, line.rstrip("\r\n"))), None)
    if start is None:
        gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        return text if name is None else f'{text}{gap}[fluxlite]\ngpu_backend = "{name}"\n'
    end = next((i for i in range(start + 1, len(lines)) if lines[i].lstrip().startswith("[")), len(lines))
    table = _edited_table(lines[start:end], name)
    return "".join(lines[:start] + table + lines[end:])


def _edited_table(lines: list[str], name: str | None) -> list[str]:
    """The same for the lines of the one table, of which the first is its header."""
    header, *body = lines
    found = [re.match(_ENTRY, line) for line in body]
    if name is None:
        rest = [line for line, entry in zip(body, found) if entry is None]
        return [header, *rest] if any(line.strip() for line in rest) else []
    if any(found):
        return [header, *(f'{e[1]}"{name}"{e[3]}' if e else line for line, e in zip(body, found))]
    newline = "\r\n" if header.endswith("\r\n") else "\n"
    return [header.rstrip("\r\n") + newline, f'gpu_backend = "{name}"{newline}', *body]


def _replace(path: str, text: str) -> None:
    """Write the file anew, or remove it if nothing is left in it."""
    from ..writing import write_whole  # who changes no preference need not read it

    path = os.path.realpath(path)
    if not text.strip():
        os.remove(path)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    write_whole(path, text.encode("utf-8"))
