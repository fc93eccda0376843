"""``np.linalg``, for small teaching examples, and for batches of matrices. Diagonals, chains, products of all kinds.

Equal eigenvalues or singular values have derivatives, but their vectors don't: these come out infinite, or as NaN.
"""

import functools
import math
import string
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from ....arrays import are_half, astype, narrow, of_type, on_device_of, primitive, scatter_add, wide
from ...rules import accurate, composed, rule, rule_for_each
from ...tracked import plain
from ..elementwise import shape_of, unbroadcast
from ..sums import axes_of, count, direction, transposed, with_axes
from .shaping import all_arrays, typed

one = np.eye(1)
Eigh: Any = type(np.linalg.eigh(one))  # NumPy's own results with names
Slogdet: Any = type(np.linalg.slogdet(one))
Svd: Any = type(np.linalg.svd(one))

rule(np.linalg.inv, lambda g, out, a: -transposed(out) @ g @ transposed(out))


def of_columns(back):
    """A pullback of ``np.linalg.solve``, where one vector on the right, perhaps for a batch, counts as a matrix."""

    def pullback(g, out, a, b):
        is_vector = np.ndim(b) == 1
        if is_vector:
            g = g[..., None]
            out = out[..., None]
        return back(np.linalg.solve(transposed(a), g), out, a, b, is_vector)

    return pullback


rule(
    np.linalg.solve,
    of_columns(lambda back, out, a, b, is_vector: unbroadcast(-back @ transposed(out), a)),
    of_columns(lambda back, out, a, b, is_vector: unbroadcast(back[..., 0] if is_vector else back, b)),
)


# -- determinants
logabsdet = primitive(lambda a: np.linalg.slogdet(a)[1])
sign_of_determinant = primitive(lambda a: np.linalg.slogdet(a)[0])


def cofactors(a, out):
    """What each element contributes to the determinant `out`; for a singular matrix, the determinant without it."""
    n = a.shape[-1]
    if bool(np.all(plain(out) != 0)) or n > 16:  # there are n * n cofactors, each from n * n elements
        return np.expand_dims(out, (-2, -1)) * transposed(np.linalg.inv(a))
    left = np.array([[j for j in range(n) if j != i] for i in range(n)], dtype=int).reshape(n, n - 1)
    sign = on_device_of(plain(a), (-1.0) ** np.add.outer(range(n), range(n)).astype(plain(a).dtype))
    return np.linalg.det(a[..., left[:, None, :, None], left[None, :, None, :]]) * sign


rule(np.linalg.det, lambda g, out, a: np.expand_dims(g, (-2, -1)) * cofactors(a, out))
rule(logabsdet, lambda g, out, a: np.expand_dims(g, (-2, -1)) * transposed(np.linalg.inv(a)))
rule(sign_of_determinant, lambda g, out, a: np.zeros_like(a))
composed(np.linalg.slogdet)(lambda a: Slogdet(sign_of_determinant(a), logabsdet(a)))


# -- decompositions
def cholesky_pullback(g, out, a):
    """Murray (2016), "Differentiation of the Cholesky decomposition"; symmetric, as `a` is."""
    middle = np.tril(transposed(out) @ g)
    middle = middle - np.triu(middle) / 2  # the diagonal counts half
    inverse = np.linalg.inv(out)
    return both_halves(transposed(inverse) @ middle @ inverse)


def both_halves(g):
    """NumPy reads one half of the matrix, which stands for both."""
    return (g + transposed(g)) / 2


def eigenvalues_pullback(g, out, a, UPLO="L"):  # noqa: N803  (NumPy's name)
    v = np.linalg.eigh(a, UPLO)[1]
    return both_halves((v * g[..., None, :]) @ transposed(v))


def eigenvectors_pullback(g, out, a, UPLO):  # noqa: N803
    """Giles (2008), "Collected matrix derivative results for forward and reverse mode"."""
    w = np.linalg.eigvalsh(a, UPLO)
    inner = transposed(out) @ g * apart(w[..., None, :] - w[..., :, None])
    return both_halves(out @ inner @ transposed(out))


def apart(differences):
    """One divided by the differences between all, and 0 on the diagonal."""
    one = np.diag(np.ones_like(plain(differences), shape=differences.shape[-1:]))
    return (1 - one) / (differences + one)


def singular_values_pullback(g, out, a):
    u, _, vh = np.linalg.svd(a, full_matrices=False)
    return (u * g[..., None, :]) @ vh


@primitive
def singular_vectors(a):
    """Those of both sides, one below the other: they have to come from one decomposition."""
    u, _, vh = np.linalg.svd(a, full_matrices=False)
    return np.concatenate([u, transposed(vh)], axis=-2)


