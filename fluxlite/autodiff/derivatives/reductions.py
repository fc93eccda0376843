"""Functions that make one number of many: over all elements, over one axis, or over several."""

import math

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from ...arrays import astype, of_type
from ..rules import composed, no_derivative, rule
from ..tracked import plain
from .elementwise import shape_of


def axes_of(x, axis):
    """The axes that a reduction of `x` over `axis` removes, counted from the front.

    >>> axes_of(np.zeros((2, 3, 4)), None), axes_of(np.zeros((2, 3, 4)), -1)
    ((0, 1, 2), (2,))
    """
    ndim = len(shape_of(x))
    if axis is None:
        return tuple(range(ndim))
    if ndim == 0 and axis in (0, -1):  # a number has no axis, but NumPy lets it be reduced along its first
        return ()
    return normalize_axis_tuple(axis, ndim)


def kept(result, x, axis, keepdims):
    """The result of a reduction, with its axes back as axes of length 1."""
    if keepdims or axis is None and result.shape == ():
        return result
    axes = axes_of(x, axis)
    return np.reshape(result, tuple(1 if i in axes else length for i, length in enumerate(shape_of(x))))


def spread(g, x, axis, keepdims):
    """The gradient of a reduction, the same for every element that went into it."""
    if isinstance(g, np.generic):  # one number on the host: quicker than a broadcast view, and than np.full
        filled = np.empty(shape_of(x), g.dtype)
        filled.fill(g)
        return filled
    return np.broadcast_to(kept(g, x, axis, keepdims), shape_of(x))


def count(x, axis):
    return math.prod(shape_of(x)[i] for i in axes_of(x, axis))


def share(g, n):
    """``g / n``. Above 65,504 `n` is no Float16, but its inverse is one."""
    return g / n if n <= 65504 else g * (1 / n)


rule(np.sum, lambda g, out, a, axis=None, *, keepdims=False: spread(g, a, axis, keepdims))
rule(np.mean, lambda g, out, a, axis=None, *, keepdims=False: spread(share(g, count(a, axis)), a, axis, keepdims))


def variance(g, out, a, axis=None, *, ddof=0, keepdims=False):
    centred = a - np.mean(a, axis=axis, keepdims=True)
    return kept(share(2 * g, max(count(a, axis) - ddof, 0)), a, axis, keepdims) * centred


def deviation(g, out, a, axis=None, *, ddof=0, keepdims=False):
    # Where all are equal, the root has no slope: 0, as in PyTorch.
    centred = a - np.mean(a, axis=axis, keepdims=True)
    root = math.sqrt(max(count(a, axis) - ddof, 0))
    return kept(share(g, root), a, axis, keepdims) * direction(centred, axis)


def direction(x, axis):
    """`x` divided by its length, also where the squares are too large or too small for a number; 0 where `x` is 0."""
    if np.size(x) == 0:
        return x
    largest = np.max(np.abs(plain(x)), axis=axis, keepdims=True)  # a length that is 1 takes part in no derivative
    x = x / np.where(largest == 0, 1, largest)
    length = np.sqrt(np.sum(x * x, axis=axis, keepdims=True))
    return x / np.where(length == 0, 1, length)


rule(np.var, variance)
rule(np.std, deviation)


def extremum(g, out, a, axis=None, *, keepdims=False):
    """For max and min: to the elements that are the extremum, equally where there are several; NaN if it is NaN."""
    chosen = a == kept(out, a, axis, keepdims)
    parts = np.sum(chosen, axis=axis, keepdims=True, dtype=np.promote_types(g.dtype, np.float32))
    return astype(kept(g, a, axis, keepdims) / np.where(parts == 0, math.nan, parts), g.dtype) * chosen


for function in (np.max, np.min, np.amax, np.amin):
    rule(function, extremum)


@composed(np.ptp)
def ptp(a, axis=None, *, keepdims=False):
    return np.max(a, axis=axis, keepdims=keepdims) - np.min(a, axis=axis, keepdims=keepdims)


@composed(np.prod)
def product(a, axis=None, dtype=None, *, keepdims=False, initial=None, where=True):
    """Halves multiplied with halves: unlike ``out / x``, right at zeros, and for second derivatives too."""
    a = of_type(a, dtype)
    a = a if where is True else np.where(np.broadcast_to(where, a.shape), a, 1)
    axes = axes_of(a, axis)
    others = tuple(i for i in range(a.ndim) if i not in axes)
    rest = tuple(a.shape[i] for i in others)
    factors = np.reshape(np.transpose(a, axes + others), (count(a, axis), *rest))
    if len(factors) == 0:
        factors = np.ones_like(plain(a), shape=(1, *rest)) + np.sum(factors, axis=0)  # of no numbers: 1
    while len(factors) > 1:
        half = len(factors) // 2
        pairs = factors[:half] * factors[half : 2 * half]
        factors = np.concatenate([pairs, factors[2 * half :]]) if len(factors) % 2 else pairs
    result = np.reshape(factors, tuple(1 if i in axes else n for i, n in enumerate(a.shape)) if keepdims else rest)
    return result if initial is None else of_type(result * initial, result.dtype)


def running_total(g, out, a, axis=None):
    if axis is None:
        return np.reshape(np.flip(np.cumsum(np.flip(g))), shape_of(a))
    return np.flip(np.cumsum(np.flip(g, axis), axis=axis), axis)


rule(np.cumsum, running_total)


no_derivative(
    np.argmax, np.argmin, np.argsort, np.argpartition, np.nonzero, np.flatnonzero, np.argwhere, np.count_nonzero,
    np.any, np.all, np.searchsorted, np.digitize, np.isin, np.lexsort,
)  # fmt: skip
