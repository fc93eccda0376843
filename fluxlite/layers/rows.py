"""`product`: rows of features times a matrix."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..messages import notice


def product(x: Any, matrix: Any) -> Any:
    """``x @ matrix``, for `x` with any number of axes before the features.

    NumPy multiplies a stack of matrices one by one. All their rows at once are quicker, on the way back too. What has
    no axes may know by itself how it's multiplied.
    """
    if getattr(x, "ndim", 0) < 3:
        return x @ matrix
    if x.ndim == 4 and _looks_channels_first(x.shape):
        shape = tuple(x.shape)
        notice(
            ("channels first", shape[1:]),
            f"a layer multiplies the last axis of its input, of shape {shape}. If these are pictures (N, C, H, W), "
            "that is each row of a picture: fl.flatten(x) makes one row of each picture, np.moveaxis(x, 1, -1) puts "
            "the channels last.",
        )
    rows = np.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1]))
    return np.reshape(rows @ matrix, (*x.shape[:-1], matrix.shape[-1]))


def _looks_channels_first(shape: tuple[int, ...]) -> bool:
    """Square pictures of one channel or of three."""
    return shape[1] in (1, 3) and shape[2] == shape[3] > 3
