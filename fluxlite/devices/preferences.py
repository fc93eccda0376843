"""The user's preferred backend, from an environment variable or a file in the project's folder.

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
    """The backend that the user prefers, exactly as written, and where it was set."""

    backend: str
    source: str


class Pretended:
    """What `pretend` uses instead of the file and the environment."""

    def __init__(self, stored: str | None, environment: str | None) -> None:
        self.stored, self.environment = stored, environment


pretended: list[Pretended] = []  # the last one counts


def wish() -> Wish | None:
    """The user's preference: the environment first, then the file. We look at both each time."""
    if pretended:
        environment, stored = pretended[-1].environment, pretended[-1].stored
    else:
        environment = os.environ.get(VARIABLE)
        stored = None if environment else stored_backend()
    if environment:
        return Wish(environment, VARIABLE)
    return None if stored is None else Wish(stored, "preferences")


def preference_file() -> str:
    """Where the preference is stored: in the folder FLUXLITE_PROJECT, or in the current project.

    The project is the nearest folder upwards with a ``pyproject.toml``. If there's none, it's the working directory.
    """
    return _file(os.environ.get(FOLDER_VARIABLE), os.getcwd())


@functools.cache  # every move to a GPU asks
def _file(named: str | None, working: str) -> str:
    if named:
        return os.path.join(working, named, FILE)
    folder = working
    while not os.path.isfile(os.path.join(folder, "pyproject.toml")):
        above = os.path.dirname(folder)
        if above == folder:  # we reached the root without finding a project
            return os.path.join(working, FILE)
        folder = above
    return os.path.join(folder, FILE)


def stored_backend() -> str | None:
    """The backend named in the file; None if there's no file or no entry."""
    if pretended:
        return pretended[-1].stored
    path = preference_file()
    try:
        status = os.stat(path)
    except OSError:
        return None
    return _stored(path, status.st_mtime_ns, status.st_size, status.st_ino)


@functools.lru_cache(maxsize=1)  # one file, read again when it changes
def _stored(path: str, *status: int) -> str | None:
    import tomllib

    try:
        table = tomllib.loads(_text(path)).get("fluxlite", {})
    except (OSError, ValueError, RecursionError) as error:
        why = "its parts are nested too deep" if isinstance(error, RecursionError) else error
        warn(("preferences", str(error)), f"{FILE} cannot be read, so there is no preference: {why}")
        return None
    value = table.get("gpu_backend") if isinstance(table, dict) else None
    return None if value is None else str(value)


def store_backend(name: str | None) -> None:
    """Write `name` into the file; None deletes the entry. The rest of the file stays as it is.

    Raises `ValueError`, and changes nothing, if the file isn't valid TOML or writes the entry in a way that we can't
    edit.
    """
    if pretended:
        pretended[-1].stored = name
        return
    path = preference_file()
    old = _text(path) if os.path.exists(path) else ""
    new = edited(old, name)
    try:
        wanted = _with_backend(_tables(old), name)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not valid TOML: {error}. Mend it, or delete it.") from None
    if not _means(new, wanted):
        what = f'write gpu_backend = "{name}" there' if name else "delete gpu_backend there"
        raise ValueError(f"{path} writes the table [fluxlite] in an unusual way; {what} yourself")
    _replace(path, new)
    _stored.cache_clear()


def _text(path: str) -> str:
    with open(path, encoding="utf-8", newline="") as file:  # keeps the line endings
        return file.read()


def _tables(text: str) -> dict[str, Any]:
    """The TOML `text` as dicts. An empty table [fluxlite] counts as missing."""
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
    except (ValueError, RecursionError):
        return False


_HEADER = r"[ \t]*\[[ \t]*fluxlite[ \t]*\][ \t]*(#.*)?$"
_ENTRY = r"""(?s)([ \t]*gpu_backend[ \t]*=[ \t]*)("[^"]*"|'[^']*'|[^\s#]+)(.*)$"""


def edited(text: str, name: str | None) -> str:
    """The TOML `text` with another ``gpu_backend`` in its table ``[fluxlite]``. None removes the entry.

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
    """The same for the lines of one table, header first."""
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
    """Rewrite the file, or remove it if it would be empty."""
    from ..writing import write_whole  # only needed when a preference changes

    path = os.path.realpath(path)
    if not text.strip():
        os.remove(path)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    write_whole(path, text.encode("utf-8"))
