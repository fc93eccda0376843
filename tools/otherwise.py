"""What a notebook's cells do otherwise than in JupyterLab: their outputs compared as nbval does it, and their times."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
from nbval.plugin import IPyNbCell, coalesce_streams, find_comment_markers, find_metadata_tags, nocolors

from tools.outputs import Output

# A cell is slow that takes more than so many times as long as usual, and so many seconds that somebody waits for it.
# Times differ by a third from run to run.
FACTOR, SECONDS, THIRD = 3, 5.0, 4 / 3


@dataclass
class Cell:
    """A code cell, and what nbval's tags say of it."""

    id: str
    source: str
    stored: list[Any] | None  # its outputs; None where it was never run
    is_compared: bool = True
    may_raise: bool = False
    is_skipped: bool = False

    @property
    def beginning(self) -> str:
        """Its first line."""
        return self.source.partition("\n")[0]


def read(path: Path) -> list[Cell]:
    """The code cells of a notebook."""
    cells = []
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code":
            options = {**dict(find_metadata_tags(cell.metadata)), **dict(find_comment_markers(cell.source))}
            stored = None if cell.execution_count is None else cell.outputs
            known = (options.get("check", True), options.get("check_exception", False), options.get("skip", False))
            cells.append(Cell(cell.id, cell.source, stored, *known))
    return cells


@dataclass
class Ran:
    """What a cell did: its outputs, its seconds. One that didn't end has neither, but says why."""

    outputs: list[Any] = field(default_factory=list)
    seconds: float = 0.0
    no_end: str = ""


@dataclass
class Report:
    """What a notebook did in a run."""

    name: str
    cells: list[Cell]
    ran: list[Ran]
    usual: list[Ran] | None  # with everything in place
    otherwise: dict[str, str] = field(default_factory=dict)  # in words, by the cell's id
    slow: dict[str, float] = field(default_factory=dict)  # how many times as long, by the cell's id
    nearly_slow: set[str] = field(default_factory=set)  # ids of cells that could be slow in another run

    @property
    def lesson(self) -> str:
        return Path(self.name).name[:2]

    @property
    def seconds(self) -> float:
        return sum(one.seconds for one in self.ran)

    @property
    def usual_seconds(self) -> float:
        return sum(one.seconds for one in self.usual or [])


def judge(name: str, cells: list[Cell], ran: list[Ran], usual: list[Ran] | None) -> Report:
    """Compare each cell with what's stored, or where it was never run, with what it does when everything is there."""
    report = Report(name, cells, ran, usual)
    for place, cell in enumerate(cells):
        wanted = cell.stored
        if wanted is None and usual:
            wanted = usual[place].outputs
        words = difference(cell, ran[place], wanted)
        if words:
            report.otherwise[cell.id] = words
        if usual:
            seconds = ran[place].seconds
            factor = seconds / max(usual[place].seconds, 0.01)
            if factor > FACTOR and seconds > SECONDS:
                report.slow[cell.id] = factor
            if factor > FACTOR / THIRD and seconds > SECONDS / THIRD:
                report.nearly_slow.add(cell.id)
    return report


def difference(cell: Cell, ran: Ran, wanted: list[Any] | None) -> str:
    """In words, what a cell does otherwise than in JupyterLab, where it shows what's `wanted`; or nothing."""
    if ran.no_end:
        return ran.no_end
    for output in ran.outputs:
        if output["output_type"] == "error" and not cell.may_raise:
            return f"{output['ename']}: {shortened(output['evalue'])}"
    if cell.is_skipped or wanted is None or not cell.is_compared:
        return ""
    comparison = Comparison()
    if comparison.compare_outputs(coalesce_streams(ran.outputs), coalesce_streams(wanted)):
        return ""
    return comparison.words or " ".join(comparison.comparison_traceback)


class Comparison:
    """nbval's own comparison of a cell's outputs, without pytest. Afterwards, `words` says what differs."""

    compare_outputs = IPyNbCell.compare_outputs
    colors = nocolors
    # What nbval doesn't compare is set in its IPyNbFile, pictures among it.
    parent = SimpleNamespace(
        skip_compare=(
            "metadata", "traceback", "prompt_number", "output_type", "name", "execution_count", "image/png",
            "image/jpeg", "application/vnd.jupyter.widget-view+json",
        )
    )  # fmt: skip
    words = ""

    def sanitize(self, value: Any) -> Any:
        """A text whose numbers may differ in their last digit, as `conftest.py` has it."""
        return Output(value) if isinstance(value, str) else value

    def format_output_compare(self, key: str, left: str, right: str) -> None:
        """Say which line is the first that differs; nbval calls this."""
        stored = str(left).splitlines()
        found = str(right).splitlines()
        for one, other in zip(stored, found):
            if Output(one) != other:
                self.words = f"{key}: {shortened(other)!r} in place of {shortened(one)!r}"
                return
        self.words = f"{key}: {len(found)} lines in place of {len(stored)}"


def shortened(text: str) -> str:
    """At most a hundred characters of it, in one line."""
    line = " ".join(text.split())
    return line if len(line) <= 100 else f"{line[:100]}…"
