"""A kernel's text, with what each line cost in the latest launch."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import Any

from .figures import Figures, LineFigures

_HEAD = ("requests", "sectors", "used", "conflicts")


class Explained:
    """What `explain` shows of a kernel: its text, and beside each line the requests by warps, the sectors, the share of
    their bytes that was used, and bank conflicts. Then the whole launch."""

    def __init__(self, source: Any, figures: Figures) -> None:
        self.figures = figures
        own = {line.line: line for line in figures.lines if line.function == source.name}
        self.rows = [(number, text, own.get(number)) for number, text in enumerate(source.lines, source.first)]
        others = [line for line in figures.lines if line.function != source.name]
        self.rows += [(line.line, f"{line.function}: {line.text}", line) for line in others]

    def __repr__(self) -> str:
        return "\n".join([*self._lines(), "", repr(self.figures)])

    def _lines(self) -> Iterator[str]:
        rows = [(_cells(line), f"{number:>4}  {text}") for number, text, line in self.rows]
        widths = [max(len(head), *(len(cells[k]) for cells, _ in rows)) for k, head in enumerate(_HEAD)]
        yield "  ".join(f"{head:>{width}}" for head, width in zip(_HEAD, widths)) + "  line"
        for cells, text in rows:
            yield ("  ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths)) + "  " + text).rstrip()

    def _repr_html_(self) -> str:
        cell = 'style="text-align:right;padding:0 0.6em"'
        head = "".join(f"<th scope='col' {cell}>{name}</th>" for name in (*_HEAD, "line"))
        rows = "".join(
            f"<tr>{''.join(f'<td {cell}>{html.escape(part)}</td>' for part in _cells(line))}<td {cell}>{number}</td>"
            f'<td style="text-align:left"><pre style="margin:0">{html.escape(text)}</pre></td></tr>'
            for number, text, line in self.rows
        )
        return (
            f"<table><tr>{head}<th style='text-align:left'>{html.escape(self.figures.name)}</th></tr>{rows}</table>"
            f'<pre style="word-break:normal">{html.escape(repr(self.figures))}</pre>'
        )


def _cells(line: LineFigures | None) -> tuple[str, str, str, str]:
    if line is None:
        return "", "", "", ""
    return (
        f"{line.requests:,}", f"{line.sectors:,}" if line.sectors else "", f"{line.share:.0%}" if line.sectors else "",
        f"{line.conflicts:,}" if line.is_shared else "",
    )  # fmt: skip
