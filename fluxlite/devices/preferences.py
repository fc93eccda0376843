"""Keeping a preference in the project's ``LocalPreferences.toml``. What's read from it is in `selection.py`."""

import tomllib
from pathlib import Path

from ..messages import explained, say
from ..writing import write_whole
from .base import CHOICE
from .selection import FILE, find_backend, preference_file, stored_backend, wish


@explained()
def gpu_backend(name: str | None) -> None:
    """Prefer a backend, now and in later sessions. None deletes the preference (Flux: ``gpu_backend!``).

    It's in ``LocalPreferences.toml`` of the project's folder, or of FLUXLITE_PROJECT. Raises `ValueError` if you have
    to edit that file yourself.
    """
    if name is not None:
        find_backend(name)
    if name == stored_backend():
        already = f"GPU backend is already set to: {name}. No need to do anything else."
        return say(already if name else "There is no GPU backend preference to delete.")
    _store(name)
    text = "GPU backend preference deleted.\ngpu and get_device choose automatically from now on."
    if name is not None:
        backend, source = wish() or (name, "")
        used = source in ("", "preferences")
        when = "gpu and get_device use it from now on" if used else f"{source} counts more, and says {backend}"
        text = f"New GPU backend set: {name}.\n{when}; it is kept in {FILE}."
    say(text)


def _store(name: str | None) -> None:
    """Write `name` in a table at the file's end; None deletes that. The rest of the file stays as it is."""
    if CHOICE.pretended:
        CHOICE.pretended.stored = name
        return
    path, table = Path(preference_file()), '[fluxlite]\ngpu_backend = "{}"\n'
    text = path.read_bytes().decode().removesuffix(table.format(stored_backend())) if path.exists() else ""
    if "fluxlite" in tomllib.loads(text):
        what = f'write gpu_backend = "{name}"' if name else "delete gpu_backend"
        raise ValueError(f"{path} has a table [fluxlite] of yours: {what} there yourself")
    if name is not None:
        text += ("\n" if text and not text.endswith("\n\n") else "") + table.format(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    if text:
        write_whole(path, text.encode())
    else:
        path.unlink()
