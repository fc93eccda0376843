"""What the user asked for: by `simulate_gpu`, in the environment, or in the project's ``LocalPreferences.toml``.

The file's table is ``[fluxlite]``, its line ``gpu_backend = "AMDGPU"``.
"""

import functools
import os
from typing import NamedTuple

from ..messages import warn
from .base import CHOICE

FILE = "LocalPreferences.toml"
VARIABLE = "FLUXLITE_GPU_BACKEND"
FOLDER_VARIABLE = "FLUXLITE_PROJECT"
SIMULATION = "simulate_gpu()"


class Wish(NamedTuple):
    backend: str  # exactly as written
    source: str


def wish() -> Wish | None:
    """What counts most of what was asked for. We look at the environment and the file each time."""
    if CHOICE.simulation() is not None:
        return Wish("Simulated", SIMULATION)
    pretended = CHOICE.pretended
    environment = pretended.environment if pretended else os.environ.get(VARIABLE)
    if environment:
        return Wish(environment, VARIABLE)
    stored = stored_backend()
    return None if stored is None else Wish(stored, "preferences")


def preference_file() -> str:
    """In the folder FLUXLITE_PROJECT, or the nearest one above with a ``pyproject.toml``, or the working directory."""
    return _file(os.environ.get(FOLDER_VARIABLE), os.getcwd())


@functools.cache  # every move to a GPU asks
def _file(named: str | None, working: str) -> str:
    from pathlib import Path

    folder = Path(working)
    projects = (above for above in (folder, *folder.parents) if (above / "pyproject.toml").is_file())
    return str((folder / named if named else next(projects, folder)) / FILE)


def stored_backend() -> str | None:
    """The backend named in the file; None if there's no file or no entry."""
    if CHOICE.pretended:
        return CHOICE.pretended.stored
    import tomllib

    try:
        value = tomllib.loads(_text(preference_file())).get("fluxlite", {}).get("gpu_backend")
        return None if value is None else str(value)
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        warn(("preferences", str(error)), f"{FILE} cannot be read, so there is no preference: {error}")
        return None


def _text(path: str) -> str:
    """What's in the file, with its line endings. Empty if there's no file."""
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


def store_backend(name: str | None) -> None:
    """Write `name` into the file, in a table at its end; None deletes that. The rest of the file stays as it is.

    Raises `ValueError`, and changes nothing, if the file isn't valid TOML or has a table [fluxlite] that you wrote.
    """
    import tomllib

    if CHOICE.pretended:
        CHOICE.pretended.stored = name
        return
    path, table = preference_file(), '[fluxlite]\ngpu_backend = "{}"\n'
    text = _text(path).removesuffix(table.format(stored_backend()))
    if "fluxlite" in tomllib.loads(text):
        what = f'write gpu_backend = "{name}"' if name else "delete gpu_backend"
        raise ValueError(f"{path} has a table [fluxlite] of yours: {what} there yourself")
    if name is not None:
        text += ("\n" if text and not text.endswith("\n\n") else "") + table.format(name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if text:
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
    else:
        os.remove(path)
