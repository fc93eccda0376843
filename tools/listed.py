"""The cells that are known to do otherwise in a browser (`without.toml`), for `without.py` and for the site's page."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

LIST = Path(__file__).with_name("without.toml")
AT_MOST = 10  # cells in the list


@dataclass(frozen=True)
class Listed:
    """A cell that's known to do otherwise, in `without.toml`."""

    lesson: str
    cell: str  # how it begins in the solved lesson, in as many lines as tell it from others
    why: str
    shows: str = ""  # words of what it does otherwise
    factor: float = 0  # how many times as long it takes, about
    only_in_pyodide: bool = False


def read_list(path: Path = LIST) -> list[Listed]:
    """The list. Raises `ValueError` where it's too long, or says of a cell nothing that could differ."""
    listed = [Listed(**row) for row in tomllib.loads(path.read_text(encoding="utf-8")).get("cell", [])]
    if len(listed) > AT_MOST:
        raise ValueError(f"{path.name} lists {len(listed)} cells; at most {AT_MOST} may do otherwise")
    for one in listed:
        if not (one.shows or one.factor):
            raise ValueError(f"{path.name}: {one.lesson} {one.cell!r} needs what it `shows`, or a `factor`")
    return listed


# -- on the page -----------------------------------------------------------------------------------------------------

NONE = "Every cell shows there what it shows in JupyterLab."
SOME = "These cells do otherwise there. All the others show what they show in JupyterLab."


def on_page(listed: list[Listed]) -> str:
    """The list as a sentence and a table."""
    if not listed:
        return NONE
    rows = [f"| {one.lesson} | {code(one.cell)} | {where(one)} | {happens(one)} | {one.why} |" for one in listed]
    return "\n".join([SOME, "", "| lesson | cell | where | what happens | why |", "|---|---|---|---|---|", *rows])


def code(text: str) -> str:
    """The last line of some code, in a table of Markdown."""
    return f"`{text.splitlines()[-1]}`".replace("|", "\\|")


def where(one: Listed) -> str:
    return "in Pyodide" if one.only_in_pyodide else "wherever that's missing"


def happens(one: Listed) -> str:
    """What a listed cell does otherwise.

    >>> happens(Listed("05", "a @ b", "no BLAS", factor=8))
    'it takes about 8 times as long'
    """
    said = []
    if one.shows:
        said.append(f"it shows {code(one.shows)}")
    if one.factor:
        said.append(f"it takes about {one.factor:g} times as long")
    return ", and ".join(said)
