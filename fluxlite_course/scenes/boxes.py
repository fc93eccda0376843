"""Boxes with a title, and arrows."""

import math
from typing import Any

from .parts import Part, label, rounded


def box(x: float, y: float, width: float, height: float, title: Any, *inside: Part) -> Part:
    """A box with round corners, its title above it, and parts inside, whose corner (0, 0) is the box's own."""
    frame = Part("rect", class_="box", width=width, height=height, rx=8)
    named = label(width / 2, -10, title, "middle bold")
    return Part("g", frame, named, *inside, transform=f"translate({x:g} {y:g})")


def arrow(x1: float, y1: float, x2: float, y2: float, look: str, dashed: bool = False) -> Part:
    """A straight arrow from one point to another, in the colour of a look such as ``"host"``.

    >>> print(arrow(0, 5, 40, 5, "gpu").inside[0].markup(0))
    <path class="line" d="M0 5L34 5"/>
    """
    angle = math.degrees(math.atan2(y2 - y1, x2 - x1))
    x, y = rounded((x2 - 6 * math.cos(math.radians(angle)), y2 - 6 * math.sin(math.radians(angle))))
    shaft = Part("path", class_="line dashed" if dashed else "line", d=f"M{x1:g} {y1:g}L{x:g} {y:g}")
    head = Part("path", d="M0 0L-12 -6V6Z", transform=f"translate({x2:g} {y2:g}) rotate({angle:g})", stroke="none")
    return Part("g", shaft, head, class_=look)
