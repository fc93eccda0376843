"""Functions that sum: reductions over axes, and products of matrices."""

import math

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from ...arrays import astype
from ..rules import accurate, no_derivative, rule
from ..tracked import plain
from .elementwise import shape_of, unbroadcast


def axes_of(x, axis):
    """The axes that a reduction of `x` over `axis` removes, counted from the front."""
    ndim = len(shape_of(x))
    if axis is None:
        return tuple(range(ndim))
    if ndim == 0 and axis in (0, -1):  # a number has no axis, but NumPy lets it be reduced along its first
        return ()
    return normalize_axis_tuple(axis, ndim)


def with_axes(result, x, axis, keepdims):
    """The result of a reduction, with its axes back as axes of length 1."""
    if keepdims or axis is None and result.shape == ():
        return result
    axes = axes_of(x, axis)
    return np.reshape(result, tuple(1 if i in axes else length for i, length in enumerate(shape_of(x))))


def spread(g, out, a, axis=None, *, keepdims=False):
    """The gradient of a sum, the same for every element that went into it."""
    if isinstance(g, np.generic):  # one number on the host: quicker than a broadcast view, and than np.full
        filled = np.empty(getattr(a, "shape", ()), g.dtype)
        filled.fill(g)
        return filled
    return np.broadcast_to(with_axes(g, a, axis, keepdims), shape_of(a))


def count(x, axis):
    return math.prod(shape_of(x)[i] for i in axes_of(x, axis))


def share(g, n):
    """``g / n``. Above 65,504 `n` isn't a float16, but its inverse is one."""
    return g / n if n <= 65504 else g * (1 / n)


def mean(g, out, a, axis=None, *, keepdims=False):
    return spread(share(g, count(a, axis)), out, a, axis, keepdims=keepdims)


def variance(g, out, a, axis=None, *, ddof=0, keepdims=False):
    centred = a - np.mean(a, axis=axis, keepdims=True)
    return with_axes(share(2 * g, max(count(a, axis) - ddof, 0)), a, axis, keepdims) * centred


def deviation(g, out, a, axis=None, *, ddof=0, keepdims=False):
    # Where all are equal, the root has no slope: 0, as in PyTorch. Taken from the first of them, equal numbers are
    # exactly 0, which their rounded mean needn't be: the mean of three times 0.1 isn't 0.1.
    first = tuple(slice(1) if i in axes_of(a, axis) else slice(None) for i in range(len(shape_of(a))))
    moved = a - plain(a)[first]
    centred = moved - np.mean(moved, axis=axis, keepdims=True)
    root = math.sqrt(max(count(a, axis) - ddof, 0))
    return with_axes(share(g, root), a, axis, keepdims) * direction(centred, axis)


def direction(x, axis):
    """`x` divided by its length, even if the squares are too large or too small for a number; 0 where `x` is 0.

    There it's flat, too: a division by infinity makes the next derivative 0, and the root is taken of 1.
    """
    if np.size(x) == 0:
        return x
    largest = np.max(np.abs(plain(x)), axis=axis, keepdims=True)  # it cancels out
    is_zero = largest == 0
    # An infinite length isn't cut, so that a number beside an infinity has the slope 0.
    most = float(np.finfo(largest.dtype).max)
    x = x / np.where(is_zero, math.inf, np.minimum(largest, most))
    return x / np.sqrt(np.sum(x * x, axis=axis, keepdims=True) + is_zero)


def extremum(g, out, a, axis=None, *, keepdims=False):
    """For max and min: to the elements that are the extremum, equally where there are several; NaN if it is NaN."""
    chosen = a == with_axes(out, a, axis, keepdims)
    parts = np.sum(chosen, axis=axis, keepdims=True, dtype=np.promote_types(g.dtype, np.float32))
    return astype(with_axes(g, a, axis, keepdims) / np.where(parts == 0, math.nan, parts), g.dtype) * chosen


def running_total(g, out, a, axis=None):
    if axis is None:
        return np.reshape(np.flip(np.cumsum(np.flip(g))), shape_of(a))
    return np.flip(np.cumsum(np.flip(g, axis), axis=axis), axis)


rule(np.sum, spread)
rule(np.mean, mean)
rule(np.var, accurate(variance))
rule(np.std, accurate(deviation))
rule(np.cumsum, accurate(running_total))
for function in (np.max, np.min, np.amax, np.amin):
    rule(function, extremum)
no_derivative(
    np.argmax, np.argmin, np.argsort, np.argpartition, np.nonzero, np.flatnonzero, np.argwhere, np.count_nonzero,
    np.any, np.all, np.searchsorted, np.digitize, np.isin, np.lexsort,
)  # fmt: skip


# -- matmul and its relatives
def transposed(x):
    """The matrices in `x`, the last two axes, transposed."""
    return np.swapaxes(x, -1, -2)


def left_of_matmul(g, out, x, y):
    if x.ndim == y.ndim == 2:
        # In the operand's own memory order (column by column for ``W.T``), so that `as_gradient` needn't copy it.
        return (y @ g.T).T if x.strides[0] < x.strides[1] else g @ y.T
    if y.ndim == 1:
        return unbroadcast(g[..., None] * y, x)
    if x.ndim == 1:
        return unbroadcast(np.matmul(y, g[..., None])[..., 0], x)
    return unbroadcast(g @ transposed(y), x)


def right_of_matmul(g, out, x, y):
    if x.ndim == y.ndim == 2:
        return (g.T @ x).T if y.strides[0] < y.strides[1] else x.T @ g
    if x.ndim == 1:
        return unbroadcast(x[:, None] * g[..., None, :], y) if y.ndim > 1 else g * x
    if y.ndim == 1:
        return unbroadcast(np.matmul(transposed(x), g[..., None])[..., 0], y)
    if y.ndim == 2:  # a batch of matrices times one: the batch is only more rows
        rows = math.prod(x.shape[:-1])
        return np.reshape(x, (rows, x.shape[-1])).T @ np.reshape(g, (rows, g.shape[-1]))
    return unbroadcast(transposed(x) @ g, y)


rule(np.matmul, left_of_matmul, right_of_matmul)
