"""When are two outputs of a cell the same? Text must be equal; a number may differ in the last digit that is written.

Processors round differently, and training makes the difference larger. So "loss 0.0649" and "loss 0.0650" are the same
output, and 0.06492143 and 0.06492267 are not: who prints a trained number prints few digits of it. Whole numbers,
which count something, must be equal. `conftest.py` gives this rule to nbval.
"""

from __future__ import annotations

import re
from decimal import Decimal

# 0.0649, -18., 1e-07, 1,644 and 3; but X3, v0.1.0 and 03.3 are names
_NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?!0\d)(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d*(?!\.\d))?(?:[eE][-+]?\d+)?(?!\d|\.\d)"
)


class Output(str):
    """A cell's output, equal to others by the rule above."""

    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and alike(str(self), str(other))

    def __ne__(self, other: object) -> bool:
        return not self == other


def alike(one: str, other: str, tolerance: float = 0) -> bool:
    """Whether two texts are the same but for the last digits of their numbers, and the width of their columns.

    With a `tolerance`, numbers that aren't whole may be that far apart, relative to the larger one.

    >>> alike("loss 0.0649", "loss 0.0650"), alike("loss 0.0649", "loss 0.0651")
    (True, False)
    >>> alike("[ 9.99 1.  ]", "[10.   1.  ]"), alike("12 launches", "13 launches")
    (True, False)
    >>> alike("loss 0.0649", "loss 0.0651", 0.01), alike("12 launches", "13 launches", 0.1)
    (True, False)
    """
    if one == other:
        return True
    numbers, others = _NUMBER.findall(one), _NUMBER.findall(other)
    if _words(one) != _words(other) or len(numbers) != len(others):
        return False
    return all(_close(a, b, tolerance) for a, b in zip(numbers, others))


def _words(text: str) -> str:
    """What is between the numbers. Spaces there only fill columns."""
    return re.sub(r"\s+", "", _NUMBER.sub("#", text))


def _close(one: str, other: str, tolerance: float) -> bool:
    """At most one apart in the last digit that either has written; whole numbers, also 18., are equal."""
    a, b = (Decimal(number.replace(",", "")) for number in (one, other))
    last = min(int(number.as_tuple().exponent) for number in (a, b))
    allowed = max(Decimal(1).scaleb(last), Decimal(tolerance) * max(abs(a), abs(b)))
    return abs(a - b) <= allowed if last else a == b
