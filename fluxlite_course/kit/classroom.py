"""Handing in work and viewing a class's results: one zip file per learner, no server.

``fluxlite handin NAME`` packs a learner's notebooks and progress. ``fluxlite class FOLDER`` shows a folder of these
files as a table, ``class FOLDER 03`` a lesson without names, for the wall, and ``--csv`` writes it for a spreadsheet.
"""

import csv
import datetime
import getpass
import io
import json
import os
import re
import textwrap
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import fluxlite
from fluxlite.messages import many
from fluxlite.writing import write_whole

from . import exercises, progress
from .boxes import plain
from .copies import FOLDER
from .guesses import Question, question, questions
from .handins import ABOUT, Handin, Remark, by_learner, collect, comparable

# At most this many characters: on the wall, for the last row of a room, per line, option and bar; on a teacher's
# screen of 120 columns per line of remarks and per name, with so many remarks.
WIDTH, OPTION, LONGEST = 96, 50, 30
SCREEN, NAME, NOTES = 100, 18, 20
SIGNS = {exercises.RIGHT: "+", exercises.NOT_RIGHT: "-", exercises.STOPPED: "-", "": "."}
# Where a page keeps the notebook for itself: how to get a file of the session, and how the notebook.
TO_GET = {
    "Colab": ("click the folder at the left, then the three dots beside", "File > Download > Download .ipynb"),
    "Kaggle": ("open Output at the right, then the three dots beside", "File > Download Notebook"),
}
TRIED = {"+": "right", "-": "tried", ".": ""}  # the signs in words


def handin(name: str = "", folder: Path | None = None) -> Path:
    """Pack the notebooks and the progress in `folder` into one zip file there; returns its path.

    `name` is by default the login name, `folder` is ``my-course`` if it exists, otherwise the current folder. Raises
    `ValueError` if nothing is there, or if the name has no letter.
    """
    folder = (Path(FOLDER) if Path(FOLDER).is_dir() else Path()) if folder is None else folder
    name = name.strip() or user()
    stem = re.sub(r"[^\w-]+", "-", name).strip("-")
    if not stem:
        raise ValueError(f"a name has letters in it, got {name!r}: python -m fluxlite handin Ada")
    files = [file for file in [*sorted(folder.glob("*.ipynb")), folder / progress.FILE] if file.is_file()]
    if not files:
        hint = " Guess or check something first." if progress.passing() else " Hand in where your lessons are."
        raise ValueError(f"there is no notebook and no {progress.FILE} in {folder.absolute()}.{hint}")
    target = folder / f"handin-{stem}.zip"
    now, packed = datetime.datetime.now().isoformat(), io.BytesIO()
    about = {"name": name, "version": fluxlite.__version__, "time": now, "place": progress.passing()}
    # A date before 1980, as on a computer without a clock, can't be in a zip file.
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
        archive.writestr(ABOUT, json.dumps(about))
        for file in files:
            archive.write(file, file.name)
    _write_here(target, packed.getbuffer())
    return target


def _write_here(file: Path, content: Any) -> None:
    """Write a file of ours. Raises `ValueError` if there's a link in its place, which leads to who knows what."""
    if file.is_symlink():
        raise ValueError(f"{file} is a link to another file, which would be overwritten: remove the link")
    write_whole(file, content)


def collected(file: Path) -> str:
    """Put a copy of a hand-in where the teacher collects them; what to say about it. Empty if no hub says where.

    FLUXLITE_HAND_INS names a folder for this learner alone, which is made. Only they, and the group that the folder
    above it hands down, may look into it.
    """
    if not (place := os.environ.get("FLUXLITE_HAND_INS")):
        return ""
    copy = Path(place, file.name)
    try:
        copy.parent.mkdir(mode=0o750, exist_ok=True)
        _write_here(copy, file.read_bytes())
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        return f"It could not be handed in to {place}: {why}. Give this file to your teacher: {file.absolute()}"
    return f"It's handed in: your teacher finds it in {copy.parent}. Your own copy: {file.absolute()}"


def what_to_say(file: Path, name: str, handed: str = "") -> list[str]:
    """What to say about a new hand-in: where it's `handed` in, what's in it, what isn't, and what's still to do."""
    with zipfile.ZipFile(file) as archive:
        packed = archive.namelist()
    more, place = [], progress.passing()
    if any(one.endswith(".ipynb") for one in packed):
        has = "your notebooks in it as they were last saved."
        if progress.FILE not in packed:
            more = ["No guess and no check is in it: none was kept in that folder yet."]
    elif place in TO_GET:
        file_menu, notebook_menu = TO_GET[place]
        has = "your guesses and checks of this session in it."
        elsewhere = f"Your notebook is not in it, since {place} keeps it elsewhere: {notebook_menu}, and hand in both."
        more = [f"To get it: {file_menu} {file.name}, Download.", elsewhere]
    else:
        has = "your guesses and checks in it, but no notebook: none is there."
    return [handed or f"Hand in this file: {file.absolute()}", f"It is signed {name}, and has {has}", *more]


