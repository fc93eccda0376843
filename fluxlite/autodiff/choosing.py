"""`only`: a gradient where a condition holds, and 0 elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np


def only(chosen: Any, g: Any) -> Any:
    """``np.where(chosen, g, 0)``, also 0 where `g` is infinite or NaN.

    For a plain array of the same shape it's computed with bits. `np.where` decides for each number by itself; where the
    processor can't foresee the decision, as after a `relu`, that takes forty times as long.

    >>> only(np.array([True, False]), np.array([2.0, np.inf]))
    array([2., 0.])
    """
    plain = type(g) is type(chosen) is np.ndarray and g.dtype.kind == "f" and g.itemsize <= 8
    if not plain or g.shape != chosen.shape or chosen.dtype != bool:
        return np.where(chosen, g, 0)
    bits = np.negative(chosen.view(np.int8)).astype(f"i{g.itemsize}")  # all ones, or all zeros
    bits &= g.view(bits.dtype)
    return bits.view(g.dtype)
