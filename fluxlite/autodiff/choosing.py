"""`unless`: a gradient, and 0 where a condition holds."""

from __future__ import annotations

from typing import Any

import numpy as np


def unless(condition: Any, g: Any, holds: bool = False) -> Any:
    """``np.where(condition, 0, g)``, or, if `holds`, ``np.where(condition, g, 0)``.

    For plain arrays of one shape it's computed with bits. `np.where` decides for each number by itself, and where the
    processor can't foresee the decision, as after a `relu`, that takes forty times as long.

    >>> g = np.array([2.0, np.inf])
    >>> unless(np.array([False, True]), g), unless(np.array([False, True]), g, holds=True)
    (array([2., 0.]), array([ 0., inf]))
    """
    is_plain = type(g) is type(condition) is np.ndarray and g.dtype.kind == "f" and g.itemsize <= 8
    if not is_plain or g.shape != condition.shape or condition.dtype != bool:
        return np.where(condition, g, 0) if holds else np.where(condition, 0, g)
    ones = condition.view(np.int8)
    bits = (np.negative(ones) if holds else ones - 1).astype(f"i{g.itemsize}")  # all bits set, or none
    bits &= g.view(bits.dtype)
    return bits.view(g.dtype)