def singular_vectors_pullback(g, out, a):
    """Townsend (2016), "Differentiating the singular value decomposition"."""
    rows = a.shape[-2]
    s = singular_values(a)[..., None, :]
    u = out[..., :rows, :]
    v = out[..., rows:, :]
    gu = g[..., :rows, :]
    gv = g[..., rows:, :]
    of_u = transposed(u) @ gu
    of_v = transposed(v) @ gv
    f = apart((s - transposed(s)) * (s + transposed(s)))
    turned = (of_u - transposed(of_u)) * f * s + transposed(s) * (of_v - transposed(of_v)) * f
    outside_u = (gu - u @ of_u) / s
    outside_v = (gv - v @ of_v) / s
    return (u @ turned + outside_u) @ transposed(v) + u @ transposed(outside_v)


def pinv_pullback(g, out, a, rcond=None):
    """Golub and Pereyra (1973), "The differentiation of pseudo-inverses"; while the rank stays what it is."""
    other = transposed(out)
    back = transposed(g)
    missed = back - a @ out @ back
    free = back - back @ out @ a
    return missed @ out @ other + other @ out @ free - other @ g @ other


eigenvectors = primitive(lambda a, UPLO: np.linalg.eigh(a, UPLO)[1])
singular_values = primitive(lambda a: np.linalg.svd(a, compute_uv=False))

rule(np.linalg.cholesky, cholesky_pullback)
rule(np.linalg.eigvalsh, eigenvalues_pullback)
rule(eigenvectors, eigenvectors_pullback)
rule(singular_values, singular_values_pullback)
rule(singular_vectors, singular_vectors_pullback)
rule(np.linalg.pinv, pinv_pullback)
composed(np.linalg.eigh)(lambda a, UPLO="L": Eigh(np.linalg.eigvalsh(a, UPLO), eigenvectors(a, UPLO)))
composed(np.linalg.svdvals)(lambda x, /: singular_values(x))


@composed(np.linalg.svd)
def svd(a, full_matrices=True, compute_uv=True):
    if not compute_uv:
        return singular_values(a)
    rows, columns = a.shape[-2:]
    if full_matrices and rows != columns:
        raise TypeError("np.linalg.svd has a derivative rule for full_matrices=False: the other vectors have none")
    both = singular_vectors(a)
    return Svd(both[..., :rows, :], singular_values(a), transposed(both[..., rows:, :]))


# -- norms
@primitive
def euclidean(x, axis, keepdims):
    return np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims))


# 0 at the tip of the cone, as in PyTorch.
rule(euclidean, accurate(lambda g, out, x, axis, keepdims: with_axes(g, x, axis, keepdims) * direction(x, axis)))


@composed(np.linalg.norm)
def norm(x, ord=None, axis=None, keepdims=False):
    axes = axes_of(x, axis)
    if len(axes) not in (1, 2) and not (ord is axis is None):
        raise ValueError("the norm of a vector has one axis, that of a matrix two")
    if ord is None or ord == {1: 2, 2: "fro"}.get(len(axes)):
        return euclidean(x, axis, keepdims)
    if len(axes) == 1:
        found = vector_norms(x, ord, axis)
    else:
        found = matrix_norms(x, ord, axes)
    if keepdims:
        return found
    return np.squeeze(found, axes)


def vector_norms(x, ord, axis):
    if ord == 0:
        raise TypeError("np.linalg.norm of a vector has no derivative rule for ord=0, which counts")
    is_empty = count(x, axis) == 0
    if ord == 1 or (ord == np.inf and is_empty):
        return np.sum(np.abs(x), axis=axis, keepdims=True)
    if ord == np.inf:
        return np.max(np.abs(x), axis=axis, keepdims=True)
    if ord == -np.inf:
        return np.min(np.abs(x), axis=axis, keepdims=True)
    # From 2 on, the powers are flat at 0. For smaller orders, they and their slopes may be infinite there.
    powers = np.abs(x) ** ord if ord >= 2 else power_flat_at_zero(np.abs(x), ord)
    return power_flat_at_zero(np.sum(powers, axis=axis, keepdims=True), 1 / ord)


def power_flat_at_zero(x, exponent):
    """``x ** exponent``, without a slope where `x` is 0."""
    # Both are needed: np.where picks from a power that was computed everywhere.
    is_zero = plain(x) == 0
    return np.where(is_zero, 0 if exponent > 0 else math.inf, np.where(is_zero, 1, x) ** exponent)


def matrix_norms(x, ord, axes):
    if np.size(x) == 0 and ord in (1, 2, np.inf):
        return np.sum(np.abs(x), axis=axes, keepdims=True)
    if ord in (1, -1, np.inf, -np.inf):  # the largest, or smallest, sum of a column or row
        down, across = axes
        if abs(ord) != 1:
            across, down = axes
        return vector_norms(vector_norms(x, 1, down), math.copysign(np.inf, ord), across)
    reduce: Any = {"nuc": np.sum, 2: np.max, -2: np.min}[ord]
    return with_axes(reduce(singular_values(np.moveaxis(x, axes, (-2, -1))), axis=-1), x, axes, False)


