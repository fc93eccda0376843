"""Axes of a scene: where a value is in the picture, and lines with round numbers."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from .parts import Part, label, rounded


class Axis(NamedTuple):
    """From the values `low` to `high` to the coordinates `begin` to `end` of the picture, evenly or by powers of ten.

    >>> Axis(0, 100, 10, 210)(50)
    110
    """

    low: float
    high: float
    begin: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        f: Callable[[float], float] = math.log if self.log else float
        share = (f(value) - f(self.low)) / (f(self.high) - f(self.low))
        return rounded([self.begin + share * (self.end - self.begin)])[0]

    def round_numbers(self, most: int = 8) -> list[float]:
        """At most this many round numbers between low and high; on a logarithmic axis, powers of ten."""
        if self.log:
            powers = range(math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9) + 1)
            return [10.0**power for power in powers[:: math.ceil(len(powers) / most)]]
        power = 10.0 ** math.floor(math.log10((self.high - self.low) / most))
        step = next(power * n for n in (1, 2, 5, 10) if (self.high - self.low) / (power * n) <= most)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [round(number * step, 12) for number in range(first, last + 1)]


def across(
    axis: Axis, y: float, about: str, at: Sequence[float] = (), text: Callable[[float], str] = "{:,g}".format
) -> Iterator[Part]:
    """A horizontal axis at height `y`, with numbers `at` these values, or round ones, and what it's about below."""
    yield Part("path", class_="axis", d=f"M{axis.begin} {y}H{axis.end}")
    numbers = at or axis.round_numbers()
    for place, number in enumerate(numbers):
        # If there are many, a narrow page leaves out every other one.
        look = "middle wide" if len(numbers) > 8 and place % 2 == 0 else "middle"
        yield Part("path", class_="axis", d=f"M{axis(number)} {y}v6")
        yield label(axis(number), y + 24, text(number), look)
    yield label((axis.begin + axis.end) / 2, y + 48, about, "middle")


def upward(
    axis: Axis, x: float, about: str, at: Sequence[float] = (), text: Callable[[float], str] = "{:,g}".format
) -> Iterator[Part]:
    """A vertical axis at `x`, its numbers left of it, and what it's about above. Its `end` is the upper one."""
    yield Part("path", class_="axis", d=f"M{x} {axis.begin}V{axis.end}")
    for number in at or axis.round_numbers(6):
        yield Part("path", class_="axis", d=f"M{x} {axis(number)}h-6")
        yield label(x - 10, axis(number) + 5, text(number), "end")
    yield label(x, axis.end - 12, about, "middle" if x > 120 else "")


def curve(xs: Sequence[float], ys: Sequence[float], look: str) -> Part:
    """A line through these coordinates, with a look such as ``"host"`` or ``"gpu simulated"``."""
    points = " ".join(f"{x:g},{y:g}" for x, y in zip(rounded(xs), rounded(ys)))
    return Part("polyline", class_=f"{look} line", points=points)
