"""A gradient's tape, made visible: what a tracked result depends on, and how that list grows line by line.

There's no tape object. Each tracked result holds its own entry (`tracked.py`). We find the list by following the
operands of a result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from fluxlite import TrackedArray
from fluxlite.autodiff.rules import RULES, Rule, name_of

from ..draw.pictures import GREY, ORANGE, Picture, as_written, plots, show

_BOX, _GAP, _HEIGHT = 1.95, 0.15, 0.35  # an entry's width, the gap, and its height, in inches


class Entry(NamedTuple):
    """One entry: a result's number, the function that made it, and its operands (``#3`` is another entry)."""

    number: int
    function: str
    operands: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"#{self.number} {self.function}" + (f"({', '.join(self.operands)})" if self.operands else "")


class Tape(list):
    """Entries in order of their numbers. Prints one per line."""

    def __repr__(self) -> str:
        return "\n".join(map(str, self))


def tape(*results: TrackedArray) -> Tape:
    """The entries that `results` depend on, including their own, in order of their numbers.

    Raises `TypeError` for a result that isn't tracked.

    >>> w = fl.param(np.ones(2))
    >>> entries = tape(np.tanh(w * 3.0))
    >>> [(entry.function, len(entry.operands)) for entry in entries]
    [('param', 0), ('np.multiply', 2), ('np.tanh', 1)]
    """
    for result in results:
        if not isinstance(result, TrackedArray):
            raise TypeError(f"tape takes results that are tracked, got {type(result).__name__}")
    found: dict[int, TrackedArray] = {}
    waiting = list(results)
    while waiting:
        node = waiting.pop()
        if node.number not in found:
            found[node.number] = node
            waiting += [parent for _, parent in node.call[3]] if node.call else []
    names = {id(rule): name_of(function) for function, rule in RULES.items()}
    return Tape(_entry(found[number], names) for number in sorted(found))


def growing_tape(lines: Mapping[str, Any]) -> Picture:
    """A picture with one column per line of a program: the tape after it, new entries in bold, and the backward pass.

    `lines` maps each line's text to the tracked result that it made, or to a tuple of them.

    >>> w = fl.param(np.ones(2))
    >>> h = np.tanh(w)
    >>> growing_tape({"w = param(…)": w, "h = np.tanh(w)": h})
    The tape after each line has 1, 2 entries; each line adds its own on top. back visits them from the top down.
    """
    results: list[TrackedArray] = []
    columns: dict[str, Tape] = {}
    for line, made in lines.items():
        results += made if isinstance(made, tuple) else [made]
        columns[line] = tape(*results)
    most = max(map(len, columns.values()))
    figure, axes = plots(height=_HEIGHT * (most + 1.2) + 0.2, width=(_BOX + _GAP) * len(columns) + 0.8)
    axes.set(xlim=(-0.05, (_BOX + _GAP) * len(columns) + 0.75), ylim=(-0.05, _HEIGHT * (most + 1.2)), aspect="equal")
    axes.axis("off")
    before = 0
    for column, (line, entries) in enumerate(columns.items()):
        _column(axes, column * (_BOX + _GAP), line, entries, before)
        before = len(entries)
    _way_back(axes, len(columns) * (_BOX + _GAP), most)
    counts = ", ".join(str(len(entries)) for entries in columns.values())
    return show(
        figure,
        f"The tape after each line has {counts} entries; each line adds its own on top. back visits them from the top "
        "down.",
    )


# -- one entry ------------------------------------------------------------------------------------------------------


def _entry(node: TrackedArray, names: dict[int, str]) -> Entry:
    if node.call is None:
        return Entry(node.number, "param" if node.level.number == 0 else "tracked from the start")
    rule, arguments, _, parents = node.call
    if rule is None:
        return Entry(node.number, "cleared by back")
    return Entry(
        node.number, names.get(id(rule), "a rule that was replaced"), tuple(_operands(rule, arguments, parents))
    )


def _operands(rule: Rule, arguments: Any, parents: Any) -> Iterator[str]:
    """The operands as text. Tracked ones are shown by their numbers, which come in argument order."""
    tracked = [parent for _, parent in parents]
    for argument in arguments[0] if rule.sequence else arguments:
        value = tracked[0].value if tracked else None
        if tracked and (argument is value or type(value) is float and argument == value):
            yield f"#{tracked.pop(0).number}"
        else:
            yield "array" if getattr(argument, "shape", ()) else f"{argument!s:.8}"


# -- drawing --------------------------------------------------------------------------------------------------------


def _column(axes: Any, left: float, line: str, entries: Tape, old: int) -> None:
    from matplotlib.patches import Rectangle

    for row, entry in enumerate(entries):
        new = row >= old
        look: Any = _NEW if new else _OLD
        axes.add_patch(Rectangle((left, row * _HEIGHT), _BOX, _HEIGHT * 0.86, zorder=2 + new, **look))
        text = str(entry).replace(" np.", " ").replace("array", "…")  # so that it fits its box
        middle, weight = (row + 0.43) * _HEIGHT, "bold" if new else "normal"
        axes.text(left + 0.08, middle, as_written(text), va="center", fontsize=11, weight=weight, zorder=4)
    above = len(entries) * _HEIGHT + 0.04
    axes.text(left, above, as_written(line), va="bottom", fontsize=11, family="monospace", zorder=4)


_NEW = {"facecolor": "#fbe3d6", "edgecolor": ORANGE, "linewidth": 2}
_OLD = {"facecolor": "#f4f6f8", "edgecolor": GREY, "linewidth": 1}


def _way_back(axes: Any, left: float, most: int) -> None:
    arrow = {"arrowstyle": "->", "lw": 2.5, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", (left + 0.05, 0), (left + 0.05, most * _HEIGHT), arrowprops=arrow)
    axes.text(left + 0.15, most * _HEIGHT / 2, "back", va="center", fontsize=12, weight="bold")
