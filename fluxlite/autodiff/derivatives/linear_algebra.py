"""``np.linalg``, for small teaching examples: also over batches of matrices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...arrays import primitive
from ..rules import composed, rule
from .elementwise import fit
from .products import transposed


def inverse_pullback(g: Any, out: Any, a: Any) -> Any:
    return -transposed(out) @ g @ transposed(out)


rule(np.linalg.inv, inverse_pullback)


def right_side(g: Any, out: Any, a: Any, b: Any) -> Any:
    if np.ndim(b) == 1:  # one vector, perhaps for a batch of matrices
        return fit(np.linalg.solve(transposed(a), g[..., None])[..., 0], b)
    return fit(np.linalg.solve(transposed(a), g), b)


def matrix_of_solve(g: Any, out: Any, a: Any, b: Any) -> Any:
    if np.ndim(b) == 1:
        back = np.linalg.solve(transposed(a), g[..., None])
        return fit(-back * out[..., None, :], a)
    return fit(-np.linalg.solve(transposed(a), g) @ transposed(out), a)


rule(np.linalg.solve, matrix_of_solve, right_side)


def scale(g: Any) -> Any:
    """One number for each matrix."""
    return np.reshape(g, (*g.shape, 1, 1))


rule(np.linalg.det, lambda g, out, a: scale(g * out) * transposed(np.linalg.inv(a)))


@primitive
def logabsdet(a: Any) -> Any:
    return np.linalg.slogdet(a)[1]


rule(logabsdet, lambda g, out, a: scale(g) * transposed(np.linalg.inv(a)))


@primitive
def sign_of_determinant(a: Any) -> Any:
    return np.linalg.slogdet(a)[0]


rule(sign_of_determinant, lambda g, out, a: np.zeros_like(a))


class Slogdet(NamedTuple):
    """Under the names that NumPy's result has."""

    sign: Any
    logabsdet: Any


composed(np.linalg.slogdet)(lambda a: Slogdet(sign_of_determinant(a), logabsdet(a)))


def cholesky_pullback(g: Any, out: Any, a: Any) -> Any:
    """Murray (2016), "Differentiation of the Cholesky decomposition"; symmetric, as `a` is."""
    middle = np.tril(transposed(out) @ g)
    middle = middle - np.triu(middle) / 2  # the diagonal counts half
    inverse = np.linalg.inv(out)
    s = transposed(inverse) @ middle @ inverse
    return (s + transposed(s)) / 2


rule(np.linalg.cholesky, cholesky_pullback)
