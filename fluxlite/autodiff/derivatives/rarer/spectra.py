"""Eigenvalues and singular values, and what is made of them; powers and chains of matrices; products of vectors.

Where two eigenvalues or singular values are equal, their vectors can be turned into each other and have no
derivative: it is infinite, or no number. The values themselves have one.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from ....arrays import primitive
from ...rules import composed, rule
from ...tracked import plain
from ..sums import transposed
from .shaping import all_arrays


# -- symmetric matrices
class Eigh(NamedTuple):
    """Under the names that NumPy's result has."""

    eigenvalues: Any
    eigenvectors: Any


def both_halves(g):
    """NumPy reads one half of the matrix, which stands for both."""
    return (g + transposed(g)) / 2


def eigenvalues_pullback(g, out, a, UPLO="L"):  # noqa: N803  (NumPy's name)
    v = np.linalg.eigh(a, UPLO)[1]
    return both_halves((v * g[..., None, :]) @ transposed(v))


rule(np.linalg.eigvalsh, eigenvalues_pullback)


@primitive
def eigenvectors(a, UPLO):  # noqa: N803
    return np.linalg.eigh(a, UPLO)[1]


def eigenvectors_pullback(g, out, a, UPLO):  # noqa: N803
    """Giles (2008), "Collected matrix derivative results for forward and reverse mode"."""
    w = np.linalg.eigvalsh(a, UPLO)
    inner = transposed(out) @ g * apart(w[..., None, :] - w[..., :, None])
    return both_halves(out @ inner @ transposed(out))


def apart(differences):
    """One divided by the differences between all, and 0 on the diagonal."""
    one = np.diag(np.ones_like(plain(differences), shape=differences.shape[-1:]))
    return (1 - one) / (differences + one)


rule(eigenvectors, eigenvectors_pullback)


@composed(np.linalg.eigh)
def eigh(a, UPLO="L"):  # noqa: N803
    return Eigh(np.linalg.eigvalsh(a, UPLO), eigenvectors(a, UPLO))


# -- any matrices
class Svd(NamedTuple):
    """Under the names that NumPy's result has."""

    U: Any
    S: Any
    Vh: Any


@primitive
def singular_values(a):
    return np.linalg.svd(a, compute_uv=False)


def singular_values_pullback(g, out, a):
    u, _, vh = np.linalg.svd(a, full_matrices=False)
    return (u * g[..., None, :]) @ vh


rule(singular_values, singular_values_pullback)


@primitive
def singular_vectors(a):
    """Those of both sides, one below the other: they have to come from one decomposition."""
    u, _, vh = np.linalg.svd(a, full_matrices=False)
    return np.concatenate([u, transposed(vh)], axis=-2)


def singular_vectors_pullback(g, out, a):
    """Townsend (2016), "Differentiating the singular value decomposition"."""
    rows, s = a.shape[-2], singular_values(a)[..., None, :]
    u, v, gu, gv = out[..., :rows, :], out[..., rows:, :], g[..., :rows, :], g[..., rows:, :]
    of_u, of_v = transposed(u) @ gu, transposed(v) @ gv
    f = apart((s - transposed(s)) * (s + transposed(s)))
    turned = (of_u - transposed(of_u)) * f * s + transposed(s) * (of_v - transposed(of_v)) * f
    outside_u, outside_v = (gu - u @ of_u) / s, (gv - v @ of_v) / s
    return (u @ turned + outside_u) @ transposed(v) + u @ transposed(outside_v)


rule(singular_vectors, singular_vectors_pullback)


@composed(np.linalg.svd)
def svd(a, full_matrices=True, compute_uv=True):
    if not compute_uv:
        return singular_values(a)
    rows, columns = a.shape[-2:]
    if full_matrices and rows != columns:
        raise TypeError("np.linalg.svd has a derivative rule for full_matrices=False: the other vectors have none")
    both = singular_vectors(a)
    return Svd(both[..., :rows, :], singular_values(a), transposed(both[..., rows:, :]))


composed(np.linalg.svdvals)(lambda x, /: singular_values(x))


def inverse_pullback(g, out, a, rcond=None):
    """Golub and Pereyra (1973), "The differentiation of pseudo-inverses"; while the rank stays what it is."""
    other, back = transposed(out), transposed(g)
    missed, free = back - a @ out @ back, back - back @ out @ a
    return missed @ out @ other + other @ out @ free - other @ g @ other


rule(np.linalg.pinv, inverse_pullback)


# -- powers, chains
@composed(np.linalg.matrix_power)
def matrix_power(a, n):
    """By squaring: each digit of `n` in base two is one product, or none."""
    if np.ndim(a) < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"np.linalg.matrix_power takes square matrices, got shape {np.shape(a)}")
    if n < 0:
        a, n = np.linalg.inv(a), -n
    if n == 0:
        return a * 0 + np.diag(np.ones_like(plain(a), shape=a.shape[-1:]))
    result = None
    for digit in reversed(f"{n:b}"):
        if digit == "1":
            result = a if result is None else result @ a
        a = a @ a
    return result


@composed(np.linalg.multi_dot)
def multi_dot(arrays):
    if len(arrays) < 2 or any(np.ndim(x) not in (1, 2) for x in arrays) or any(np.ndim(x) == 1 for x in arrays[1:-1]):
        raise np.linalg.LinAlgError(
            "np.linalg.multi_dot takes at least two matrices; the first and last may be vectors"
        )
    return functools.reduce(np.matmul, arrays)


def vecdot(x1, x2, /, *, axis=-1):
    x1, x2 = (x if axis == -1 else np.moveaxis(x, axis, -1) for x in all_arrays(x1, x2))
    return np.matmul(x1[..., None, :], x2[..., :, None])[..., 0, 0]


composed(np.vecdot)(vecdot)
composed(np.linalg.vecdot)(vecdot)


@composed(np.cross)
def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    axisa, axisb, axisc = (axisa, axisb, axisc) if axis is None else (axis, axis, axis)
    a, b = np.moveaxis(a, axisa, -1), np.moveaxis(b, axisb, -1)
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        raise TypeError("np.cross has a derivative rule for vectors of three numbers")
    turns = ((1, 2), (2, 0), (0, 1))
    return np.stack([a[..., i] * b[..., j] - a[..., j] * b[..., i] for i, j in turns], axis=axisc)
