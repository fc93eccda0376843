"""What a learner has guessed and solved so far: a small file of his own, beside the notebooks."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from ..notices import notice

FILE = "progress.json"
_EMPTY: dict[str, dict[str, Any]] = {"guesses": {}, "checks": {}}
# What could not be written to a file, so that a lesson in a read-only folder still remembers what it was told.
_unwritten: dict[str, dict[str, Any]] = {}


def path() -> Path:
    """The file: ``progress.json`` in the folder of the notebooks, or what FLUXLITE_PROGRESS names."""
    return Path(os.environ.get("FLUXLITE_PROGRESS") or FILE).absolute()


def read() -> dict[str, dict[str, Any]]:
    """All that is kept: ``{"guesses": {"03-A": "b"}, "checks": {"03.1": "right"}}``."""
    kept = {name: dict(part) for name, part in (_unwritten or _read_file()).items()}
    return {**{name: {} for name in _EMPTY}, **kept}


def keep(part: str, key: str, value: str) -> None:
    """Keep one guess, or what became of one check."""
    known = read()  # anew each time: another notebook may have written meanwhile
    if known[part].get(key) == value:
        return
    known[part][key] = value
    file = path()
    new = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        new.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        os.replace(new, file)
    except OSError as error:
        with contextlib.suppress(OSError):
            new.unlink()
        _unwritten.update(known)
        notice("progress", f"Your progress is kept until this kernel ends, not in {file}: {error.strerror}.")


def _read_file() -> dict[str, dict[str, Any]]:
    file = path()
    try:
        known = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(known, dict) or not all(isinstance(known.get(part, {}), dict) for part in _EMPTY):
            raise ValueError("it is no record of progress")
    except FileNotFoundError:
        return {}
    except OSError:
        return {}
    except ValueError:  # also what is no JSON, or no text
        aside = file.with_name(file.stem + ".unreadable" + file.suffix)
        with contextlib.suppress(OSError):
            os.replace(file, aside)
        notice(("progress", str(file)), f"{file.name} could not be read; it is now {aside.name}, and a new one begins.")
        return {}
    return {part: known.get(part, {}) for part in _EMPTY}
