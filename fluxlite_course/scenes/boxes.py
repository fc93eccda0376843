"""Arrows."""

import math

from .parts import Part, rounded


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
