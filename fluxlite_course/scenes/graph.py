"""A graph of what was computed from what: a forward pass fills in the values, and a backward pass the gradients."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .parts import Each, Part, arrow, drawing, label
from .scene import Knob, Scene

_WIDE, _HIGH, _GAP, _ROW = 128, 70, 34, 150  # a box's size, the smallest gap between boxes, and from row to row


class Node(NamedTuple):
    """What's computed: a name, and the numbers of the nodes that it's made from."""

    name: str
    made_from: Sequence[int] = ()


class At(NamedTuple):
    """A state: the values and gradients that are there by now, by node."""

    sentence: str
    values: Mapping[int, str]
    gradients: Mapping[int, str] = {}
    visited: int = -1  # the node where the pass is
    hands: Mapping[int, str] = {}  # what the backward pass multiplies by, for each node that it goes on to


def graph(title: str, nodes: Sequence[Node], knobs: Sequence[Knob], states: Sequence[At], first: Any = ()) -> Scene:
    """Draw nodes, each to the right of everything that it's made from, and the states of the two passes.

    >>> states = [At("w is 2.", {0: "2"}), At("w * 3 is 6.", {0: "2", 1: "6"})]
    >>> graph("A product", [Node("w"), Node("* 3", [0])], [Knob("step", ["1", "2"])], states)
    w is 2.
    """
    places = _places(nodes)
    edges = [(to, number) for number, node in enumerate(nodes) for to in node.made_from]
    parts = [arrow(places[a][0] + _WIDE, places[a][1] + _HIGH / 2, places[b][0] - 2, places[b][1] + _HIGH / 2, "rest")
             for a, b in edges]  # fmt: skip
    back = [_back(*edge, places, states) for edge in edges]
    parts += [path for path, _ in back]
    parts += [part for number, node in enumerate(nodes) for part in _box(number, node, *places[number], states)]
    parts += [times for _, times in back]  # on top, so that no box covers a number
    wide, high = (int(max(place)) for place in zip(*places))
    picture = drawing(max(wide + _WIDE + 4, 640), high + _HIGH + 62, title, *parts)
    return Scene(picture, knobs, [state.sentence for state in states], first)


def _places(nodes: Sequence[Node]) -> list[tuple[float, float]]:
    """Each node's upper left corner."""
    depths: list[int] = []
    for node in nodes:
        depths.append(max((depths[number] + 1 for number in node.made_from), default=0))
    step = max((640 - _WIDE - 8) / max(1, *depths), _WIDE + _GAP)
    full, so_far, found = Counter(depths), Counter[int](), []
    for depth in depths:
        row = so_far[depth] + (max(full.values()) - full[depth]) / 2
        so_far[depth] += 1
        found.append((round(4 + step * depth, 1), 32 + _ROW * row))
    return found


def _box(number: int, node: Node, x: float, y: float, states: Sequence[At]) -> Iterator[Part]:
    looks = ["entry visited" if state.visited == number else "entry new" if number in state.gradients else "entry"
             for state in states]  # fmt: skip
    inside = [" inside" if state.visited == number else "" for state in states]
    middle = x + _WIDE / 2
    yield Part("rect", class_=Each(looks), x=x, y=y, width=_WIDE, height=_HIGH, rx=8)
    yield label(middle, y - 10, node.name, "middle code")
    yield label(middle, y + 30, Each(s.values.get(number, "") for s in states), Each("middle big" + i for i in inside))
    told = (f"gradient {s.gradients[number]}" if number in s.gradients else "" for s in states)
    yield label(middle, y + 56, Each(told), Each("middle bold" + i for i in inside))


def _back(to: int, number: int, places: Sequence[tuple[float, float]], states: Sequence[At]) -> tuple[Part, Part]:
    """The arrow below two boxes from a node back to one that it's made from, and its factor.

    They're there from when a backward pass takes this way until the next pass begins.
    """
    (x1, y1), (x2, y2) = [(x + _WIDE / 2, y + _HIGH + 2) for x, y in (places[number], places[to])]
    factor = ""
    factors = []
    for state in states:
        if not state.gradients:
            factor = ""
        elif state.visited == number and to in state.hands:
            factor = f"× {state.hands[to]}"
        factors.append(factor)
    path = f"M{x1:g} {y1:g}C{x1:g} {y1 + 42:g} {x2:g} {y2 + 42:g} {x2:g} {y2 + 3:g}m-6 9l6 -9l6 9"
    back = Part("path", class_="host line", d=path, display=Each(None if factor else "none" for factor in factors))
    return back, label((x1 + x2) / 2, (y1 + y2) / 2 + 54, Each(factors), "middle bold halo")
