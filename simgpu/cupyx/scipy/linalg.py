"""CuPy's `cupyx.scipy.linalg`: special matrices, and equations with triangular ones."""

from typing import Any

import numpy as np
import scipy.linalg

from ...functions import get
from ...surface import lister
from .bridge import finder

kron = get("kron")  # CuPy's own


def _bandwidth(a: np.ndarray) -> tuple[int, int]:
    """How far from the diagonal there's an element: below, and above. SciPy's takes few types."""
    if a.ndim != 2:
        raise np.linalg.LinAlgError(f"expected an array with two axes, got {a.ndim}")
    rows, columns = np.nonzero(a)
    below, above = rows - columns, columns - rows
    return int(below.max(initial=0)), int(above.max(initial=0))


def _solve_triangular(
    a: np.ndarray, b: np.ndarray, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False,
    overwrite_b: bool = False, check_finite: bool = False,
) -> Any:  # fmt: skip
    """SciPy's. CuPy takes a stack of matrices with a stack of right sides, and no other shapes."""
    options = {"lower": lower, "unit_diagonal": unit_diagonal, "check_finite": check_finite}
    if a.ndim <= 2 and b.ndim <= 2:
        return scipy.linalg.solve_triangular(a, b, trans, **options)
    if a.ndim != 3 or a.shape[1] != a.shape[2] or b.shape[:2] != a.shape[:2]:
        raise ValueError(f"incompatible dimensions: {a.shape} and {b.shape}")
    return np.stack([scipy.linalg.solve_triangular(one, other, trans, **options) for one, other in zip(a, b)])


__getattr__ = finder(__name__, "scipy.linalg", {"bandwidth": _bandwidth, "solve_triangular": _solve_triangular})
__dir__ = lister(__name__)
