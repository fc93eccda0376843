"""Handing in work and viewing a class's results: one zip file per learner, no server.

``fluxlite handin NAME`` packs a learner's notebooks and progress. ``fluxlite class FOLDER`` shows a folder of these
files as a table, and ``class FOLDER 03`` one lesson without names, for the wall. ``--csv`` is for a spreadsheet.
"""

import csv
import datetime
import io
import itertools
import json
import os
import re
import textwrap
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import fluxlite
from fluxlite.words import many
from fluxlite.writing import write_whole

from . import course, exercises, progress
from .boxes import plain
from .copies import FOLDER
from .guesses import Question, questions
from .handins import ABOUT, OF_HANDIN, Handin, by_learner, collect

WIDTH, OPTION, LONGEST = 96, 60, 20  # characters of a line, an option and a bar on the wall, for a room's last row
LONGEST_STEM = 50  # letters of a name in a file's name, which has room for 255 bytes
NAME, NOTES = 18, 20  # characters of a name on the teacher's screen, and the most remarks unless all are asked for
SIGNS = {exercises.RIGHT: "+", exercises.NOT_RIGHT: "-", exercises.STOPPED: "-", "": "."}
TRIED = {"+": "right", "-": "tried", ".": ""}  # the signs in words


def handin(name: str, folder: Path | None = None) -> Path:
    """Pack the notebooks and the progress in `folder` into one zip file there; returns its path.

    `folder` is by default ``my-course`` if it exists, otherwise the current folder. Raises `ValueError` if nothing is
    there, or if the name has no letter.
    """
    if folder is None:
        folder = Path(FOLDER) if Path(FOLDER).is_dir() else Path()
    stem = re.sub(r"[^\w-]+", "-", name).strip("-")
    if not stem:
        raise ValueError(f"a name has letters in it, got {name!r}: python -m fluxlite handin Ada")
    files = [file for file in [*sorted(folder.glob("*.ipynb")), folder / progress.FILE] if file.is_file()]
    if not files:
        hint = " Guess or check something first." if progress.passing() else " Hand in from your lessons' folder."
        raise ValueError(f"there is no notebook and no {progress.FILE} in {folder.absolute()}.{hint}")
    target = folder / f"{OF_HANDIN}{stem[:LONGEST_STEM]}.zip"
    now, packed = datetime.datetime.now().isoformat(), io.BytesIO()
    about: dict[str, Any] = {"name": name, "version": fluxlite.__version__, "time": now, "place": progress.passing()}
    lessons = course.lessons_in(folder)
    if not course.is_whole(lessons):
        about["lessons"] = lessons
    # A date before 1980, as on a computer without a clock, can't be in a zip file.
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
        archive.writestr(ABOUT, json.dumps(about))
        for file in files:
            archive.write(file, file.name)
    _write_here(target, packed.getbuffer())
    return target


def _write_here(file: Path, content: Any) -> None:
    """Write a file of ours. Raises `ValueError` if there's a link in its place, which could lead anywhere."""
    if file.is_symlink():
        raise ValueError(f"{file} is a link to another file, which would be overwritten: remove the link")
    write_whole(file, content)


def hand_over(file: Path) -> str:
    """Put a copy of a hand-in where the teacher collects them. Returns what to say about it, empty without a hub.

    FLUXLITE_HAND_INS names a folder for this learner alone, which we make. Only they, and the group of the folder above
    it, may look into it.
    """
    if not (place := os.environ.get("FLUXLITE_HAND_INS")):
        return ""
    copy = Path(place, file.name)
    try:
        copy.parent.mkdir(mode=0o750, exist_ok=True)
        _write_here(copy, file.read_bytes())
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        return f"It couldn't be handed in to {place}: {why}. Give this file to your teacher: {file.absolute()}"
    return f"It's handed in: your teacher finds it in {copy.parent}. Your own copy: {file.absolute()}"


def what_to_say(file: Path, name: str) -> list[str]:
    """What to say about a new hand-in: what's in it, what isn't, and what's left to do."""
    with zipfile.ZipFile(file) as archive:
        packed = archive.namelist()
    notebooks, kept = any(one.endswith(".ipynb") for one in packed), progress.FILE in packed
    parts = {"your notebooks as they were last saved": notebooks, "your guesses and checks": kept}
    lines = [f"It's signed {name}, and contains: {', '.join(part for part, there in parts.items() if there)}."]
    if not notebooks and (place := progress.passing()):  # Colab and Kaggle keep the notebook for themselves
        lines += [f"Download it from the page's list of files. {place} keeps your notebook: download it, too."]
    elif missing := [part for part, there in parts.items() if not there]:
        lines += [f"Not in it: {', '.join(missing)}. That folder has none."]
    return lines


