"""What is made from the lessons: their outputs, the learners' copies, and the list of the guide's examples.

    python tools/notebooks.py run [NN ...]   run lessons from top to bottom and store their outputs
    python tools/notebooks.py run NN --cell BEGINNING   the same, and store only those of cells that begin so
    python tools/notebooks.py exercises      make notebooks/learner/, EXAMPLES.md, the links in README and two more
    python tools/notebooks.py nbgrader DIR   make an nbgrader course of the lessons in a new folder

A lesson, notebooks/NN-name.ipynb, is solved: ### BEGIN SOLUTION … ### END SOLUTION. A learner's copy has no outputs
but the questions, as plain text, todo() in place of each solution, and each solution folded away below its check. Where
pyproject.toml names a repository (tools/links.py), it has what it needs to be opened alone: a cell that installs
fluxlite where that's missing, and links to Colab, Kaggle and Binder.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import fluxlite  # noqa: E402
from fluxlite_course.kit.copies import HASH, LESSON, VERSION, fingerprint  # noqa: E402
from fluxlite_course.kit.guesses import as_words, question  # noqa: E402
from tools.links import FIRST, PLACE, Place, in_browser, on_binder, on_colab, on_hub, on_kaggle  # noqa: E402

NOTEBOOKS = ROOT / "notebooks"
WORDS = "words.ipynb"  # a page for reading: the lessons link to it
SOLUTION = re.compile(r"^( *)### BEGIN SOLUTION\n(.*?)^ *### END SOLUTION\n?", re.MULTILINE | re.DOTALL)
GUESS = re.compile(r"""^guess\("(\d\d-[A-Z])"\)""", re.MULTILINE)
PUZZLE = re.compile(r"^%%puzzle (\d\d-\d)")
CHECK = re.compile(r"""^check\("(\d\d\.\d+)\"""", re.MULTILINE)
WIDGET = "application/vnd.jupyter.widget-view+json"
STUB = "todo()  # your line or lines here"
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


def lessons(numbers: list[str] | None = None) -> list[Path]:
    """The lessons' files, all of them or those of these numbers."""
    return [path for path in sorted(NOTEBOOKS.glob("[0-9]*.ipynb")) if not numbers or path.name[:2] in numbers]


def read(path: Path) -> dict[str, Any]:
    """A notebook; the source of each cell is one text."""
    return nbformat.read(path, as_version=4)


def text(notebook: dict[str, Any]) -> str:
    """A notebook as it is stored: the same bytes for the same content."""
    return nbformat.writes(nbformat.from_dict(notebook)) + "\n"


# -- a learner's copy -----------------------------------------------------------------------------------------------


def for_learners(lesson: dict[str, Any], name: str, place: Place | None = PLACE) -> dict[str, Any]:
    """The copy that a learner gets of a solved lesson; `name` is its file's, and begins with its number."""
    number = name[:2]
    cells: list[dict[str, Any]] = []
    waiting: list[str] = []  # solutions whose check is still to come
    for at, cell in enumerate(lesson["cells"]):
        if cell["cell_type"] != "code":
            cells.append(cell)
            continue
        code = cell["source"]
        if is_alone(lesson["cells"], at):
            solutions = [solution(match) for match in SOLUTION.finditer(code)]
            program = SOLUTION.sub("", code).rstrip("\n")
            cells.append({**cell, "source": program, "outputs": [], "execution_count": None})
            cells.append(folded(cell["id"], solutions))
            continue
        waiting += [solution(match) for match in SOLUTION.finditer(code)]
        cells.append({**cell, "source": starter(code), "outputs": questions_in(code), "execution_count": None})
        if waiting and CHECK.search(code):
            cells.append(folded(cell["id"], waiting))
            waiting = []
    if waiting:
        raise ValueError(f"lesson {number} has a solution without a check after it:\n{waiting[0]}")
    return handed_out({**lesson, "cells": with_ways_in(cells, name, place)}, number)


def questions_in(code: str) -> list[dict[str, Any]]:
    """What a copy shows below a cell that hasn't run: its questions, as text that was printed.

    It can't be HTML, nor any other kind than printed text. Until every cell with such an output has run, Jupyter
    trusts no cell of the notebook, so the films of those that did run would come back as still images.
    """
    ids = GUESS.findall(code)
    if not ids:
        return []
    hint = "Run this cell to guess."
    words = "\n".join(as_words(id, question(id), hint) for id in ids)
    return [{"output_type": "stream", "name": "stdout", "text": f"{words}\n"}]


def handed_out(made: dict[str, Any], number: str) -> dict[str, Any]:
    """A learner's notebook that says what it was when it was handed out."""
    about = {LESSON: number, VERSION: fluxlite.__version__, HASH: fingerprint(made)}
    return {**made, "metadata": {**made["metadata"], "fluxlite": about}}


