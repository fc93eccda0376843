"""How much work a call is: the bytes that it reads and writes, and its operations.

A kernel takes as long as the slower of the two: moving the bytes, or doing the operations. Most array functions wait
for memory. We count operations roughly: one per element, unless it's listed here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .asked import understood
from .surface import names

# Each element of these takes a series or a division in steps, not one instruction.
TEN_EACH = names(
    """
    exp exp2 expm1 log log2 log10 log1p logaddexp logaddexp2 power float_power sqrt cbrt divmod remainder fmod
    sin cos tan arcsin arccos arctan arctan2 hypot sinh cosh tanh arcsinh arccosh arctanh
    random standard_normal uniform integers i0 sinc linalg.norm var std nanvar nanstd
    """
)


def of_matmul(x: Any, y: Any, out: np.ndarray) -> float:
    """2·m·n·k for each pair of matrices: one product and one sum for each element of the result and each k."""
    return 2.0 * out.size * x.shape[-1]


def tiles(x: Any, y: Any, out: np.ndarray) -> int:
    """A product is computed in tiles of 64 x 64 results, one per multiprocessor."""
    rows, columns = x.shape[-2] if x.ndim > 1 else 1, y.shape[-1] if y.ndim > 1 else 1
    batch = out.size // max(1, rows * columns)
    return batch * -(-rows // 64) * -(-columns // 64)


def _contracted(arrays: Sequence[np.ndarray], out: int, /, *rest: Any, **kwargs: Any) -> float:
    """A product where each index is in two of three arrays: (m·k)·(k·n)·(m·n) is the square of m·n·k.

    Exact for two operands without a batch; for a batch of b, too large by the square root of b.
    """
    return 2.0 * math.sqrt(math.prod(float(x.size) for x in arrays[:2]) * out)


def _einsum(arrays: Sequence[np.ndarray], out: int, /, subscripts: Any = "", *rest: Any, **kwargs: Any) -> float:
    """The operations of one loop over all labels. That's too many for more than two operands, contracted in pairs.

    Axes under an ellipsis are counted by way of the result.
    """
    if not isinstance(subscripts, str):
        return float(out)
    terms = subscripts.replace(" ", "").partition("->")[0].replace("...", "").split(",")
    lengths: dict[str, int] = {}
    for term, x in zip(terms, arrays):
        for label, length in zip(reversed(term), reversed(x.shape)):
            lengths[label] = max(length, lengths.get(label, 1))
    return max(2.0 * math.prod(lengths.values()), float(out))


def _cubed(factor: float) -> Callable[..., float]:
    """`factor`·n³ for each square matrix. That's the textbook count, at the full rate, which is optimistic."""
    return lambda arrays, /, *rest, **kwargs: factor * arrays[0].size * min(arrays[0].shape[-2:])


def _sorted(arrays: Sequence[np.ndarray], /, *rest: Any, **kwargs: Any) -> float:
    size = arrays[0].size
    return size * math.log2(size + 1)


# Each function's operations, given its array arguments, the size of its result, and all its arguments.
_OPERATIONS: dict[str, Callable[..., float]] = {
    "dot": _contracted, "vdot": _contracted, "inner": _contracted, "tensordot": _contracted, "convolve": _contracted,
    "einsum": _einsum,
    "linalg.cholesky": _cubed(1 / 3), "linalg.det": _cubed(2 / 3), "linalg.slogdet": _cubed(2 / 3),
    "linalg.solve": _cubed(2 / 3), "linalg.inv": _cubed(2), "linalg.qr": _cubed(4 / 3), "linalg.eigh": _cubed(9),
    "linalg.eigvalsh": _cubed(4), "linalg.svd": _cubed(20), "linalg.pinv": _cubed(20), "linalg.lstsq": _cubed(4),
    "linalg.matrix_rank": _cubed(4), "linalg.matrix_power": _cubed(4),
    "sort": _sorted, "argsort": _sorted, "unique": _sorted, "median": _sorted, "partition": _sorted,
}  # fmt: skip
_PRODUCTS = names("dot inner tensordot einsum")

# These look only at their argument's shape and dtype.
_NOT_READ = names("zeros_like ones_like full_like empty_like")
# These read as much as they write, however large the array that they pick from.
PICKING = names("choose compress extract take_along_axis")


def is_special(name: str) -> bool:
    """Whether this function's cost depends on more than the size of its arrays."""
    return name in _OPERATIONS or name in TEN_EACH or name in _NOT_READ or name in PICKING


def operations(name: str, arrays: Sequence[np.ndarray], made: Iterable[Any], args: Sequence, kwargs: dict) -> float:
    """The operations of the NumPy function `name`, given its array arguments and its results."""
    out = sum(result.size for result in made)
    largest = max([out, *(x.size for x in arrays)])
    if name in _OPERATIONS and arrays:
        operands = [x for x in args if isinstance(x, np.ndarray)] or arrays  # here x @ x has two
        return understood(float(largest), _OPERATIONS[name], operands, out, *args, **kwargs)
    return largest * 10.0 if name in TEN_EACH else float(largest)


def nbytes(name: str, arrays: Iterable[np.ndarray], made: Iterable[Any]) -> int:
    """The bytes that it reads and writes."""
    written = sum(result.nbytes for result in made)
    if name in _NOT_READ:
        return written
    if name in PICKING:
        return 2 * written
    return written + sum(x.nbytes for x in arrays)


def share(name: str, out: int, multiprocessors: int) -> float:
    """The share of a card's multiprocessors that such a result keeps busy. It's 1 except for products."""
    return min(1.0, -(-out // 4096) / multiprocessors) if name in _PRODUCTS and out else 1.0
