"""Times that say what kind of time they are, and how a time is written."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..words import in_words

KINDS = ("measured", "recorded", "simulated", "published")


def _operator(name: str, is_sum: bool) -> Any:
    """Float's method. A sum or a difference keeps the kind. A product or a quotient of two times is a bare number."""

    def method(self, other):
        is_time = isinstance(other, Seconds)
        if is_sum and is_time and (other.kind, other.card) != (self.kind, self.card):
            raise TypeError(
                f"{self} and {other} are two kinds of time and have no sum or difference; put them side by side, or "
                "say with float(…) that you mean the bare numbers"
            )
        value = getattr(float, name)(self, other)
        is_bare = value is NotImplemented or is_time and not is_sum
        if is_bare:
            return value
        return Seconds(value, self.kind, self.card)

    return method


class _Short(type):
    """`help(Seconds)` shows what's written below, without all that any float can do."""

    def __dir__(cls) -> list[str]:
        return []


class Seconds(float, metaclass=_Short):
    """A number of seconds that knows its `kind`, and its `card` if there is one.

    A time is ``"measured"`` on this machine, ``"recorded"`` by us on a named machine and date, ``"simulated"`` by a
    model of a named card, or ``"published"`` by someone else, in a named source. You can't mix these: adding or
    subtracting two kinds, or two cards, raises `TypeError`. A plain number takes on the kind.

    >>> Seconds(0.83, "simulated", "NVIDIA T4") + Seconds(0.17, "simulated", "NVIDIA T4")
    1 s simulated (NVIDIA T4)
    >>> Seconds(0.83, "simulated", "NVIDIA T4") - Seconds(0.09, "measured")
    Traceback (most recent call last):
    TypeError: 0.83 s simulated (NVIDIA T4) and 90 ms measured are two kinds of time and have no sum or difference; ...
    """

    kind: str
    card: str

    def __new__(cls, value: float, kind: str, card: str = "") -> Seconds:
        if not isinstance(kind, str) or kind not in KINDS:
            kinds = "measured, recorded, simulated or published"
            raise ValueError(f"Seconds(value, kind): the kind of a time is {kinds}, not {in_words(kind)}")
        if not isinstance(value, (int, float, np.number)) or isinstance(value, bool):
            raise TypeError(f"Seconds(value, kind) takes a number of seconds, got {in_words(value)}")
        if not isinstance(card, str):
            raise TypeError(f"card=… is the name of a card, got {in_words(card)}")
        self = super().__new__(cls, value)
        self.kind, self.card = kind, card
        return self

    def __repr__(self) -> str:
        return f"{duration(self)} {self.kind}{f' ({self.card})' if self.card else ''}"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        if spec:
            return format(float(self), spec)
        return str(self)

    def __reduce__(self) -> Any:
        return Seconds, (float(self), self.kind, self.card)

    __add__, __radd__ = _operator("__add__", True), _operator("__radd__", True)
    __sub__, __rsub__ = _operator("__sub__", True), _operator("__rsub__", True)
    __mul__ = __rmul__ = _operator("__mul__", False)
    __truediv__ = _operator("__truediv__", False)


def duration(seconds: float) -> str:
    """Seconds in a suitable unit, with two or three digits.

    >>> [duration(x) for x in (83.04, 0.831, 0.01129, 2.87e-3, 8e-6, 5e-9, 0.0)]
    ['83 s', '0.83 s', '11.3 ms', '2.87 ms', '8 µs', '5 ns', '0 s']
    """
    size = abs(seconds)
    if size >= 100 or size == 0:
        return f"{float(seconds):,.0f} s"
    if size >= 1:
        return f"{float(seconds):.3g} s"
    if size >= 0.0995:
        return f"{float(seconds):.2g} s"
    for factor, unit in ((1e3, "ms"), (1e6, "µs")):
        if size * factor >= 0.9995:
            return f"{float(seconds) * factor:.3g} {unit}"
    return f"{float(seconds) * 1e9:.3g} ns"