def starter(code: str) -> str:
    """A cell's code before a learner has worked on it."""
    return SOLUTION.sub(lambda match: f"{match[1]}{STUB}\n", code).rstrip("\n")


def is_alone(cells: list[dict[str, Any]], place: int) -> bool:
    """Whether the cell at this place is a puzzle that no check follows: its program runs as it stands."""
    after = (cell["source"] for cell in cells[place + 1 :] if cell["cell_type"] == "code")
    return bool(PUZZLE.search(cells[place]["source"])) and not CHECK.search(next(after, ""))


def solution(match: re.Match[str]) -> str:
    """The lines of a solution, without the indentation that all of them share with their markers."""
    return re.sub(f"^{match[1]}", "", match[2], flags=re.MULTILINE).rstrip("\n")


def folded(id: str, solutions: list[str]) -> dict[str, Any]:
    """A cell with a solution that has to be unfolded to be seen."""
    blocks = "\n\n".join(f"```python\n{one}\n```" for one in solutions)
    page = f"<details><summary>One solution</summary>\n\n{blocks}\n\n</details>"
    return {"cell_type": "markdown", "id": f"{id}-solution", "metadata": {}, "source": page}


def learners(place: Place | None = PLACE) -> dict[Path, str]:
    """Every learner's notebook, and its text."""
    folder = NOTEBOOKS / "learner"
    made = {folder / path.name: text(for_learners(read(path), path.name, place)) for path in lessons()}
    words = read(NOTEBOOKS / WORDS)
    words = {**words, "cells": [*words["cells"], *twins(words["cells"], place)]}
    return made | {folder / WORDS: text(handed_out(words, "words"))}


# -- ways in: Colab, Kaggle and Binder ------------------------------------------------------------------------------

PAGE = re.compile(r"\]\(([\w-]+\.ipynb)(?:#[^)]*)?\)")
BLOCK = re.compile(r"(<!-- launch links: .*? -->\n).*?(<!-- end of launch links -->\n)", re.DOTALL)
# Their lines are short, so that none is cut off in a narrow window.
INSTALL = """# Where fluxlite is missing, as on Colab or Kaggle, this installs it.
# Anywhere else it does nothing.
try:
    import fluxlite
except ModuleNotFoundError:
    %pip install --quiet "ARCHIVE" anywidget
    try:
        import fluxlite
    except ModuleNotFoundError:
        raise SystemExit(
            "fluxlite could not be installed; the lines above say why. "
            "Is there a network? On Kaggle switch it on, at the right: "
            "Session options, Internet. Then run this cell again."
        ) from None"""


def with_ways_in(cells: list[dict[str, Any]], name: str, place: Place | None) -> list[dict[str, Any]]:
    """A learner's cells with what a notebook needs that is opened alone. Links and downloads need a place."""
    if place is None:
        return cells
    install = {"cell_type": "code", "id": "install", "metadata": {}, "outputs": [], "execution_count": None,
               "source": INSTALL.replace("ARCHIVE", place.archive)}  # fmt: skip
    first = next(i for i, cell in enumerate(cells) if cell["cell_type"] == "code")
    here = (
        f"*Open this lesson [on Colab]({on_colab(name, place)}), [on Kaggle]({on_kaggle(name, place)}) or "
        f"[on Binder]({on_binder(name, place)}).*"
    )
    elsewhere = {"cell_type": "markdown", "id": "elsewhere", "metadata": {}, "source": here}
    return [*cells[:first], elsewhere, install, *cells[first:], *twins(cells, place)]


def twins(cells: list[dict[str, Any]], place: Place | None) -> list[dict[str, Any]]:
    """A cell for Colab and Kaggle, which open one file alone: there, links to other lessons would lead nowhere."""
    page = "\n".join(cell["source"] for cell in cells if cell["cell_type"] == "markdown")
    linked = list(dict.fromkeys(PAGE.findall(page)))
    if place is None or not linked:
        return []
    rows = [f"- {title(name)}: [Colab]({on_colab(name, place)}), [Kaggle]({on_kaggle(name, place)})" for name in linked]
    words = "On Colab and Kaggle the links to other lessons lead nowhere. These lead to the same ones there:"
    return [{"cell_type": "markdown", "id": "twins", "metadata": {}, "source": "\n".join([words, "", *rows])}]


def title(name: str) -> str:
    """A lesson's title, such as ``04 The sine-wave RNN``."""
    return read(NOTEBOOKS / name)["cells"][0]["source"].splitlines()[0].removeprefix("# ").replace(" · ", " ")


