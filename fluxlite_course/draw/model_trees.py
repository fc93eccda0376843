"""Models drawn as trees: where each array is, by colour and letter. This is for print; `explain` unfolds."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from fluxlite import explain
from fluxlite.reports import COLOURS, Row

from .pictures import GREY, as_written, plots

MOST = 30  # leaves in a tree; with more, nothing would be readable
_SHUT = "#c77700"
_HEIGHT, _WIDTH = 0.3, 5.4  # a line's height and a tree's width, in inches
_INDENT, _BOX = 0.3, 0.23


def trees(models: Mapping[str, Any]) -> tuple[dict[str, list[str]], Any]:
    """Draw models side by side, each under its name: returns each one's lines as text, and a Matplotlib figure.

    A blue C is an array on the CPU, a green G is one on a GPU, and C+G is a part with both. A dashed frame is a shut
    box, which no move can enter. Raises `ValueError` for a model with more than 30 leaves.

    >>> lines, figure = trees({"model": fl.Chain(fl.Dense(2, 1, np.tanh))})
    >>> lines["model"]
    ['C Chain', 'C layers[0]: Dense', 'C weight: float32 (1, 2)', 'C bias: float32 (1,)', 'activation: function tanh']
    """
    found = {title: list(_nodes(explain(model).root)) for title, model in models.items()}
    for title, nodes in found.items():
        if sum(node.is_leaf for node in nodes) > MOST:
            raise ValueError(f"{title} has more than {MOST} leaves, too many to draw: explain(model) shows them")
    lines = max(map(len, found.values()))
    figure, axes = plots(1, len(found), height=_HEIGHT * (lines + 1.6), width=_WIDTH * len(found), squeeze=False)
    for (title, nodes), place in zip(found.items(), axes[0]):
        _draw(place, title, nodes, lines)
    return {title: [node.text for node in nodes] for title, nodes in found.items()}, figure


class _Node(NamedTuple):
    """One line of the picture."""

    row: Row
    depth: int
    label: str
    above: int  # its parent's line, -1 for the root

    @property
    def is_leaf(self) -> bool:
        return not self.row.rows

    @property
    def text(self) -> str:
        return f"{self.row.letter} {self.label}".strip()


def _nodes(root: Row) -> Iterator[_Node]:
    """The rows with their depths. If a list or tuple is an object's only part, its parts are drawn instead of it."""
    waiting = [(root, 0, root.what, "", -1)]
    count = 0
    while waiting:
        row, depth, what, name, above = waiting.pop()
        yield _Node(row, depth, f"{name}: {what}" if name else what, above)
        inside = row.rows[0] if len(row.rows) == 1 and row.rows[0].rows else row
        for part in reversed(inside.rows):
            ties = [f", {remark.partition(':')[0]}" for remark in part.remarks if remark.startswith("tied to")]
            name = part.name.removeprefix(row.name).lstrip(".")
            waiting.append((part, depth + 1, "".join([part.what, *ties[:1]]), name, count))
        count += 1


def _draw(axes: Any, title: str, nodes: list[_Node], lines: int) -> None:
    from matplotlib.patches import FancyBboxPatch

    axes.set_axis_off()
    axes.set(xlim=(0, _WIDTH), ylim=(-_HEIGHT * lines, _HEIGHT * 0.9), aspect="equal")
    axes.set_title(as_written(title), loc="left", fontweight="bold")
    for line, node in enumerate(nodes):
        x, y = node.depth * _INDENT, -_HEIGHT * line
        if node.above >= 0:
            left, top = (node.depth - 1) * _INDENT + _BOX / 2, -_HEIGHT * node.above - _BOX / 2 - 0.04
            axes.plot([left, left, x - 0.05], [top, y, y], color=GREY, linewidth=1)
        letter, colour = node.row.letter, COLOURS.get(node.row.letter, "none")
        width = _BOX * max(1, 0.8 * len(letter))
        look: Any = {"facecolor": colour, "edgecolor": GREY if colour == "none" else colour}
        axes.add_patch(FancyBboxPatch((x, y - _BOX / 2), width, _BOX, f"round,pad=0,rounding_size={_BOX / 5}", **look))
        middle = {"va": "center_baseline", "fontsize": 11}
        axes.text(x + width / 2, y, letter, ha="center", color="white", fontweight="bold", **middle)
        frame = {"edgecolor": _SHUT, "facecolor": "none", "linestyle": "--", "pad": 2} if node.row.shut else None
        axes.text(x + width + 0.1, y, as_written(node.label), bbox=frame, **middle)
