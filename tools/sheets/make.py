"""Sheets to print for a class: an exercise or a lesson's questions on one page of A4 each, with letters to vote with.

    python tools/sheets/make.py [--folder build/sheets] [01.1 06 09.1 11.1 14.1]

An exercise, such as 09.1, comes with the question before it in its lesson. A number alone, such as 06, stands for
all questions of a lesson. The words are those of the learners' copies and of the lessons' questions. Each sheet is a
page of HTML, which any browser prints; where Chromium or Chrome is installed, it's a PDF, too.
"""

from __future__ import annotations

import argparse
import functools
import html
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from nbconvert.filters import markdown2html

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT))

from fluxlite_course.kit.boxes import marked  # noqa: E402
from fluxlite_course.kit.exercises import find, folders, in_lesson, number_in  # noqa: E402
from fluxlite_course.kit.guesses import Question, question, questions  # noqa: E402
from tools import notebooks  # noqa: E402

SHEETS = ("01.1", "06", "09.1", "11.1", "14.1")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
LETTERS = "abcd"
BLANK, LONG_BLANK = 12 * "_", 40 * "_"  # where something else is on the line, too, or nothing
DOTS = re.compile(r"(?<=[=,] )\.\.\.")
NOT_ON_PAPER = re.compile(r"^Check as often as you like.*$\n?", re.MULTILINE)


def check(id: str) -> None:
    """Raises `ValueError` for a sheet of an exercise or a lesson that there isn't."""
    if "." in id:
        find(id, "exercise", in_lesson(number_in(id)))
    elif id not in folders():
        raise ValueError(f"there's no sheet {id!r}: name an exercise, such as 09.1, or a lesson, such as 06")


@functools.cache
def copy_of(number: str) -> dict[str, Any]:
    """The learner's copy of a lesson."""
    (path,) = (notebooks.NOTEBOOKS / "learner").glob(f"{number}-*.ipynb")
    return notebooks.read(path)


def title(number: str) -> str:
    """A lesson's title, such as ``06 · CPU against GPU``."""
    return copy_of(number)["cells"][0]["source"].partition("\n")[0].removeprefix("# ")


def exercise(id: str) -> tuple[str, list[str]]:
    """An exercise as HTML, and the ids of the questions that come before it in its lesson."""
    cells = copy_of(number_in(id))["cells"]
    heading = f"### Exercise {id} "
    begin = next(at for at, cell in enumerate(cells) if heading in cell["source"])
    before = [name for cell in cells[:begin] for name in notebooks.GUESS.findall(cell["source"])]
    first = cells[begin]["source"].partition(heading)[2]
    parts = [_asked(f"## {id} {first}")]
    for cell in cells[begin + 1 :]:
        if notebooks.CHECK.search(cell["source"]):
            break
        if cell["cell_type"] == "code":
            parts.append(f'<pre class="answer">{_with_blanks(cell["source"])}</pre>')
        elif not cell["source"].startswith("<details>"):
            parts.append(_asked(cell["source"]))
    return "\n".join(parts), before


def _asked(source: str) -> str:
    """An exercise's words as HTML."""
    return markdown2html(NOT_ON_PAPER.sub("", source))


def _with_blanks(code: str) -> str:
    """A starter's code, with lines to write on in place of the dots."""
    lines = [line for line in code.split("\n") if not line.startswith(notebooks.STUB)]
    return html.escape("\n".join(map(_with_blank, lines)).strip(), quote=False)


def _with_blank(line: str) -> str:
    """A line of code, with room to write in place of its dots.

    >>> _with_blank("back, back_bytes = ..., ...")
    'back, back_bytes = ____________, ____________'
    """
    if line.lstrip() == notebooks.STUB:
        return line.replace(notebooks.STUB, LONG_BLANK)
    if len(DOTS.findall(line)) == 1 and "#" not in line:
        return DOTS.sub(LONG_BLANK, line)
    return DOTS.sub(BLANK, line)


def vote(id: str, asks: Question) -> str:
    """A question with its options, as HTML, without the answer."""
    options = "".join(f"<li><b>{letter}</b> {marked(text)}</li>" for letter, text in asks.options.items())
    return f'<section><p><b class="id">{id}</b> {marked(asks.words)}</p><ul>{options}</ul></section>'


def sheet(id: str) -> str:
    """A sheet as a page of HTML. Raises `ValueError` for one that there isn't."""
    check(id)
    number = id[:2]
    if "." in id:
        asked, before = exercise(id)
        voted = before[-1:]
    else:
        asked, voted = "", list(questions(number))
    letters = "".join(f"<b>{letter}</b>" for letter in LETTERS)
    page = (HERE / "sheet.html").read_text(encoding="utf-8")
    words = {
        "title": html.escape(title(number)),
        "id": id,
        "asked": asked,
        "votes": "\n".join(vote(one, question(one)) for one in voted),
        "letters": letters,
    }
    for word, value in words.items():
        page = page.replace(f"@{word}@", value)
    return page


def browser() -> str | None:
    """A browser that prints into a file."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def to_pdf(program: str, page: Path) -> Path:
    """Print a page into a PDF beside it. Raises `RuntimeError` if the browser makes none."""
    made = page.with_suffix(".pdf")
    made.unlink(missing_ok=True)
    as_root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    command = [program, "--headless", "--disable-gpu", *as_root, "--no-pdf-header-footer", f"--print-to-pdf={made}"]
    done = subprocess.run([*command, page.absolute().as_uri()], capture_output=True, text=True)
    if not made.exists():
        raise RuntimeError(f"{program} printed no {made}: {done.stderr.strip()[-300:]}")
    return made


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Make sheets to print for a class.", allow_abbrev=False)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "sheets", help="where they go")
    some = f"an exercise, such as 09.1, or a lesson, such as 06; {' '.join(SHEETS)} if there are none"
    parser.add_argument("sheets", nargs="*", metavar="SHEET", help=some)
    asked = parser.parse_args(arguments)
    try:
        made = {id: sheet(id) for id in asked.sheets or SHEETS}
    except ValueError as error:
        parser.error(str(error))
    asked.folder.mkdir(parents=True, exist_ok=True)
    program = browser()
    for id, page in made.items():
        path = asked.folder / f"{id.replace('.', '-')}.html"
        path.write_text(page, encoding="utf-8")
        print(path if program is None else to_pdf(program, path))
    if program is None:
        print("No Chromium or Chrome is here, so there's no PDF. Open these pages in your browser, and print them.")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except RuntimeError as error:
        sys.exit(str(error))