def pages(place: Place | None = PLACE) -> dict[Path, str]:
    """The pages with links to Colab and others, and for a JupyterHub, made again."""
    hub = f"\n```\n{on_hub(place)}\n```\n\n"
    links = {
        "README.md": try_it(in_browser(FIRST)) + (in_the_browser(place) if place else ""),
        "notebooks/TEACHING.md": hub,
        "docs/hub/README.md": hub,
    }
    return {ROOT / name: with_links(name, (ROOT / name).read_text("utf-8"), text) for name, text in links.items()}


def try_it(address: str) -> str:
    """README.md's way in where Python runs in the browser; empty where there's no `address`."""
    if not address:
        return ""
    return f"**[Try it in your browser]({address})**: Python runs there too, and nothing gets installed.\n\n"


def in_the_browser(place: Place) -> str:
    """README.md's list of ways in."""
    colab = f"[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]({on_colab(FIRST, place)})"
    kaggle = f"[![Open in Kaggle](https://kaggle.com/static/images/open-in-kaggle.svg)]({on_kaggle(FIRST, place)})"
    binder = f"[![Open in Binder](https://mybinder.org/badge_logo.svg)]({on_binder(FIRST, place)})"
    return f"""In the browser, with nothing to install:

- {colab} a GPU if you are lucky; needs a Google account.
- {kaggle} the same; its notebooks reach the network once you've confirmed a phone number there.
- {binder} no account; after ten minutes without you it is gone, so download what you want to keep.
"""


def with_links(name: str, page: str, links: str) -> str:
    """A page with `links` in their place. Raises `ValueError` where that is missing."""
    made, places = BLOCK.subn(lambda match: f"{match[1]}{links}{match[2]}", page)
    if places != 1:
        raise ValueError(f"{name} needs the two lines <!-- launch links: … --> and <!-- end of launch links --> once")
    return made


# -- an nbgrader course ---------------------------------------------------------------------------------------------

NBGRADER_CONFIG = f"""c = get_config()
c.CourseDirectory.course_id = "fluxlite"
c.ClearSolutions.code_stub = {{"python": "{STUB}"}}
# Nobody's lesson waits longer for a cell.
c.ExecutePreprocessor.timeout = 120
"""


def nbgrader_course(folder: Path) -> list[str]:
    """Write an nbgrader course into `folder`, one assignment per lesson; the assignments' names.

    The lessons carry nbgrader's metadata already: cells with a solution, and locked checks of one point each.
    """
    (folder / "source").mkdir(parents=True)
    (folder / "nbgrader_config.py").write_text(NBGRADER_CONFIG, encoding="utf-8")
    names = []
    for path in lessons():
        lesson = read(path)
        if not any(CHECK.search(cell["source"]) for cell in lesson["cells"]):
            continue
        for cell in lesson["cells"]:
            if cell["cell_type"] == "code":  # the solutions stay: nbgrader takes them out itself
                cell.update(outputs=[], execution_count=None)
        names.append(f"lesson-{path.name[:2]}")
        (folder / "source" / names[-1]).mkdir()
        (folder / "source" / names[-1] / path.name).write_text(text(lesson), encoding="utf-8")
    return names


# -- the list of examples -------------------------------------------------------------------------------------------


EXAMPLES = """# The guide's examples

Every example of the Flux GPU guide, and the cell that shows it in Python. Made by `make exercises` from
`examples.csv` and the lessons.

"""


