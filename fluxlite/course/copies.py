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

from ..writing import write_whole

FOLDER = "my-course"  # for learners' copies

HASH, VERSION, LESSON = "sources", "version", "lesson"


def learner_folder() -> Path:
    """The folder with the lessons for learners: in an installed fluxlite, or the project's ``notebooks/learner``."""
    inside = Path(__file__).parent / "notebooks"
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
    if _handed_out(theirs) == _handed_out(fresh):
        return ""  # they have this version, edited or not
    if _unchanged(theirs):
        write_whole(copy, fresh)
        return f"{copy.name} is new, version {_about(fresh).get(VERSION)}; yours was as it was handed out."
    newer = copy.with_name(f"{copy.stem}.v{_about(fresh).get(VERSION)}{copy.suffix}")
    return _beside(newer, fresh, copy)


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
    number = 1
    while True:
        kept = copy.with_name(f"{copy.stem}.mine-{number}{copy.suffix}")
        try:
            os.link(copy, kept)  # unlike a rename, this never replaces an existing file
            break
        except FileExistsError:
            number += 1
        except (OSError, AttributeError):  # the file system has no links
            if _made(kept, copy.read_bytes()):
                break
            number += 1
    write_whole(copy, fresh)
    return kept


def _made(path: Path, content: bytes) -> bool:
    """Write a new file. False if it already exists."""
    try:
        with path.open("xb") as file:
            file.write(content)
    except FileExistsError:
        return False
    return True


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
    return known is not None and fingerprint(json.loads(content)) == known
