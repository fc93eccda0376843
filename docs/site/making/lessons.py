"""The lessons as they are read on the site: outputs are kept, solutions and answers are folded, nothing is run.

They are made from the solved lessons, as the learners' copies are.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from fluxlite_course.kit.guesses import as_page, question
from tools import notebooks
from tools.links import in_browser

from .links import on_site

ANSWER = re.compile(r"""^answer\("(\d\d-[A-Z])"\)""", re.MULTILINE)
NOTE = """```{{admonition}} To read, or to work in
This lesson has been run. To work in it, [install fluxlite](../install.md#install), or download
{{download}}`the learner's copy <../learner/{name}>`: its exercises are still to do.{here}
```"""
HERE = "\n[Run it here]({address}), in your browser: nothing gets installed."


def for_readers(lesson: dict[str, Any], name: str) -> dict[str, Any]:
    """The lesson, a notebook, for the site: `name` is its file's."""
    cells: list[dict[str, Any]] = []
    waiting: list[dict[str, Any]] = []  # solved cells whose check is still to come
    for at, cell in enumerate(lesson["cells"]):
        if cell["cell_type"] != "code":
            cells.append({**cell, "source": on_site(cell["source"], f"notebooks/{name}", f"lessons/{name}")})
            continue
        code = cell["source"]
        if notebooks.is_alone(lesson["cells"], at):
            cells.append({**cell, "source": notebooks.SOLUTION.sub("", code).rstrip("\n"), "outputs": []})
            cells += folded(
                "One solution", cell["id"], [{**cell, "id": f"{cell['id']}-solved", "source": solved(code)}]
            )
        elif notebooks.SOLUTION.search(code):
            cells.append({**cell, "source": notebooks.starter(code), "outputs": []})
            waiting.append({**cell, "id": f"{cell['id']}-solved", "source": solved(code)})
        elif notebooks.CHECK.search(code):
            cells += folded(f"One solution to {notebooks.CHECK.search(code)[1]}", cell["id"], [*waiting, cell])
            waiting = []
        elif notebooks.GUESS.search(code):
            cells += guess(cell, notebooks.GUESS.search(code)[1])
        elif ANSWER.search(code):
            cells += folded(f"The answer to {ANSWER.search(code)[1]}", cell["id"], [answered(cell)])
        else:
            cells.append(cell)
    if waiting:
        raise ValueError(f"{name} has a solution without a check after it")
    return {**lesson, "cells": with_note(cells, name)}


def guess(cell: dict[str, Any], id: str) -> list[dict[str, Any]]:
    """A question as a page, and its answer folded below it. One that a later lesson answers has none here."""
    asks = question(id)
    hidden = {**cell["metadata"], "tags": ["remove-input"]}
    page = as_page(id, asks, asks.later)
    shown = {"output_type": "display_data", "data": {"text/html": page}, "metadata": {}}
    words = _markdown(f"{cell['id']}-answer", asks.conclusion("**"))
    answer = [] if asks.later else folded(f"The answer to {id}", cell["id"], [words])
    return [{**cell, "outputs": [shown], "metadata": hidden}, *answer]


def answered(cell: dict[str, Any]) -> dict[str, Any]:
    """The cell with an answer: its output alone."""
    return {**cell, "metadata": {**cell["metadata"], "tags": ["remove-input"]}}


def solved(code: str) -> str:
    """A solved cell's code without the marks around the solution."""
    return re.sub(r"^ *### (BEGIN|END) SOLUTION\n?", "", code, flags=re.MULTILINE).rstrip("\n")


def folded(summary: str, id: str, inside: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """These cells, to be seen once the reader unfolds them."""
    begin = f'<details class="folded"><summary>{summary}</summary>'
    return [_markdown(f"{id}-fold", begin), *inside, _markdown(f"{id}-end", "</details>")]


def with_note(cells: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """The cells, with a note below the title that says how to work in a lesson. `words.ipynb` is for reading."""
    if name == notebooks.WORDS:
        return cells
    title, _, text = cells[0]["source"].partition("\n")
    address = in_browser(name)
    here = HERE.format(address=address) if address else ""
    note = NOTE.format(name=name, here=here)
    return [{**cells[0], "source": f"{title}\n\n{note}\n{text}"}, *cells[1:]]


def _markdown(id: str, source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": id, "metadata": {}, "source": source}


def write_all(folder: Path) -> list[str]:
    """Write all lessons and the page of words into `folder`; their names, in order."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [path.name for path in notebooks.lessons()] + [notebooks.WORDS]
    for name in names:
        made = for_readers(notebooks.read(notebooks.NOTEBOOKS / name), name)
        (folder / name).write_text(notebooks.text(made), encoding="utf-8")
    return names
