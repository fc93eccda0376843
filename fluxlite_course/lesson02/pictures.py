"""Models drawn as trees: where each array is, by colour and letter. This is for print; `explain` unfolds."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from fluxlite import explain

from ..scenes import Part, Scene, drawing, label

MOST = 30  # leaves in a tree; with more, nothing would be readable
_HIGH, _INDENT, _BADGE, _LETTER = 28, 20, 22, 7.6  # a line, a step to the right, a letter's square, a letter's width
_LOOKS = {"C": "host", "G": "gpu"}


def trees(models: Mapping[str, Any]) -> Scene:
    """Draw models side by side, each under its name.

    A blue C is an array on the CPU, a green G is one on a GPU, and a part with both has both letters. A dashed frame is
    a shut box, which no move can enter. Raises `ValueError` for a model with more than 30 leaves.

    >>> trees({"model": fl.Chain(fl.Dense(2, 1, np.tanh))})
    model: C Chain, C layers[0]: Dense, C weight: float32 (1, 2), C bias: float32 (1,), activation: function tanh.
    """
    found = {title: list(_nodes(explain(model).root)) for title, model in models.items()}
    for title, nodes in found.items():
        if sum(node.is_leaf for node in nodes) > MOST:
            raise ValueError(f"{title} has more than {MOST} leaves, too many to draw: explain(model) shows them")
    wide, lines = 632 / len(found), max(map(len, found.values()))
    drawn = [part for number, (title, nodes) in enumerate(found.items())
             for part in _tree(4 + wide * number, title, nodes)]  # fmt: skip
    said = " ".join(f"{title}: {', '.join(node.text for node in nodes)}." for title, nodes in found.items())
    names = " and ".join(found)
    return Scene(drawing(640, 40 + _HIGH * lines, f"Where each array is: {names}", *drawn), [], [said])


class _Node(NamedTuple):
    """One line of the picture."""

    row: Any  # of `explain`
    depth: int
    label: str
    above: int  # its parent's line, -1 for the root

    @property
    def is_leaf(self) -> bool:
        return not self.row.rows

    @property
    def text(self) -> str:
        return f"{self.row.letter} {self.label}".strip()


def _nodes(root: Any) -> Iterator[_Node]:
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


def _tree(x: float, title: str, nodes: list[_Node]) -> Iterator[Part]:
    yield label(x, 20, title, "bold")
    for line, node in enumerate(nodes):
        left, y = x + _INDENT * node.depth, 36 + _HIGH * line
        if node.above >= 0:
            from_y = 36 + _HIGH * node.above + _BADGE
            yield Part("path", class_="box", d=f"M{left - 10:g} {from_y + 2}V{y + 11}h7")
        letters = node.row.letter.split("+") if node.row.letter else []
        for number, letter in enumerate(letters):
            at = left + _BADGE * number
            yield Part("rect", class_=_LOOKS[letter], x=at, y=y, width=_BADGE - 1, height=_BADGE, rx=3)
            yield label(at + _BADGE / 2 - 0.5, y + 16, letter, "middle inside")
        at = left + _BADGE * max(len(letters), 1) + 6
        if node.row.shut:
            width = _LETTER * len(node.label) + 8
            yield Part("rect", class_="wait line dashed", x=at - 4, y=y, width=width, height=_BADGE, rx=3)
        yield label(at, y + 16, node.label)
