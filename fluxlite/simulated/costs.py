"""How much work a call is: the bytes that it reads and writes, and the operations that it takes.

A kernel needs as long as the longer of the two, the bytes through the card's memory or the operations; most
functions of arrays wait for memory. Operations are counted roughly: one for each element, unless it stands here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .surface import names

# Each element of these takes a series or a division by steps, not one instruction.
TEN_EACH = names(
    """
    exp exp2 expm1 log log2 log10 log1p logaddexp logaddexp2 power float_power sqrt cbrt divmod remainder fmod
    sin cos tan arcsin arccos arctan arctan2 hypot sinh cosh tanh arcsinh arccosh arctanh
    random standard_normal uniform integers i0 sinc linalg.norm var std nanvar nanstd
    """
)


def of_matmul(x: Any, y: Any, out: np.ndarray) -> float:
    """2·m·n·k for each pair of matrices: a product and a sum for each element of the result and each k."""
    return 2.0 * out.size * x.shape[-1]


def tiles(x: Any, y: Any, out: np.ndarray) -> int:
    """A product is computed in squares of 64 x 64 results, one multiprocessor each."""
    rows, columns = x.shape[-2] if x.ndim > 1 else 1, y.shape[-1] if y.ndim > 1 else 1
    batch = out.size // max(1, rows * columns)
    return batch * -(-rows // 64) * -(-columns // 64)


def _contracted(arrays: Sequence[np.ndarray], out: int, *rest: Any, **kwargs: Any) -> float:
    """A product in which each index stands in two of three arrays: (m·k)·(k·n)·(m·n) is the square of m·n·k.

    Exact for two operands without a batch; with a batch of b too large by the root of b.
    """
    return 2.0 * math.sqrt(math.prod(float(x.size) for x in arrays[:2]) * out)


def _einsum(arrays: Sequence[np.ndarray], out: int, subscripts: Any = "", *rest: Any, **kwargs: Any) -> float:
    """As in one loop over all labels; too much for three and more operands, which are taken in pairs.

    Axes under an ellipsis count through the result.
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
    """`factor`·n³ for each square matrix: the count that textbooks give, at the full rate, which is optimistic."""
    return lambda arrays, *rest, **kwargs: factor * arrays[0].size * min(arrays[0].shape[-2:])


def _sorted(arrays: Sequence[np.ndarray], *rest: Any, **kwargs: Any) -> float:
    size = arrays[0].size
    return size * math.log2(size + 1)


# The function's name: its operations, from the arrays among its arguments, the size of its result, and its arguments.
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

# They look at their argument's shape and dtype only.
_NOT_READ = names("zeros_like ones_like full_like empty_like")
# They read as much as they write, however large what they pick from is.
PICKING = names("choose compress extract take_along_axis")


def is_special(name: str) -> bool:
    """Whether more is to be asked about this function than how large its arrays are."""
    return name in _OPERATIONS or name in TEN_EACH or name in _NOT_READ or name in PICKING


def operations(name: str, arrays: Sequence[np.ndarray], made: Iterable[Any], args: Sequence, kwargs: dict) -> float:
    """Operations of the NumPy function of this name, for these arrays among its arguments and these results."""
    out = sum(result.size for result in made)
    if name in _OPERATIONS and arrays:
        operands = [x for x in args if isinstance(x, np.ndarray)] or arrays  # here x @ x has two
        return _OPERATIONS[name](operands, out, *args, **kwargs)
    largest = max([out, *(x.size for x in arrays)])
    return largest * 10.0 if name in TEN_EACH else float(largest)


def nbytes(name: str, arrays: Iterable[np.ndarray], made: Iterable[Any]) -> int:
    """Bytes that it reads and writes."""
    written = sum(result.nbytes for result in made)
    if name in _NOT_READ:
        return written
    if name in PICKING:
        return 2 * written
    return written + sum(x.nbytes for x in arrays)


def share(name: str, out: int, multiprocessors: int) -> float:
    """Which share of a card's multiprocessors such a result keeps busy; 1 for all but products."""
    return min(1.0, -(-out // 4096) / multiprocessors) if name in _PRODUCTS and out else 1.0
