"""Nested rows, drawn as text with branches or as HTML that folds. Neither needs colours or JavaScript."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape

MOST = 500  # rows drawn; a page with more is slow, and too long to read


@dataclass(eq=False)
class Row:
    """One line of an outline: the path to a thing, what it is, its arrays' devices, and further remarks."""

    name: str
    what: str
    places: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    shut: bool = False  # a box that can't be entered
    folded: bool = False  # unfolds only when it's asked to
    rows: list[Row] = field(default_factory=list)

    def add(self, rows: list[Row]) -> None:
        """Put `rows` into this one. Their devices become this row's devices too."""
        self.rows += rows
        self.places = list(dict.fromkeys([*self.places, *(place for row in rows for place in row.places)]))

    @property
    def letter(self) -> str:
        """C for the CPU, G for a GPU, C+G for both. You see it at a glance, next to the devices' names."""
        return "+".join(sorted({"C" if place == "CPU" else "G" for place in self.places}))


class Cut:
    """The first `most` rows, those nearest to the root, so that each branch shows something.

    Nearest in the drawing: the first row inside is one step away, the second is two.
    """

    def __init__(self, root: Row, most: int) -> None:
        found = [(0, root)]
        for distance, row in found:  # the list grows meanwhile
            found += [(distance + step, inner) for step, inner in enumerate(row.rows, 1)]
        found.sort(key=lambda pair: pair[0])
        self.shown = {row for _, row in found[:most]}
        self.left_out = len(found) - len(self.shown)

    def rows(self, row: Row) -> list[Row]:
        """The rows in `row` to draw, and one that stands for the rest."""
        shown = [inner for inner in row.rows if inner in self.shown]
        if len(shown) < len(row.rows):
            shown.append(Row("…", f"{len(row.rows) - len(shown):,} more"))
        return shown

    def sentence(self) -> str:
        """What to say about the rows that were left out. Empty if there are none."""
        total = len(self.shown) + self.left_out
        return f"{len(self.shown):,} of {total:,} nodes are shown, {self.left_out:,} left out." if self.left_out else ""


# ---------------------------------------------------------------------------------------------
# Text
# ---------------------------------------------------------------------------------------------


def as_text(root: Row, below: list[str], most: int = MOST) -> str:
    """`root` and its rows, one line each, in columns; then the lines `below`.

    >>> print(as_text(Row("", "list", ["CPU"], rows=[Row("[0]", "float32 (3,)", ["CPU"], ["moves"])]), ["1 array"]))
    list   C CPU
    └ [0]  C CPU  float32 (3,): moves
    <BLANKLINE>
    1 array
    """
    cut = Cut(root, most)
    lines = list(_lines(root, cut, "", ""))
    width, width_of_place = (max(len(line[column]) for line in lines) for column in (0, 1))
    texts = [f"{name:<{width}}  {place:<{width_of_place}}  {text}".rstrip() for name, place, text in lines]
    return "\n".join([*texts, "", *below, *filter(None, [cut.sentence()])])


def _lines(row: Row, cut: Cut, branch: str, indent: str) -> Iterator[tuple[str, str, str]]:
    name, text = (row.name, _sentence(row)) if row.name else (row.what, "; ".join(row.remarks))
    yield f"{branch}{name}", f"{row.letter} {', '.join(row.places)}".strip(), text
    rows = cut.rows(row)
    for inner in rows:
        is_last = inner is rows[-1]
        yield from _lines(inner, cut, f"{indent}{'└ ' if is_last else '├ '}", f"{indent}{'  ' if is_last else '│ '}")


def _sentence(row: Row) -> str:
    return f"{row.what}: {'; '.join(row.remarks)}" if row.remarks else row.what


# ---------------------------------------------------------------------------------------------
# HTML. It uses the page's own text colours, so you can read it on a light or a dark page. Where all styles are
# removed, as on GitHub, nested lists remain.
# ---------------------------------------------------------------------------------------------

COLOURS = {"C": "#1f5fa8", "G": "#2a6f3c", "C+G": "#6b4a9e"}  # white text is readable on each of these
_LIST = "list-style:none;margin:0 0 0 .45em;padding-left:1em;border-left:1px solid #8888"
_BESIDE_A_TRIANGLE = ' style="padding-left:1.15em"'  # what doesn't unfold starts where the others' names do
_BADGE = "color:#fff;border-radius:.25em;padding:0 .35em;font-size:.85em;background:"
_BOX = "border:2px dashed #c77700;border-radius:.3em;padding:.1em .5em;margin:.2em 0;width:fit-content"


def as_html(root: Row, below: list[str], most: int = MOST) -> str:
    """`root` and its rows as lists in ``<details>``, which unfold; then the lines `below`."""
    cut = Cut(root, most)
    sentences = "<br>".join(escape(line) for line in [*below, *filter(None, [cut.sentence()])])
    tree = _element(root, cut, levels_open=MOST if len(cut.shown) <= 60 else 2)
    below_it = f'<p style="margin:.5em 0 0">{sentences}</p>' if sentences else ""
    return f'<div style="line-height:1.6;max-width:80em">{tree}{below_it}</div>'


def _element(row: Row, cut: Cut, levels_open: int) -> str:
    rows = cut.rows(row)
    box = f' style="{_BOX}"' if row.shut else ""
    if not rows:
        return f"<div{box or _BESIDE_A_TRIANGLE}>{_line(row)}</div>"
    is_open = " open" if levels_open > 0 and not row.folded or _holds_a_box(row) else ""
    items = "".join(f'<li style="margin:0">{_element(inner, cut, levels_open - 1)}</li>' for inner in rows)
    summary = f'<summary style="cursor:pointer">{_line(row)}</summary>'
    return f'<details{is_open}{box}>{summary}<ul style="{_LIST}">{items}</ul></details>'


def _holds_a_box(row: Row) -> bool:
    return row.shut or any(map(_holds_a_box, row.rows))


def _line(row: Row) -> str:
    name = f"<code>{escape(row.name)}</code>" if row.name else ""
    places = escape(", ".join(row.places))
    badge = f'<b style="{_BADGE}{COLOURS[row.letter]}">{row.letter}</b> {places}' if row.letter else ""
    what = f"<b>{escape(row.what)}</b>" if row.shut or not row.name else escape(row.what)
    remarks = f": {escape('; '.join(row.remarks))}" if row.remarks else ""
    return " &nbsp;".join(filter(None, [name, badge, what + remarks]))
