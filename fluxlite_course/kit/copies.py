"""Learners' copies of the lessons: we make missing ones, and never overwrite one that was changed.

A copy's metadata has a hash of its cells at the time it was handed out. As long as the cells still match, a newer
version may replace it, since nothing was written in it. Otherwise the newer one goes next to it.
"""

from __future__ import annotations

import hashlib
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
    """Copy the lessons into the folder `target`, which is made if needed; returns messages, one per line.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lines = hand_out(Path(folder))
    ...     Path(folder, "00-start-here.ipynb").exists()
    True
    """
    source = learner_folder() if source is None else source
    target.mkdir(parents=True, exist_ok=True)
    lines = [_hand_out_one(file, target / file.name) for file in sorted(source.glob("*.ipynb"))]
    return [line for line in lines if line]


def _hand_out_one(file: Path, copy: Path) -> str:
    fresh = file.read_bytes()
    if _made(copy, fresh):
        return ""
    theirs = copy.read_bytes()
    if _torn(theirs):
        return _repaired(copy, theirs, fresh)
    if _handed_out(theirs) == _handed_out(fresh):
        return ""  # they have this version, edited or not
    if _unchanged(theirs):
        write_whole(copy, fresh)
        return f"{copy.name} is new, version {_about(fresh).get(VERSION)}; yours was as it was handed out."
    newer = copy.with_name(f"{copy.stem}.v{_about(fresh).get(VERSION)}{copy.suffix}")
    return _beside(newer, fresh, copy)


def _repaired(copy: Path, theirs: bytes, fresh: bytes) -> str:
    """Replace a notebook that can't be opened any more, and keep what's left of it."""
    if fresh.startswith(theirs):  # nothing of theirs was in it
        write_whole(copy, fresh)
        return f"{copy.name} was torn, as when a disk is full. It's whole again; nothing of yours was in it."
    kept = _kept_as(copy, "torn")
    write_whole(copy, fresh)
    return f"{copy.name} could not be read any more. It's fresh now, and what was in it is kept as {kept.name}."


def _beside(newer: Path, fresh: bytes, copy: Path) -> str:
    """Put the new version under its own name, which may also be edited by now."""
    number = 1
    while not _made(newer, fresh):
        if _handed_out(newer.read_bytes()) == _handed_out(fresh):
            return ""
        number += 1
        newer = copy.with_name(f"{copy.stem}.v{_about(fresh).get(VERSION)}-{number}{copy.suffix}")
    return f"{newer.name} is new. {copy.name} has your work in it and stays as it is."


def renew(copy: Path, source: Path | None = None) -> Path | None:
    """Replace `copy` with a fresh copy. Returns the name under which the old content was kept, if it was."""
    source = learner_folder() if source is None else source
    fresh = (source / copy.name).read_bytes()
    if _made(copy, fresh):
        return None
    kept = _kept_as(copy, "mine")
    write_whole(copy, fresh)
    return kept


def _kept_as(copy: Path, word: str) -> Path:
    """Give the content of `copy` a second name, which nothing has yet."""
    number = 1
    while True:
        kept = copy.with_name(f"{copy.stem}.{word}-{number}{copy.suffix}")
        try:
            os.link(copy, kept)  # unlike a rename, this never replaces an existing file
            return kept
        except FileExistsError:
            number += 1
        except (OSError, AttributeError):  # the file system has no links
            if _made(kept, copy.read_bytes()):
                return kept
            number += 1


def _made(path: Path, content: bytes) -> bool:
    """Write a new file, whole even if the disk is full. False if it already exists."""
    if os.path.lexists(path):
        return False
    write_whole(path, content)
    return True


def _torn(content: bytes) -> bool:
    """Whether JupyterLab can't open it: half of it is missing, or it never was a notebook."""
    try:
        json.loads(content)
    except (ValueError, RecursionError):
        return True
    return False


def _about(content: bytes) -> dict[str, Any]:
    """What a handed-out notebook says about itself. Empty for any other file."""
    try:
        return dict(json.loads(content)["metadata"]["fluxlite"])
    except (ValueError, KeyError, TypeError):
        return {}


def _handed_out(content: bytes) -> Any:
    return _about(content).get(HASH)


def _unchanged(content: bytes) -> bool:
    known = _handed_out(content)
    try:
        return known is not None and fingerprint(json.loads(content)) == known
    except (KeyError, TypeError):  # it lost its cells
        return False
