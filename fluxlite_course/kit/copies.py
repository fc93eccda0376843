"""Learners' copies of the lessons: we make those that are missing, and never overwrite one that was changed.

A copy's metadata has a hash of its cells as they were handed out. As long as the cells match it, nothing was written in
them, and a newer version may replace the copy. Otherwise the newer one goes next to it. The hash leaves outputs out.
What stands below cells that nobody ran is ours, too: if we show something else there now, the copy is made again.
"""

import hashlib
import itertools
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fluxlite.writing import write_whole

from . import course

FOLDER = "my-course"  # for learners' copies
HASH, VERSION, LESSON = "sources", "version", "lesson"
WHOLE = "whole"  # in a copy for a shorter course: the hash of the one for all lessons


def learner_folder() -> Path:
    """The folder with the lessons for learners: in an installed fluxlite, or the project's ``notebooks/learner``."""
    inside = Path(__file__).parents[1] / "notebooks"
    return inside if inside.is_dir() else Path(__file__).parents[2] / "notebooks" / "learner"


def fingerprint(notebook: dict[str, Any]) -> str:
    """A hash of what a learner can edit: each cell's kind and text, without outputs."""
    cells = [[cell["cell_type"], "".join(cell["source"])] for cell in notebook["cells"]]
    return hashlib.sha256(json.dumps(cells).encode()).hexdigest()[:16]


def hand_out(target: Path, source: Path | None = None) -> list[str]:
    """Copy the lessons into the folder `target`, made if needed. Returns what to say, a line for each file.

    Only those of its course, where that's a shorter one.
    """
    target.mkdir(parents=True, exist_ok=True)
    fresh = fresh_copies(course.lessons_in(target), source)
    return [line for name, copy in fresh.items() if (line := _hand_out_one(copy, target / name))]


def fresh_copies(lessons: Sequence[str], source: Path | None = None) -> dict[str, bytes]:
    """What a course of these lessons hands out, by the files' names: its lessons, and the page of words."""
    found = {file.name: file.read_bytes() for file in sorted((source or learner_folder()).glob("*.ipynb"))}
    if course.is_whole(lessons):
        return found
    read = {name: json.loads(content) for name, content in found.items()}
    titles = {name[:2]: (name, _title(one)) for name, one in read.items() if name[:2].isdigit()}
    its_own = {name: one for name, one in read.items() if name[:2] not in titles or name[:2] in lessons}
    return {name: _shorter(one, lessons, titles) for name, one in its_own.items()}


def _title(notebook: dict[str, Any]) -> str:
    """A lesson's title, such as ``05 Waiting for the GPU``."""
    first = "".join(notebook["cells"][0]["source"]).partition("\n")[0]
    return first.removeprefix("# ").replace(" · ", " ")


def _shorter(notebook: dict[str, Any], lessons: Sequence[str], titles: dict[str, tuple[str, str]]) -> bytes:
    """A copy for a course of these lessons, as it's stored."""
    course.without_others(notebook, lessons, titles)
    about = notebook["metadata"]["fluxlite"]
    notebook["metadata"]["fluxlite"] = {**about, HASH: fingerprint(notebook), WHOLE: about[HASH]}
    return f"{json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True)}\n".encode()


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
    if theirs.get(WHOLE, theirs.get(HASH)) == newest.get(WHOLE, newest[HASH]):  # they have this version, edited or not
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
    """Whether no cell of a copy ever ran, and yet it shows something else than a fresh one.

    So do copies of 0.3.0: their questions are HTML, which Jupyter doesn't trust until all of them ran. And so do those
    of a course that has got other lessons since.
    """
    theirs, ours = (json.loads(it)["cells"] for it in (copy, fresh))
    has_run = any(cell.get("execution_count") is not None for cell in theirs)
    return not has_run and list(map(_shown, theirs)) != list(map(_shown, ours))


def _shown(cell: dict[str, Any]) -> tuple[str, Any]:
    """What a page shows of a cell."""
    return "".join(cell["source"]), cell.get("outputs")


def renew(copy: Path, source: Path | None = None) -> Path | None:
    """Replace `copy` with a fresh copy. Returns the name under which the old content is kept, if there was any."""
    lessons = {*course.lessons_in(copy.parent), copy.name[:2]}  # also one that isn't in the course
    fresh = fresh_copies(sorted(lessons), source)[copy.name]
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