def examples() -> list[dict[str, str]]:
    """The guide's examples, from notebooks/examples.csv: id, document, shows, lesson."""
    with (NOTEBOOKS / "examples.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def headings(lesson: dict[str, Any]) -> dict[str, str]:
    """For each ``example:ID`` tag of a lesson the heading above its first cell."""
    found: dict[str, str] = {}
    heading = ""
    for cell in lesson["cells"]:
        if cell["cell_type"] == "markdown":
            above = re.findall(r"^#+ (.*)$", cell["source"], re.MULTILINE)
            heading = above[-1] if above else heading
        for tag in cell["metadata"].get("tags", []):
            if tag.startswith("example:"):
                found.setdefault(tag.removeprefix("example:"), heading)
    return found


def examples_page() -> str:
    """notebooks/EXAMPLES.md: where each example of the guide is shown."""
    places = {id: (path.name, heading) for path in lessons() for id, heading in headings(read(path)).items()}
    rows = ["| example | document | what it shows | where |", "|---|---|---|---|"]
    for example in examples():
        name, heading = places.get(example["id"], ("", ""))
        anchor = heading.replace(" ", "-").replace("`", "")
        link = f"[{name[:2]} {heading.split(' (')[0]}]({name}#{anchor})"
        where = link if name else f"lesson {example['lesson']}, to come"
        rows.append(f"| {example['id']} | {example['document']} | {example['shows']} | {where} |")
    return EXAMPLES + "\n".join([*rows, ""])


# -- outputs ----------------------------------------------------------------------------------------------------------


def run(path: Path, beginning: str = "") -> None:
    """Run a lesson as a learner who solves everything, and store what it prints.

    Only cells with this `beginning` get new outputs. Raises `ValueError` if there's none.
    """
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    stored = {cell.id: cell.get("outputs") for cell in notebook.cells if not cell.source.startswith(beginning)}
    if len(stored) == len(notebook.cells):
        raise ValueError(f"{path.name} has no cell that begins with {beginning}")
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {
            "FLUXLITE_PROGRESS": str(Path(folder, "progress.json")),
            "PYTHONPATH": str(ROOT),
            "TQDM_DISABLE": "1",  # a bar is there while a cell runs, and then gone
        }
        place = {"metadata": {"path": str(NOTEBOOKS)}}
        # What a cell prints is one output, however it arrived.
        client = NotebookClient(notebook, timeout=300, kernel_name="python3", resources=place, coalesce_streams=True)
        client.execute(env=environment)
    notebook.metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    for number, cell in enumerate(notebook.cells, 1):
        if stored.get(cell.id) is not None:
            cell.outputs = stored[cell.id]
        cell.id = f"cell-{number:02d}"
        cell.metadata = metadata(cell)
        # A widget ends with its kernel, and what a page shows in its place stays.
        for output in cell.get("outputs", ()):
            output.get("data", {}).pop(WIDGET, None)
    path.write_text(text(notebook), encoding="utf-8")


def metadata(cell: dict[str, Any]) -> dict[str, Any]:
    """What is kept of a cell's metadata; and what nbgrader wants to know of exercises and their checks."""
    kept = {"tags": cell["metadata"]["tags"]} if cell["metadata"].get("tags") else {}
    if cell["cell_type"] != "code":
        return kept
    checked, solved = CHECK.search(cell["source"]), SOLUTION.search(cell["source"])
    if not checked and not solved:
        return kept
    grade_id = f"check-{checked[1].replace('.', '-')}" if checked else f"exercise-{cell['id']}"
    about = {"grade": bool(checked), "grade_id": grade_id, "locked": bool(checked), "schema_version": 3,
             "solution": bool(solved), "task": False}  # fmt: skip
    return {**kept, "nbgrader": {**about, "points": 1} if checked else about}


def asked(arguments: list[str]) -> argparse.Namespace:
    """The command line's words, understood. Ends the program where they aren't."""
    parser = argparse.ArgumentParser(description="Make what is made from the lessons.", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    running = commands.add_parser("run", help="run lessons from top to bottom and store their outputs")
    running.add_argument("numbers", nargs="*", metavar="NN", help="which lessons; all if there are none")
    running.add_argument("--cell", default="", metavar="BEGINNING", help="store only what cells show that begin so")
    commands.add_parser("exercises", help="make the learners' copies, EXAMPLES.md and the links")
    assignments = commands.add_parser("nbgrader", help="make an nbgrader course of the lessons")
    assignments.add_argument("folder", type=Path, help="a new folder")
    found = parser.parse_args(arguments)
    check_numbers(running, getattr(found, "numbers", []))
    return found


def check_numbers(parser: argparse.ArgumentParser, numbers: list[str]) -> None:
    """End the program if one of these isn't a lesson's number."""
    known = [path.name[:2] for path in lessons()]
    unknown = sorted(set(numbers) - set(known))
    if unknown:
        parser.error(f"there's no lesson {', '.join(unknown)}; there are {', '.join(known)}")


def main(arguments: list[str]) -> int:
    given = asked(arguments)
    if given.command == "run":
        for path in lessons(given.numbers):
            print(f"running {path.name}", flush=True)
            run(path, given.cell)
    elif given.command == "exercises":
        copies = learners()
        made = {**copies, **pages(), NOTEBOOKS / "EXAMPLES.md": examples_page()}
        (NOTEBOOKS / "learner").mkdir(exist_ok=True)
        for old in set((NOTEBOOKS / "learner").glob("*.ipynb")) - set(made):
            old.unlink()
        for path, content in made.items():
            path.write_text(content, encoding="utf-8")
        print(f"made {len(copies)} learners' notebooks, EXAMPLES.md, the links in three pages")
    else:
        folder = given.folder
        if folder.exists():
            print(f"{folder} is there already. Name a folder to be made, so that nothing in it is lost.")
            return 1
        names = nbgrader_course(folder)
        print(f"made {folder} with {len(names)} assignments. Go on there: nbgrader generate_assignment {names[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
