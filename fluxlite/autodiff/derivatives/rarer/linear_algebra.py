"""``np.linalg``, for small teaching examples: also over batches of matrices."""

from typing import Any, NamedTuple

import numpy as np

from ....arrays import on_device_of, primitive, scatter_add
from ...rules import composed, rule
from ...tracked import plain
from ..elementwise import fit
from ..sums import axes_of, count, direction, kept, transposed
from .spectra import singular_values


def inverse_pullback(g, out, a):
    return -transposed(out) @ g @ transposed(out)


rule(np.linalg.inv, inverse_pullback)


def right_side(g, out, a, b):
    if np.ndim(b) == 1:  # one vector, perhaps for a batch of matrices
        return fit(np.linalg.solve(transposed(a), g[..., None])[..., 0], b)
    return fit(np.linalg.solve(transposed(a), g), b)


def matrix_of_solve(g, out, a, b):
    if np.ndim(b) == 1:
        back = np.linalg.solve(transposed(a), g[..., None])
        return fit(-back * out[..., None, :], a)
    return fit(-np.linalg.solve(transposed(a), g) @ transposed(out), a)


rule(np.linalg.solve, matrix_of_solve, right_side)


def scale(g):
    """One number for each matrix."""
    return np.reshape(g, (*g.shape, 1, 1))


def cofactors(a, out):
    """What each element of a matrix contributes to its determinant `out`; of a singular one without its inverse.

    The cofactor at row i and column j is, up to the sign, the determinant of what is left without that row and column.
    """
    n = a.shape[-1]
    if bool(np.all(plain(out) != 0)) or n > 16:  # there are n * n cofactors, each from n * n elements
        return scale(out) * transposed(np.linalg.inv(a))
    left = np.array([[j for j in range(n) if j != i] for i in range(n)], dtype=int).reshape(n, n - 1)
    sign = on_device_of(plain(a), (-1.0) ** np.add.outer(range(n), range(n)).astype(plain(a).dtype))
    return np.linalg.det(a[..., left[:, None, :, None], left[None, :, None, :]]) * sign


rule(np.linalg.det, lambda g, out, a: scale(g) * cofactors(a, out))


@primitive
def logabsdet(a):
    return np.linalg.slogdet(a)[1]


rule(logabsdet, lambda g, out, a: scale(g) * transposed(np.linalg.inv(a)))


@primitive
def sign_of_determinant(a):
    return np.linalg.slogdet(a)[0]


rule(sign_of_determinant, lambda g, out, a: np.zeros_like(a))


class Slogdet(NamedTuple):
    """Under the names that NumPy's result has."""

    sign: Any
    logabsdet: Any


composed(np.linalg.slogdet)(lambda a: Slogdet(sign_of_determinant(a), logabsdet(a)))


def cholesky_pullback(g, out, a):
    """Murray (2016), "Differentiation of the Cholesky decomposition"; symmetric, as `a` is."""
    middle = np.tril(transposed(out) @ g)
    middle = middle - np.triu(middle) / 2  # the diagonal counts half
    inverse = np.linalg.inv(out)
    s = transposed(inverse) @ middle @ inverse
    return (s + transposed(s)) / 2


rule(np.linalg.cholesky, cholesky_pullback)


# -- norms
@primitive
def euclidean(x, axis, keepdims):
    """The root of the sum of squares."""
    return np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims))


def euclidean_pullback(g, out, x, axis, keepdims):
    return kept(g, x, axis, keepdims) * direction(x, axis)  # 0 at the tip of the cone, as in PyTorch


rule(euclidean, euclidean_pullback)


def matrix_norm(x, ord, axes, keepdims):
    if ord in (1, -1, np.inf, -np.inf):  # the largest, or smallest, sum of a column or row
        down, across = axes if abs(ord) == 1 else axes[::-1]
        sums = np.sum(np.abs(x), axis=down, keepdims=True)
        largest = np.max(sums, axis=across, keepdims=True) if ord > 0 else np.min(sums, axis=across, keepdims=True)
        return largest if keepdims else np.squeeze(largest, axes)
    if ord not in ("nuc", 2, -2):
        raise ValueError(f"np.linalg.norm of a matrix takes no ord={ord!r}")
    values = singular_values(np.moveaxis(x, axes, (-2, -1)))
    reduce: Any = {"nuc": np.sum, 2: np.max, -2: np.min}[ord]
    result = reduce(values, axis=-1)
    return np.reshape(result, tuple(1 if i in axes else n for i, n in enumerate(x.shape))) if keepdims else result


@composed(np.linalg.norm)
def norm(x, ord=None, axis=None, keepdims=False):
    is_vector = len(axes_of(x, axis)) == 1
    if len(axes_of(x, axis)) not in (1, 2) and not (ord is axis is None):
        raise ValueError("the norm of a vector has one axis, that of a matrix two")
    if ord is None or ord == "fro" and not is_vector or ord == 2 and is_vector:
        return euclidean(x, axis, keepdims)
    if not is_vector:
        return matrix_norm(x, ord, axes_of(x, axis), keepdims)
    if ord == 0:
        raise TypeError("np.linalg.norm of a vector has no derivative rule for ord=0, which counts")
    sizes = np.abs(x)
    if ord == np.inf:
        return np.max(sizes, axis=axis, keepdims=keepdims)
    if ord == -np.inf:
        return np.min(sizes, axis=axis, keepdims=keepdims)
    if ord == 1:
        return np.sum(sizes, axis=axis, keepdims=keepdims)
    total = np.sum(sizes**ord, axis=axis, keepdims=keepdims)
    # At 0 the root has no slope. Both are needed: np.where picks from a root that was computed everywhere.
    return np.where(total == 0, 0, np.where(total == 0, 1, total) ** (1 / ord))


@composed(np.linalg.vector_norm)
def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """Over several axes as over one: they are joined first."""
    axes = axes_of(x, axis)
    others = tuple(i for i in range(np.ndim(x)) if i not in axes)
    rows = np.reshape(np.transpose(x, others + axes), (*(x.shape[i] for i in others), count(x, axis)))
    result = norm(rows, ord, -1)
    return np.reshape(result, tuple(1 if i in axes else n for i, n in enumerate(x.shape))) if keepdims else result


# -- diagonals
@composed(np.diagonal)
def diagonal(a, offset=0, axis1=0, axis2=1):
    """In memory, the elements of a diagonal are one row and one element apart: a slice with a step."""
    a = np.moveaxis(a, (axis1, axis2), (-2, -1))
    rows, columns = a.shape[-2:]
    start = offset if offset >= 0 else -offset * columns
    length = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    flat = np.reshape(a, (*a.shape[:-2], rows * columns))
    return flat[..., start : start + length * (columns + 1) : columns + 1][..., :length]


@composed(np.trace)
def trace(a, offset=0, axis1=0, axis2=1):
    return np.sum(diagonal(a, offset, axis1, axis2), axis=-1)


@composed(np.diag)
def diag(v, k=0):
    if v.ndim == 2:
        return diagonal(v, k)
    if v.ndim != 1:
        raise ValueError(f"np.diag takes a vector or a matrix, got shape {v.shape}")
    n = v.size + abs(k)
    flat = np.zeros_like(plain(v), shape=(n * n,))
    start = k if k >= 0 else -k * n
    return np.reshape(scatter_add(flat, slice(start, start + v.size * (n + 1), n + 1), v), (n, n))
