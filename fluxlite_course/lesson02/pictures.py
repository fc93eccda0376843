"""Models drawn as trees: where each array is, by colour and letter. This is for print; `explain` unfolds."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import fluxlite as fl
from fluxlite import explain

from ..scenes import Each, Knob, Part, Scene, drawing, label

_HIGH, _INDENT, _BADGE, _LETTER = 28, 20, 22, 8  # a line, a step to the right, a letter's square, a letter's width
_LOOKS = {"C": "host", "G": "gpu"}


def trees(models: Mapping[str, Any]) -> Scene:
    """Draw models side by side, each under its name.

    A blue C is an array on the CPU, a green G is one on a GPU, and a part with both has both letters. A dashed frame is
    a shut box, which no move can enter.

    >>> trees({"model": fl.Chain(fl.Dense(2, 1, np.tanh))})
    model: C Chain, C layers[0]: Dense, C weight: float32 (1, 2), C bias: float32 (1,), activation: function tanh.
    """
    lines, drawn, said = _side_by_side(models)
    return Scene(drawing(640, 40 + _HIGH * lines, "Where each array is", drawn), [], [said])


def functor_switch() -> Scene:
    """What `gpu` makes of a model whose class isn't registered, and of the same with `@functor`, which a knob switches.

    >>> with fl.simulate_gpu():
    ...     functor_switch()
    [ Info: Simulated:0, a simulated NVIDIA T4, stands in for a GPU.
    m: C MyModel object, a shut box, C first.weight: float32 (3, 4), C first.bias: float32 (3,), ...
    """

    class MyModel:
        def __init__(self) -> None:
            self.first, self.second = fl.Dense(4, 3), fl.Dense(3, 2)

    m = MyModel()
    off = _side_by_side({"m": m, "gpu(m)": m})  # it would come back as it is
    fl.functor(MyModel)
    on = _side_by_side({"m": m, "gpu(m)": fl.gpu(m)})
    for number, (_, drawn, _) in enumerate((off, on)):
        drawn.attributes["data-n"] = number
    both = Part("g", off[1], on[1], only=Each([(0, 0), (1, 1)]))
    title = "Where each array is, without @functor and with it"
    return Scene(drawing(640, 40 + _HIGH * on[0], title, both), [Knob("@functor", ["off", "on"])], [off[2], on[2]])


def _side_by_side(models: Mapping[str, Any]) -> tuple[int, Part, str]:
    """How many lines the models take, the picture of them, and what it says."""
    found = {title: list(_nodes(explain(model).root)) for title, model in models.items()}
    drawn = [part for number, (title, nodes) in enumerate(found.items())
             for part in _tree(4 + 632 / len(found) * number, title, nodes)]  # fmt: skip
    told = {name: ", ".join(f"{row.letter} {text}".strip() for row, _, text, _ in tree) for name, tree in found.items()}
    said = " ".join(f"{title}: {words}." for title, words in told.items())
    return max(map(len, found.values())), Part("g", *drawn), said


class _Node(NamedTuple):
    """One line of the picture."""

    row: Any  # of `explain`
    depth: int
    label: str
    above: int  # its parent's line, -1 for the root


def _nodes(root: Any) -> Iterator[_Node]:
    """The rows with their depths. If a list or tuple is an object's only part, its parts are drawn instead of it."""
    waiting = [(root, 0, root.what, "", -1)]
    count = 0
    while waiting:
        row, depth, what, name, above = waiting.pop()
        yield _Node(row, depth, f"{name}: {what}" if name else what, above)
        inside = row.rows[0] if len(row.rows) == 1 and row.rows[0].rows else row
        for part in reversed(inside.rows):
            name = part.name.removeprefix(row.name).lstrip(".")
            waiting.append((part, depth + 1, part.what, name, count))
        count += 1


def _tree(x: float, title: str, nodes: list[_Node]) -> Iterator[Part]:
    yield label(x, 20, title, "bold")
    for line, node in enumerate(nodes):
        left, y = x + _INDENT * node.depth, 36 + _HIGH * line
        if node.above >= 0:
            yield Part("path", class_="box", d=f"M{left - 10:g} {38 + _HIGH * node.above + _BADGE}V{y + 11}h7")
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
