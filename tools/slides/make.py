"""A lesson as slides for a projector: one section a slide, pictures that move, in one file that needs no network.

    python tools/slides/make.py 05 [--folder build/slides]

It's the solved lesson as it was run, with exercises still to do, and no answers. A section may be longer than a screen:
then its slide scrolls. What's below a question comes with the next key. That's why these aren't reveal.js's slides,
which are all equally high.
"""

from __future__ import annotations

import argparse
import html
import re
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbconvert import HTMLExporter
from pygments.formatters import HtmlFormatter
from traitlets.config import Config

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT))

from fluxlite_course.kit.guesses import as_page, question  # noqa: E402
from tools import notebooks  # noqa: E402

ANSWER = re.compile(r"^answer\(", re.MULTILINE)
HEADING = re.compile(r"^(?=#{1,3} )", re.MULTILINE)
LINK = re.compile(r"\[((?:[^][]|\[[^]]*\])*)\]\([\w-]+\.ipynb[^)]*\)")  # a file has no other lessons beside it
HINT = "Vote, talk, and vote again."


def sections(lesson: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """A lesson's cells as they're shown, a list for each section."""
    found: list[list[dict[str, Any]]] = []
    for cell in lesson["cells"]:
        if cell["cell_type"] == "code":
            found[-1] += [shown] if (shown := _shown(cell)) else []
            continue
        for number, part in enumerate(HEADING.split(cell["source"])):
            if not part.strip() or part.startswith("<details"):
                continue
            if HEADING.match(part):
                found.append([])
            found[-1].append({**cell, "id": f"{cell['id']}-{number}", "source": LINK.sub(r"\1", part)})
    return found


def _shown(cell: dict[str, Any]) -> dict[str, Any] | None:
    """A code cell as a slide shows it. None if it's an answer."""
    code = cell["source"]
    if ANSWER.search(code):
        return None
    asked = notebooks.GUESS.findall(code)
    if asked:
        page = "".join(as_page(id, question(id), HINT) for id in asked)
        output = {"output_type": "display_data", "data": {"text/html": page}, "metadata": {}}
        return {**cell, "metadata": {"tags": ["remove-input"]}, "outputs": [output]}
    if notebooks.SOLUTION.search(code) or notebooks.CHECK.search(code):
        return {**cell, "source": notebooks.starter(code), "outputs": []}
    return cell


def up_to_guesses(cells: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """A section in parts that end with a question: what's below it gives the answer away, so it's shown later."""
    parts: list[list[dict[str, Any]]] = [[]]
    for cell in cells:
        parts[-1].append(cell)
        if cell["cell_type"] == "code" and notebooks.GUESS.search(cell["source"]):
            parts.append([])
    return [part for part in parts if part]


def as_html(cells: list[dict[str, Any]], lesson: dict[str, Any], exporter: HTMLExporter) -> str:
    """Some of a lesson's cells as HTML."""
    body, _ = exporter.from_notebook_node(nbformat.from_dict({**lesson, "cells": cells}))
    return body


def slides(name: str) -> str:
    """A lesson as one page of HTML; `name` is its file's."""
    lesson = notebooks.read(notebooks.NOTEBOOKS / name)
    without_input = {"enabled": True, "remove_input_tags": ["remove-input"]}
    exporter = HTMLExporter(template_name="basic", config=Config(TagRemovePreprocessor=without_input))
    exporter.exclude_input_prompt = exporter.exclude_output_prompt = exporter.exclude_anchor_links = True
    made = []
    for cells in sections(lesson):
        first, *later = [as_html(part, lesson, exporter) for part in up_to_guesses(cells)]
        hidden = "".join(f'<div class="later" hidden>{part}</div>' for part in later)
        made.append(f'<section class="one-slide">{first}{hidden}</section>')
    words = {
        "title": html.escape(notebooks.title(name)),
        "colours": HtmlFormatter(style="default").get_style_defs(".highlight"),
        "script": (HERE / "slides.js").read_text(encoding="utf-8"),
        "slides": "\n".join(made),
    }
    page = (HERE / "slides.html").read_text(encoding="utf-8")
    return re.sub("@(\\w+)@", lambda match: words[match[1]], page)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Make slides of a lesson for a projector.", allow_abbrev=False)
    parser.add_argument("numbers", nargs="+", metavar="NN", help="which lessons")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "slides", help="where they go")
    asked = parser.parse_args(arguments)
    notebooks.check_numbers(parser, asked.numbers)
    asked.folder.mkdir(parents=True, exist_ok=True)
    for path in notebooks.lessons(asked.numbers):
        made = asked.folder / f"{path.stem}.html"
        made.write_text(slides(path.name), encoding="utf-8")
        print(f"{made}: open it in a browser. Page down and Page up turn the slides; F11 fills the screen.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