def download(file: Path) -> bool:
    """On Colab, have the browser download `file`. False anywhere else, or if Colab can't: then the words say how."""
    if progress.passing() != "Colab":
        return False
    try:
        from google.colab import files  # type: ignore[import-not-found]

        files.download(str(file))
    except Exception:  # it's Colab's own code, and asks the browser
        return False
    return True


def user() -> str:
    """The login name. Raises `ValueError` if there is none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        raise ValueError("say who you are: python -m fluxlite handin Ada") from None


class Class:
    """A class: the contents of a folder's zip files, which prints as a table for the teacher, with names."""

    def __init__(self, handins: list[Handin], remarks: list[Remark]) -> None:
        self.handins, self.remarks = handins, remarks
        self.namesakes: dict[str, list[Handin]] = {}  # long names may only differ where they're cut
        for one in handins:
            self.namesakes.setdefault(comparable(_cut(one.name)), []).append(one)
        numbers = {id(one): f" #{k}" for same in self.namesakes.values() if same[1:] for k, one in enumerate(same, 1)}
        self.labels = {id(one): _cut(one.name, numbers.get(id(one), "")) for one in handins}

    def __repr__(self) -> str:
        return "\n\n".join([self._table() if self.handins else "nobody has handed in", *self.notes()])

    def notes(self) -> list[str]:
        """What to say about learners and files, as one block of lines. Maybe none."""
        said = [*self._of_learners(), *map(str, self.remarks[:NOTES])]
        if others := dict.fromkeys(remark.file for remark in self.remarks[NOTES:]):
            said.append(f"There are remarks on these, too: {', '.join(others)}")
        wrapped = (textwrap.wrap(line, SCREEN, subsequent_indent="  ", break_on_hyphens=False) for line in said)
        return ["\n".join(line for lines in wrapped for line in lines)] if said else []

    def _of_learners(self) -> Iterator[str]:
        """Whose guesses a later file answers differently, who shares a name, who handed in more than once."""
        for one in self.handins:
            if one.replaced:
                guessed = f"{self.labels[id(one)]} guessed {', '.join(one.replaced)}"
                yield f"{guessed} differently in {_files(one)}; the last counts"
        for same in self.namesakes.values():
            if same[1:]:
                files = "; ".join(f"{self.labels[id(one)]} is {_files(one)}" for one in same)
                # The name isn't repeated there: it's text from elsewhere, and a shell would run what is in it.
                asked = "Is it one learner? Add --one-learner and the name."
                yield f"{len(same)} learners with the same name, each counted: {files}. {asked}"
        by_name = "handed in from Colab, Kaggle or Binder, where the name alone tells who it is"
        for why, passing in ("handed in more than once", False), (by_name, True):
            several = [one for one in self.handins if len(one.files) > 1 and bool(one.place) is passing]
            if several:
                names = ", ".join(f"{self.labels[id(one)]} ({len(set(one.files))} files)" for one in several)
                yield f"{why}; taken together: {names}"

    def _table(self) -> str:
        """One row per learner, with lessons side by side: a sign for each exercise. The last row counts those right."""
        begun = {id for one in self.handins for id in (*one.checks, *one.guesses)}
        shown = {number: ids for number, ids in _lessons().items() if begun & {*ids[0], *ids[1]}}
        widths = [max(len(checks), len(asks), 2) + 1 for checks, asks in shown.values()]
        rows: list[tuple[str, list[str], str]] = [("", list(shown), "all")]
        for one in self.handins:
            signs = ["".join(SIGNS[one.checks.get(check, "")] for check in checks) for checks, _ in shown.values()]
            rows.append((self.labels[id(one)], signs, str(list(one.checks.values()).count(exercises.RIGHT))))
        rights = [[self._right(id) for id in checks] for checks, _ in shown.values()]
        hits = [[self._guessed(id)[question(id).right] for id in asks] for _, asks in shown.values()]
        rows += [("", [], ""), *_below_each_other("right: .1 .2 …", rights)]
        rows += _below_each_other("guessed: A B …", hits)
        indent = max(_wide(label) for label, _, _ in rows) + 2
        lines = [f"{many(len(self.handins), 'learner')}   + right, - tried, . not yet   counts: 2 above 1 is 21", ""]
        for label, cells, total in rows:
            padded = "".join(f"{cell:<{width}}" for cell, width in zip(cells, widths))
            lines.append(f"{label}{' ' * (indent - _wide(label))}{padded}{total:>3}".rstrip())
        return "\n".join(lines)

    def _right(self, id: str) -> int:
        return sum(one.checks.get(id) == exercises.RIGHT for one in self.handins)

    def _guessed(self, id: str) -> Counter[str]:
        return Counter(one.guesses[id] for one in self.handins if id in one.guesses)

    def csv(self) -> str:
        """One row per learner: name, number right, files, a word for each exercise, a letter for each guess."""
        checks, guesses = ([id for ids in _lessons().values() for id in ids[part]] for part in (0, 1))
        page = io.StringIO(newline="")
        table = csv.writer(page)
        table.writerow(["learner", "right", "files", *checks, *guesses])
        for one in self.handins:
            words = [TRIED[SIGNS[one.checks.get(id, "")]] for id in checks]
            name, files = map(_no_formula, (one.name, ", ".join(one.files)))
            table.writerow([name, words.count("right"), files, *words, *(one.guesses.get(g) for g in guesses)])
        return page.getvalue()

    def write_csv(self, file: Path) -> None:
        """Write `csv` into a file so that spreadsheets read its letters. Raises `ValueError` for another file type."""
        if file.suffix.lower() != ".csv":
            raise ValueError(f"{file} has another ending than .csv: fluxlite class FOLDER --csv class.csv")
        _write_here(file, self.csv().encode("utf-8-sig"))

    def on_the_wall(self, number: str) -> str:
        """A lesson's exercises, its questions, and the guesses. Raises `ValueError` for an unknown lesson."""
        lines = [f"lesson {number}   {many(len(self.handins), 'learner')}", ""]
        for id, exercise in exercises.exercises(number).items():
            right = self._right(id)
            tried = sum(id in one.checks for one in self.handins) - right
            lines.append(f"{id}  {exercise.title:<44}{right:3} right {tried:3} tried")
        for id, asks in questions(number).items():
            if counts := self._guessed(id):
                lines += ["", *_histogram(id, asks, counts)]
        return "\n".join(lines)


