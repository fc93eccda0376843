"""An SVG picture whose parts may have a value for each state.

The markup shows one state. What differs in the others is a list of moves: which part, which attribute, and its value in
each state. Equal values are written once.
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple


class Each(tuple):
    """An attribute's values, one for each state. None leaves the attribute out."""


class Part:
    """An SVG element: a tag, attributes, a text, and parts inside it.

    Underscores in attributes' names stand for hyphens. An attribute, or the text, may be an `Each`. Three attributes
    are instructions to us and to the script, and move other attributes:

    - ``only``: a pair ``(a, b)``. We show the parts inside whose ``data_n`` is from a to b.
    - ``xs``, ``ys``: coordinates. Lines inside run through these points, and other parts inside are put onto them.

    A click on a part with ``data_pick="1:2"`` chooses option 2 of knob 1. The knob itself is there for the keyboard; if
    it isn't, since it's a knob that's `picked`, the part is a button.

    >>> print(Part("circle", r=2, stroke_width=1).markup(0))
    <circle r="2" stroke-width="1"/>
    """

    def __init__(self, tag: str, *inside: Part, text: Any = None, **attributes: Any) -> None:
        self.tag, self.inside, self.text = tag, list(inside), text
        self.attributes = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}

    def parts(self) -> Iterator[Part]:
        """This part and all inside it, in the order of the markup."""
        yield self
        for part in self.inside:
            yield from part.parts()

    @property
    def moving(self) -> dict[str, Each]:
        """What has a value for each state, the text as ``text``."""
        return {name: value for name, value in [*self.attributes.items(), ("text", self.text)] if type(value) is Each}

    def markup(self, state: int, hidden: bool = True, **more: str) -> str:
        """The part in this state, as SVG, with `more` attributes. What's hidden in it is left out unless `hidden`."""
        shown = {name: _in(state, value) for name, value in self.attributes.items()} | more
        if shown.get("display") == "none" and not hidden:
            return ""
        only, xs, ys = (shown.pop(name, None) for name in ("only", "xs", "ys"))
        if self.moving:
            shown["data-moves"] = ""
        if xs is not None:
            shown["data-xs"] = json.dumps(xs, separators=(",", ":"))
        moved = zip(self.inside, self._moved(only, xs, ys))
        inside = "".join(part.markup(state, hidden, **attributes) for part, attributes in moved)
        written = "".join(f' {name}="{html.escape(_text(v))}"' for name, v in shown.items() if v is not None)
        text = _in(state, self.text)
        inside += html.escape("" if text is None else _text(text))
        return f"<{self.tag}{written}>{inside}</{self.tag}>" if inside else f"<{self.tag}{written}/>"

    def _moved(self, only: Sequence[int] | None, xs: Sequence[float] | None, ys: Any) -> Iterator[dict[str, str]]:
        """What `only`, or `xs` and `ys`, make of each part inside: its further attributes."""
        points = zip(xs or (), ys or ())
        for part in self.inside:
            if xs is not None and part.tag == "polyline":
                yield {"points": " ".join(f"{x:g},{y:g}" for x, y in zip(xs, ys))}
            elif xs is not None:
                yield {"transform": "translate({:g} {:g})".format(*next(points))}
            else:
                is_shown = only is None or only[0] <= part.attributes["data-n"] <= only[1]
                yield {} if is_shown else {"display": "none"}


class Move(NamedTuple):
    """How one attribute moves: the number of its part among those that move, and its value in each state."""

    part: int
    attribute: str
    values: list[Any]
    which: list[int]


def moves(picture: Part) -> list[Move]:
    """All that differs from state to state."""
    found = []
    for number, part in enumerate(part for part in picture.parts() if part.moving):
        for name, each in part.moving.items():
            values = {json.dumps(value): value for value in each}
            order = {key: i for i, key in enumerate(values)}
            found.append(Move(number, name, list(values.values()), [order[json.dumps(value)] for value in each]))
    return found


def drawing(width: int, height: int, title: str, *inside: Part) -> Part:
    """A picture of this size, whose name for a screen reader is `title`."""
    return Part("svg", *inside, viewBox=f"0 0 {width} {height}", role="img", aria_label=title)


def label(x: Any, y: Any, text: Any, look: Any = "", **more: Any) -> Part:
    """Words at a place: to its right, or, with ``"middle"`` or ``"end"`` in `look`, around it or to its left."""
    return Part("text", text=text, x=x, y=y, class_=look or None, **more)


def arrow(x1: float, y1: float, x2: float, y2: float, look: str) -> Part:
    """A straight arrow from one point to another, in the colour of a look such as ``"host"``.

    >>> print(arrow(0, 5, 40, 5, "gpu").inside[0].markup(0))
    <path class="line" d="M0 5L34 5"/>
    """
    angle = math.degrees(math.atan2(y2 - y1, x2 - x1))
    x, y = rounded((x2 - 6 * math.cos(math.radians(angle)), y2 - 6 * math.sin(math.radians(angle))))
    shaft = Part("path", class_="line", d=f"M{x1:g} {y1:g}L{x:g} {y:g}")
    head = Part("path", d="M0 0L-12 -6V6Z", transform=f"translate({x2:g} {y2:g}) rotate({angle:g})", stroke="none")
    return Part("g", shaft, head, class_=look)


def rounded(numbers: Iterable[float]) -> list[float]:
    """Coordinates with few digits, whole ones without a point."""
    return [int(x) if x == int(x) else x for x in (round(float(number), 1) for number in numbers)]


def _in(state: int, value: Any) -> Any:
    return value[state] if type(value) is Each else value


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
