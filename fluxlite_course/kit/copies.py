"""Learners' copies of the lessons: we make those that are missing, and never overwrite one that was changed.

A copy's metadata has a hash of its cells as they were handed out. As long as the cells match it, nothing was written in
them, and a newer version may replace the copy. Otherwise the newer one goes next to it. The hash leaves outputs out.
What stands below cells that nobody ran is ours, too: if we show something else there now, the copy is made again.
"""

import hashlib
import itertools
import json
import os
from pathlib import Path
from typing import Any

from fluxlite.writing import write_whole

FOLDER = "my-course"  # for learners' copies
HASH, VERSION, LESSON = "sources", "version", "lesson"


def learner_folder() -> Path:
    """The folder with the lessons for learners: in an installed fluxlite, or the project's ``notebooks/learner``."""
    inside = Path(__file__).parents[1] / "notebooks"
    return inside if inside.is_dir() else Path(__file__).parents[2] / "notebooks" / "learner"


def fingerprint(notebook: dict[str, Any]) -> str:
    """A hash of what a learner can edit: each cell's kind and text, without outputs."""
    cells = [[cell["cell_type"], "".join(cell["source"])] for cell in notebook["cells"]]
    return hashlib.sha256(json.dumps(cells).encode()).hexdigest()[:16]


def hand_out(target: Path, source: Path | None = None) -> list[str]:
    """Copy the lessons into the folder `target`, made if needed. Returns what to say, a line for each file."""
    target.mkdir(parents=True, exist_ok=True)
    files = sorted((source or learner_folder()).glob("*.ipynb"))
    return [line for file in files if (line := _hand_out_one(file.read_bytes(), target / file.name))]


def _hand_out_one(fresh: bytes, copy: Path) -> str:
    if _write_new(copy, fresh):
        return ""
    if not copy.is_file():
        return f"{copy.name} is a folder, or a link to nothing, so it stays: rename it to get a copy."
    try:
        theirs, edited = _read(copy.read_bytes())
    except (ValueError, RecursionError):  # half of it is missing, say
        kept = _replace(copy, fresh, "torn")
        return f"{copy.name} can't be read any more. It's fresh now, and the old one is kept as {kept.name}."
    newest, _ = _read(fresh)
    if theirs.get(HASH) == newest[HASH]:  # they have this version, edited or not
        if not edited and _is_untouched(copy.read_bytes(), fresh):
            write_whole(copy, fresh)
        return ""
    if not edited:
        write_whole(copy, fresh)
        return f"{copy.name} is new, version {newest[VERSION]}; yours was as it was handed out."
    newer = copy.with_name(f"{copy.stem}.v{newest[VERSION]}{copy.suffix}")
    is_new = _write_new(newer, fresh)
    return f"{newer.name} is new. {copy.name} has your work in it and stays as it is." if is_new else ""


def _read(content: bytes) -> tuple[dict[str, Any], bool]:
    """What we wrote about a notebook when it was handed out, and whether it was edited. Raises `ValueError`."""
    notebook = json.loads(content)
    try:
        about = notebook["metadata"]["fluxlite"]
        return about, about[HASH] != fingerprint(notebook)
    except (KeyError, TypeError):  # it isn't one of ours, or it lost its cells
        return {}, True


def _is_untouched(copy: bytes, fresh: bytes) -> bool:
    """Whether no cell of a copy ever ran, and yet it shows other outputs than a fresh one.

    So do copies of 0.3.0: their questions are HTML, which Jupyter doesn't trust until all of them ran.
    """
    theirs, ours = ([cell for cell in json.loads(it)["cells"] if cell["cell_type"] == "code"] for it in (copy, fresh))
    has_run = any(cell.get("execution_count") is not None for cell in theirs)
    return not has_run and [cell.get("outputs") for cell in theirs] != [cell.get("outputs") for cell in ours]


def renew(copy: Path, source: Path | None = None) -> Path | None:
    """Replace `copy` with a fresh copy. Returns the name under which the old content is kept, if there was any."""
    fresh = ((source or learner_folder()) / copy.name).read_bytes()
    return None if _write_new(copy, fresh) else _replace(copy, fresh, "mine")


def _replace(copy: Path, fresh: bytes, word: str) -> Path:
    """Replace the content of `copy`. The old content goes into a new file, which is returned."""
    names = (copy.with_name(f"{copy.stem}.{word}-{number}{copy.suffix}") for number in itertools.count(1))
    kept = next(name for name in names if _write_new(name, copy.read_bytes()))
    write_whole(copy, fresh)
    return kept


def _write_new(path: Path, content: bytes) -> bool:
    """Write a new file, or nothing. False if the file already exists."""
    if os.path.lexists(path):
        return False
    write_whole(path, content)
    return True