def _lessons() -> dict[str, tuple[list[str], list[str]]]:
    """Each lesson's exercises, and its questions."""
    return {number: (list(exercises.exercises(number)), list(questions(number))) for number in exercises.folders()}


def _files(one: Handin) -> str:
    """A learner's files, at most six of them."""
    files = list(dict.fromkeys(one.files))
    return ", ".join(files[:6]) + (f" and {len(files) - 6} more" if len(files) > 6 else "")


def _below_each_other(label: str, counts: list[list[int]]) -> list[tuple[str, list[str], str]]:
    """Numbers in columns one character wide: the tens above the ones."""
    height = len(str(max((count for of_lesson in counts for count in of_lesson), default=0)))
    digits = [[f"{count:{height}}" for count in of_lesson] for of_lesson in counts]
    return [(label * (row == 0), ["".join(n[row] for n in each) for each in digits], "") for row in range(height)]


def _wide(text: str) -> int:
    """How many terminal columns a text takes: an ideograph takes two, a combining accent none."""
    kinds = ((unicodedata.category(letter), unicodedata.east_asian_width(letter)) for letter in text)
    return sum(0 if kind in ("Mn", "Me") else 1 + (width in "WF") for kind, width in kinds)


def _cut(name: str, end: str = "") -> str:
    """A name with its ending, cut to NAME columns."""
    while _wide(name + end) > NAME:
        name = name.removesuffix("…")[:-1] + "…"
    return name + end


def _no_formula(text: str) -> str:
    """A text that a spreadsheet reads as text, even if it starts like a formula."""
    return f"'{text}" if text.startswith(tuple("=+-@＝＋－＠")) else text


def _histogram(id: str, question: Question, counts: Counter[str]) -> list[str]:
    """A question, and a bar for each option. An option's text takes as many lines as it needs."""
    lines = textwrap.wrap(f"{id}  {plain(question.words)}", WIDTH, subsequent_indent=" " * 6)
    scale = min(1, LONGEST / max(counts.values()))
    for letter, option in question.options.items():
        first, *more = textwrap.wrap(plain(option), OPTION)
        mark, bar = "right" if letter == question.right else "", "#" * round(counts[letter] * scale)
        lines.append(f"  {letter} {mark:<6}{first:<{OPTION}}{counts[letter]:5} {bar}".rstrip())
        lines += [" " * 10 + line for line in more]
    return lines


def look_at_class(folder: Path, one_learner: Collection[str] = ()) -> Class:
    """What the zip files in `folder` and below hold. All files signed with a name in `one_learner` are one learner's.

    Raises `ValueError` if there's no such folder, or no hand-in with such a name.
    """
    if not folder.is_dir():
        raise ValueError(f"{folder} is no folder; name the one with the files that were handed in")
    found, remarks = collect(folder)
    return Class(by_learner(found, one_learner), remarks)
