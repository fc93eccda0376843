"""`product`: rows of features times a matrix."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def product(x: Any, matrix: Any) -> Any:
    """``x @ matrix``, for `x` with any number of axes before the features.

    NumPy multiplies a stack of matrices one by one. All their rows at once are quicker, on the way back too. What has
    no axes may know by itself how it's multiplied.
    """
    if getattr(x, "ndim", 0) < 3:
        return x @ matrix
    rows = np.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1]))
    return np.reshape(rows @ matrix, (*x.shape[:-1], matrix.shape[-1]))
