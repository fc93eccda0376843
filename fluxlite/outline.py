"""Nested rows, drawn as text with branches or as HTML that unfolds. Neither needs colours or JavaScript."""

from collections.abc import Iterator
from dataclasses import dataclass, field

MOST = 100  # rows in one row that are drawn


@dataclass(eq=False)
class Row:
    """One line of an outline: the path to a thing, what it is, its arrays' devices, and further remarks."""

    name: str
    what: str
    places: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    shut: bool = False  # a box that can't be entered
    folded: bool = False  # unfolds only when it's asked to
    rows: "list[Row]" = field(default_factory=list)

    def add(self, row: "Row") -> None:
        """Put `row` into this one. Its devices become this row's devices too."""
        self.rows.append(row)
        self.places += [place for place in row.places if place not in self.places]

    @property
    def letter(self) -> str:
        """C for the CPU, G for a GPU, C+G for both. You see it at a glance, next to the devices' names."""
        return "+".join(sorted({"C" if place == "CPU" else "G" for place in self.places}))

    @property
    def sentence(self) -> str:
        return ": ".join(filter(None, [self.what, "; ".join(self.remarks)]))

    def drawn(self) -> "list[Row]":
        """The rows in it that are drawn, and one that stands for the others."""
        left_out = len(self.rows) - MOST
        return [*self.rows[:MOST], Row("…", f"{left_out:,} more")] if left_out > 0 else self.rows


def as_text(root: Row, below: list[str]) -> str:
    """`root` and its rows, one line each, in columns; then the lines `below`."""
    lines = list(_lines(root, "", ""))
    width, width_of_place = (max(len(line[column]) for line in lines) for column in (0, 1))
    texts = [f"{name:<{width}}  {place:<{width_of_place}}  {text}".rstrip() for name, place, text in lines]
    return "\n".join([*texts, "", *below])


def _lines(row: Row, branch: str, indent: str) -> Iterator[tuple[str, str, str]]:
    name, text = (row.name, row.sentence) if row.name else (row.what, "; ".join(row.remarks))
    yield f"{branch}{name}", f"{row.letter} {', '.join(row.places)}".strip(), text
    rows = row.drawn()
    for inner in rows[:-1]:
        yield from _lines(inner, f"{indent}├ ", f"{indent}│ ")
    for inner in rows[-1:]:
        yield from _lines(inner, f"{indent}└ ", f"{indent}  ")


# -- HTML, in the page's own text colours, so it can be read on light and dark. Without any styles, as on GitHub, nested
# lists remain.

COLOURS = {"C": "#1f5fa8", "G": "#2a6f3c", "C+G": "#6b4a9e"}  # white text is readable on each of these
_LIST = "list-style:none;margin:0 0 0 .45em;padding-left:1em;border-left:1px solid #8888"
_BESIDE_A_TRIANGLE = ' style="padding-left:1.15em"'  # what doesn't unfold starts where the others' names do
_BADGE = "color:#fff;border-radius:.25em;padding:0 .35em;font-size:.85em;background:"
_BOX = ' style="border:2px dashed #c77700;border-radius:.3em;padding:.1em .5em;margin:.2em 0;width:fit-content"'


def as_html(root: Row, below: list[str]) -> str:
    """`root` and its rows as lists in ``<details>``, which unfold; then the lines `below`."""
    sentences = "<br>".join(map(_escaped, below))
    below_it = f'<p style="margin:.5em 0 0">{sentences}</p>' if sentences else ""
    tree = _element(root, levels_open=1000 if _count(root) <= 60 else 2)
    return f'<div style="line-height:1.6;max-width:80em">{tree}{below_it}</div>'


def _element(row: Row, levels_open: int) -> str:
    if not row.rows:
        return f"<div{_BOX if row.shut else _BESIDE_A_TRIANGLE}>{_line(row)}</div>"
    is_open = " open" if levels_open > 0 and not row.folded or _holds_a_box(row) else ""
    items = "".join(f'<li style="margin:0">{_element(inner, levels_open - 1)}</li>' for inner in row.drawn())
    summary = f'<summary style="cursor:pointer">{_line(row)}</summary>'
    return f'<details{is_open}{_BOX * row.shut}>{summary}<ul style="{_LIST}">{items}</ul></details>'


def _count(row: Row) -> int:
    return 1 + sum(map(_count, row.rows))


def _holds_a_box(row: Row) -> bool:
    return row.shut or any(map(_holds_a_box, row.rows))


def _line(row: Row) -> str:
    name = f"<code>{_escaped(row.name)}</code>" if row.name else ""
    badge = f'<b style="{_BADGE}{COLOURS[row.letter]}">{row.letter}</b> {", ".join(row.places)}' if row.letter else ""
    what, remarks = _escaped(row.what), f": {_escaped('; '.join(row.remarks))}" if row.remarks else ""
    return " &nbsp;".join(filter(None, [name, badge, (f"<b>{what}</b>" if row.shut or not name else what) + remarks]))


def _escaped(text: str) -> str:
    from html import escape  # `import fluxlite` shouldn't need its time

    return escape(text)