@composed(np.linalg.vector_norm)
def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    axis = axis if axis is None else normalize_axis_tuple(axis, np.ndim(x))
    result = norm(in_rows(x, axis), ord, -1)
    return np.expand_dims(result, axes_of(x, axis)) if keepdims else result


def in_rows(x, axis):
    """`x` with these axes joined to one, the last."""
    axes = axes_of(x, axis)
    others = tuple(i for i in range(np.ndim(x)) if i not in axes)
    return np.reshape(np.transpose(x, others + axes), (*(x.shape[i] for i in others), count(x, axis)))


# -- powers, chains, products of vectors
@composed(np.linalg.matrix_power)
def matrix_power(a, n):
    """By squaring: each digit of `n` in base two is one product, or none."""
    if np.ndim(a) < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"np.linalg.matrix_power takes square matrices, got shape {np.shape(a)}")
    if n == 0:
        return a * 0 + np.diag(np.ones_like(plain(a), shape=a.shape[-1:]))
    if n < 0:
        a = np.linalg.inv(a)
        n = -n
    if n < 4:
        return functools.reduce(np.matmul, [a] * n)
    half = matrix_power(a, n // 2)
    if n % 2:
        return half @ half @ a
    return half @ half


@composed(np.linalg.multi_dot)
def multi_dot(arrays):
    if len(arrays) < 2 or any(np.ndim(x) not in (1, 2) for x in arrays) or any(np.ndim(x) == 1 for x in arrays[1:-1]):
        raise np.linalg.LinAlgError("np.linalg.multi_dot takes two matrices or more; the ends may be vectors")
    return functools.reduce(np.matmul, arrays)


def vecdot(x1, x2, /, *, axis=-1):
    x1, x2 = (x if axis == -1 else np.moveaxis(x, axis, -1) for x in all_arrays(x1, x2))
    return np.matmul(x1[..., None, :], x2[..., :, None])[..., 0, 0]


composed(np.vecdot)(vecdot)
composed(np.linalg.vecdot)(vecdot)


@composed(np.cross)
def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    if axis is not None:
        axisa = axisb = axisc = axis
    a = np.moveaxis(a, axisa, -1)
    b = np.moveaxis(b, axisb, -1)
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        raise TypeError("np.cross has a derivative rule for vectors of three numbers")
    return np.stack([a[..., i] * b[..., j] - a[..., j] * b[..., i] for i, j in ((1, 2), (2, 0), (0, 1))], axis=axisc)


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


composed(np.trace)(lambda a, offset=0, axis1=0, axis2=1: np.sum(diagonal(a, offset, axis1, axis2), axis=-1))


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


# -- products: of all elements, of several arrays along any axes
@composed(np.ptp)
def ptp(a, axis=None, *, keepdims=False):
    return np.max(a, axis=axis, keepdims=keepdims) - np.min(a, axis=axis, keepdims=keepdims)


def one_before(x):
    """`x` moved back by one along the first axis, with 1 in the free place."""
    return np.concatenate([np.ones_like(plain(x[:1])), x[:-1]])


def products_of_others(g, out, factors):
    """Those before times those behind: unlike ``out / x``, right at zeros. A product of part of them may be large."""
    wide = astype(factors, np.float64)
    before = one_before(np.cumprod(wide, axis=0))
    behind = np.flip(one_before(np.cumprod(np.flip(wide, 0), axis=0)), 0)
    return astype(g * (before * behind), factors.dtype)


# Along the first axis, by NumPy itself: in another order, a product on the way might be too large, or too small.
product_of_rows = primitive(lambda factors: np.prod(factors, axis=0))
rule(product_of_rows, products_of_others)


@composed(np.prod)
def product(a, axis=None, dtype=None, *, keepdims=False, initial=None, where=True):
    a = of_type(a, dtype)
    a = a if where is True else np.where(np.broadcast_to(where, a.shape), a, 1)
    axes = axes_of(a, axis)
    others = tuple(i for i in range(a.ndim) if i not in axes)
    rest = tuple(a.shape[i] for i in others)
    factors = np.reshape(np.transpose(a, axes + others), (count(a, axis), *rest))
    if len(factors) == 0:
        factors = np.ones_like(plain(a), shape=(1, *rest)) + np.sum(factors, axis=0)  # without numbers: 1
    result = np.reshape(product_of_rows(factors), rest)
    if keepdims:
        result = np.expand_dims(result, axes)
    if initial is None:
        return result
    return of_type(result * initial, result.dtype)


@composed(np.dot)
def dot(a, b):
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return typed(a) * typed(b)
    if np.ndim(a) <= 2 and np.ndim(b) <= 2:
        return a @ b
    return np.tensordot(a, b, axes=((-1,), (-1 if np.ndim(b) == 1 else -2,)))


@composed(np.inner)
def inner(a, b):
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return typed(a) * typed(b)
    return np.tensordot(a, b, axes=((-1,), (-1,)))


composed(np.vdot)(lambda a, b: np.ravel(a) @ np.ravel(b))
composed(np.outer)(lambda a, b: np.ravel(a)[:, None] * np.ravel(b))


@composed(np.tensordot)
def tensordot(a, b, axes=2):
    """One matrix product: the axes that stay become rows and columns, those that are summed the inner one."""
    if isinstance(axes, int):
        axes = (range(np.ndim(a) - axes, np.ndim(a)), range(axes))
    summed_a, summed_b = (normalize_axis_tuple(chosen, np.ndim(x)) for x, chosen in zip((a, b), axes, strict=True))
    stay_a = tuple(i for i in range(np.ndim(a)) if i not in summed_a)
    stay_b = tuple(i for i in range(np.ndim(b)) if i not in summed_b)
    shape_a, shape_b = np.shape(a), np.shape(b)
    if [shape_a[i] for i in summed_a] != [shape_b[i] for i in summed_b]:
        raise ValueError(f"cannot sum axes {summed_a} of shape {shape_a} with axes {summed_b} of shape {shape_b}")
    lengths_a = [shape_a[i] for i in stay_a]
    lengths_b = [shape_b[i] for i in stay_b]
    inner_length = math.prod(shape_a[i] for i in summed_a)
    rows = np.reshape(np.transpose(a, stay_a + summed_a), (math.prod(lengths_a), inner_length))
    columns = np.reshape(np.transpose(b, summed_b + stay_b), (inner_length, math.prod(lengths_b)))
    return np.reshape(rows @ columns, (*lengths_a, *lengths_b))


# -- einsum
def terms(subscripts, operands):
    """The labels of each operand and of the result, with the implicit ones and ``...`` written out.

    >>> terms("ij,jk", (np.zeros((2, 3)), np.zeros((3, 4)))), terms("...i->...", (np.zeros((2, 3)),))
    ((['ij', 'jk'], 'ik'), (['Ai'], 'A'))
    """
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    named = inputs.split(",")
    hidden = [np.ndim(x) - len(term.replace("...", "")) for term, x in zip(named, operands, strict=True)]
    free = [c for c in string.ascii_uppercase if c not in subscripts][: max(hidden)]
    if not arrow:
        letters = inputs.replace(",", "").replace("...", "")
        output = "..." * ("..." in inputs) + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    written = [term.replace("...", "".join(free[len(free) - n :])) for term, n in zip(named, hidden, strict=True)]
    return written, output.replace("...", "".join(free))


def operand_of_einsum(position, g, out, subscripts, *operands, optimize=False):
    """Einsum again, with the result in the operand's place: from the labels of the others to its own."""
    if not isinstance(subscripts, str):
        raise TypeError('np.einsum has a derivative rule for labels in a string, as in "ij,jk->ik", not in lists')
    if are_half(g, *operands):  # NumPy adds some of these sums up in float16
        given = [wide(x) for x in operands]
        return narrow(operand_of_einsum(position, wide(g), out, subscripts, *given, optimize=optimize))
    labels, output = terms(subscripts, operands)
    place = position - 1  # the subscripts are the first argument
    x = operands[place]
    inputs = [(output, g), *((labels[i], y) for i, y in enumerate(operands) if i != place)]
    own = ""
    used = "".join(label for label, _ in inputs)
    for letter, length in zip(labels[place], shape_of(x)):
        if letter in own:  # off the diagonal the operand wasn't read: an identity matrix puts zeros there
            fresh = next(c for c in string.ascii_lowercase if c not in own + used + labels[place])
            inputs.append((fresh + letter, np.diag(np.ones_like(plain(x), shape=(length,)))))
            letter = fresh
        elif letter not in used:  # summed over, and in no other operand
            inputs.append((letter, np.ones_like(plain(x), shape=(length,))))
        own += letter
    spec = ",".join(label for label, _ in inputs) + "->" + own
    result = np.einsum(spec, *(y for _, y in inputs), optimize=optimize)
    if result.shape != shape_of(x):  # a label with length 1 here and more elsewhere, or the other way round
        result = np.broadcast_to(result, np.broadcast_shapes(result.shape, shape_of(x)))
    return unbroadcast(result, x)


rule_for_each(np.einsum, operand_of_einsum)