class Class:
    """A class: what's in a folder's zip files. It prints as a table for the teacher, with names."""

    def __init__(self, handins: list[Handin], remarks: list[str]) -> None:
        self.handins, self.remarks = handins, remarks
        names = [one.name for one in handins]
        number = {name: itertools.count(1) for name in names}
        # Learners with the same name each get a number, in the table and below it.
        self.rows = [f"{name[: NAME - 3]} #{next(number[name])}" if names.count(name) > 1 else name for name in names]

    def __repr__(self) -> str:
        return self.shown()

    def shown(self, all_notes: bool = False) -> str:
        """The table, and below it the `notes`."""
        return "\n".join([self._table() if self.handins else "nobody has handed in", *self.notes(all_notes)])

    def notes(self, all_notes: bool = False) -> list[str]:
        """What to say about files, and about learners with the same name: nothing, or lines below a blank one."""
        shown = zip(self.rows, self.handins)
        same = [f"{row}: this one handed in {', '.join(one.files)}" for row, one in shown if row != one.name]
        said = [*self.remarks, *same]
        if not said:
            return []
        if all_notes or len(said) <= NOTES:
            return ["", *said]
        return ["", *said[:NOTES], f"… and {len(said) - NOTES:,} more such lines: --all shows them"]

    def _table(self) -> str:
        """A row per learner, with a sign for each exercise. Below: the share that's right of what anyone has tried."""
        begun = {id[:2] for one in self.handins for id in (*one.checks, *one.guesses)}
        lessons = {number: list(exercises.in_lesson(number)) for number in exercises.folders() if number in begun}
        rows: list[tuple[str, list[str], str]] = [("", list(lessons), "all")]
        for row, one in zip(self.rows, self.handins):
            signs = ["".join(SIGNS[one.checks.get(id, "")] for id in ids) for ids in lessons.values()]
            rows.append((row[:NAME], signs, str(list(one.checks.values()).count(exercises.RIGHT))))
        tried = [[id for id in ids if any(id in one.checks for one in self.handins)] for ids in lessons.values()]
        rows.append(("right", [self._share(ids) for ids in tried], ""))
        widths = [max(len(cells[k]) for _, cells, _ in rows) + 2 for k in range(len(lessons))]
        lines = [f"{many(len(self.handins), 'learner')}   + right, - tried, . not yet", ""]
        for label, cells, total in rows:
            padded = "".join(f"{cell:<{width}}" for cell, width in zip(cells, widths))
            lines.append(f"{label:<{NAME + 2}}{padded}{total:>3}".rstrip())
        return "\n".join(lines)

    def _share(self, tried: list[str]) -> str:
        """How much of these exercises is right, in the whole class. A dash if nobody tried any."""
        if not tried:
            return "–"
        return f"{sum(map(self._right, tried)) / (len(tried) * len(self.handins)):.0%}"

    def _right(self, id: str) -> int:
        return sum(one.checks.get(id) == exercises.RIGHT for one in self.handins)

    def _lessons(self) -> list[str]:
        """The lessons of the class's course: those that a learner's course has, or in which one has done something."""
        known = list(exercises.folders())
        found = {id[:2] for one in self.handins for id in (*one.checks, *one.guesses)}
        for one in self.handins:
            found.update(one.lessons or known)
        return [number for number in known if number in found] or known

    def write_csv(self, file: Path) -> None:
        """Write a table for a spreadsheet, a row per learner. Raises `ValueError` for a file that isn't .csv."""
        if file.suffix.lower() != ".csv":
            raise ValueError(f"{file} doesn't end in .csv: fluxlite class FOLDER --csv class.csv")
        checks = [id for number in self._lessons() for id in exercises.in_lesson(number)]
        guesses = [id for number in self._lessons() for id in questions(number)]
        page = io.StringIO(newline="")
        table = csv.writer(page)
        table.writerow(["learner", "right", "files", *checks, *guesses])
        for one in self.handins:
            words = [TRIED[SIGNS[one.checks.get(id, "")]] for id in checks]
            name, files = map(_as_text, (one.name, ", ".join(one.files)))
            table.writerow([name, words.count("right"), files, *words, *(one.guesses.get(id) for id in guesses)])
        _write_here(file, page.getvalue().encode("utf-8-sig"))  # so that Excel reads its letters

    def on_the_wall(self, number: str) -> str:
        """A lesson's exercises, questions and guesses. Raises `ValueError` for an unknown lesson."""
        lines = [f"lesson {number}   {many(len(self.handins), 'learner')}", ""]
        for id, exercise in exercises.in_lesson(number).items():
            right = self._right(id)
            tried = sum(id in one.checks for one in self.handins) - right
            lines.append(f"{id}  {exercise.title:<44}{right:3} right {tried:3} tried")
        for id, asks in questions(number).items():
            counts = Counter(one.guesses[id] for one in self.handins if id in one.guesses)
            if counts:
                lines += ["", *_histogram(id, asks, counts)]
        return "\n".join(lines)


def _as_text(text: str) -> str:
    """A text that a spreadsheet reads as text, even if it starts like a formula."""
    return f"'{text}" if text.startswith(tuple("=+-@＝＋－＠")) else text


def _histogram(id: str, question: Question, counts: Counter[str]) -> list[str]:
    lines = textwrap.wrap(f"{id}  {plain(question.words)}", WIDTH, subsequent_indent=" " * 6)
    scale = min(1, LONGEST / max(counts.values()))
    for letter, option in question.options.items():
        text = textwrap.shorten(plain(option), OPTION, placeholder=" …")
        mark, bar = "right" if letter in question.right else "", "#" * round(counts[letter] * scale)
        lines.append(f"  {letter} {mark:<6}{text:<{OPTION}}{counts[letter]:5} {bar}".rstrip())
    return lines


def look_at_class(folder: Path) -> Class:
    """What the zip files in `folder` and below hold. Raises `ValueError` if there's no such folder."""
    if not folder.is_dir():
        raise ValueError(f"{folder} isn't a folder; name the one with the files that were handed in")
    found, remarks = collect(folder)
    return Class(by_learner(found), remarks)
