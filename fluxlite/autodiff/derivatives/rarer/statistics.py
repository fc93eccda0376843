"""Statistics of samples, and reductions of some of an array's elements: a network's layers seldom need them.

The usual reductions with ``where=``, ``initial=`` and ``dtype=`` are written here as calls without them.
"""

import math

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from ....annotations import Array
from ....arrays import astype, of_type, scatter_add
from ...rules import composed, composed_for_keywords
from ...tracked import plain
from ..sums import axes_of
from .linear_algebra import euclidean, in_rows


def masked(where, a, otherwise):
    """`a` where it's chosen, and elsewhere what doesn't count."""
    return a if where is True else np.where(np.broadcast_to(where, np.shape(a)), a, otherwise)


def how_many(where, a, axis, ddof=0):
    """How many numbers each result is made of; in float32 or wider, in which large counts are exact."""
    each = np.broadcast_to(where, np.shape(a)) if where is not True else np.ones_like(plain(a), dtype=bool)
    counts = np.sum(each, axis=axis, keepdims=True, dtype=np.promote_types(a.dtype, np.float32))
    return np.maximum(counts - ddof, 0)


def finish(x, axis, keepdims, dtype):
    return astype(x if keepdims else np.squeeze(x, axis), dtype)


@composed_for_keywords(np.sum)
def total(a, axis=None, dtype=None, *, keepdims=False, initial=0, where=True):
    result = np.sum(masked(where, of_type(a, dtype), 0), axis=axis, keepdims=keepdims)
    return of_type(result + initial, result.dtype)


@composed_for_keywords(np.mean)
def mean(a, axis=None, dtype=None, *, keepdims=False, where=True):
    a = of_type(a, dtype)
    axis = axes_of(a, axis)
    counts = how_many(where, a, axis)
    total = np.sum(masked(where, astype(a, counts.dtype), 0), axis=axis, keepdims=True)
    return finish(total / counts, axis, keepdims, a.dtype)


def spread(size):
    """For the variance and its root, given the `size` of the deviations and their count."""

    def result(a, axis=None, dtype=None, *, ddof=0, keepdims=False, where=True):
        a = of_type(a, dtype)
        axis = axes_of(a, axis)
        counts = how_many(where, a, axis, ddof)
        wide = astype(a, counts.dtype)
        deviations = masked(where, wide - mean(wide, axis, keepdims=True, where=where), 0)
        return finish(size(deviations, axis, counts), axis, keepdims, a.dtype)

    return result


variance = spread(lambda x, axis, counts: np.sum(x * x, axis=axis, keepdims=True) / counts)
of_deviations = spread(lambda x, axis, counts: euclidean(x, axis, True) / np.sqrt(counts))


def deviation(a, axis=None, dtype=None, *, ddof=0, keepdims=False, where=True):
    result = of_deviations(a, axis, dtype, ddof=ddof, keepdims=keepdims, where=where)
    if np.size(a) == 0:
        return result
    # Equal numbers may differ from their rounded mean. Their deviation is flat all the same.
    axis = axes_of(a, axis)
    values = plain(a)
    largest = np.max(masked(where, values, -math.inf), axis=axis, keepdims=keepdims)
    smallest = np.min(masked(where, values, math.inf), axis=axis, keepdims=keepdims)
    return np.where(largest == smallest, plain(result), result)


def extremum(reduce, of_two, worst):
    def result(a, axis=None, *, keepdims=False, initial=None, where=True):
        if initial is None:
            raise ValueError("where= needs initial=, the result where nothing is chosen")
        return of_type(of_two(reduce(masked(where, a, worst), axis=axis, keepdims=keepdims), initial), a.dtype)

    return result


def joined(join):
    return lambda arrays, axis=0, *, dtype=None: join([of_type(x, dtype) for x in arrays], axis)


composed_for_keywords(np.var)(variance)
composed_for_keywords(np.std)(deviation)
for function in (np.max, np.amax):
    composed_for_keywords(function)(extremum(np.max, np.maximum, -math.inf))
for function in (np.min, np.amin):
    composed_for_keywords(function)(extremum(np.min, np.minimum, math.inf))
for join in (np.concatenate, np.stack):
    composed_for_keywords(join)(joined(join))
composed_for_keywords(np.cumsum)(lambda a, axis=None, dtype=None: np.cumsum(of_type(a, dtype), axis=axis))


# -- without NaN
def filled(reduce, neutral):
    def result(a, axis=None, dtype=None, *, keepdims=False):
        return reduce(np.where(np.isnan(a), neutral, of_type(a, dtype)), axis=axis, keepdims=keepdims)

    return result


def spread_of_numbers(measure):
    def result(a, axis=None, dtype=None, *, ddof=0, keepdims=False):
        is_number = ~np.isnan(a)
        result = measure(a, axis, dtype, ddof=ddof, keepdims=keepdims, where=is_number)
        counts = np.sum(is_number, axis=axis, keepdims=keepdims)
        return np.where(counts > ddof, result, math.nan)  # where np.var may be infinite

    return result


def nan_extremum(reduce, worst):
    def result(a, axis=None, *, keepdims=False):
        found = reduce(np.where(np.isnan(a), worst, a), axis=axis, keepdims=keepdims)
        return np.where(np.all(np.isnan(a), axis=axis, keepdims=keepdims), math.nan, found)

    return result


composed(np.nansum)(filled(np.sum, 0))
composed(np.nanprod)(filled(np.prod, 1))
composed(np.nancumsum)(lambda a, axis=None, dtype=None: np.cumsum(np.where(np.isnan(a), 0, of_type(a, dtype)), axis))
composed(np.nancumprod)(lambda a, axis=None, dtype=None: np.cumprod(np.where(np.isnan(a), 1, of_type(a, dtype)), axis))
composed(np.nanvar)(spread_of_numbers(variance))
composed(np.nanstd)(spread_of_numbers(deviation))
composed(np.nanmax)(nan_extremum(np.max, -math.inf))
composed(np.nanmin)(nan_extremum(np.min, math.inf))
composed(np.nanmean)(
    lambda a, axis=None, dtype=None, *, keepdims=False: mean(a, axis, dtype, keepdims=keepdims, where=~np.isnan(a))
)


# -- averages and counts
def check_weights(weights, shape):
    if weights is not None and np.shape(weights) != shape:
        raise ValueError(f"weights of shape {np.shape(weights)} for numbers of shape {shape}")


@composed(np.average)
def average(a, axis=None, weights=None, *, keepdims=False):
    axis = axis if axis is None else normalize_axis_tuple(axis, np.ndim(a))
    if weights is None:
        return np.mean(a, axis=axis, keepdims=keepdims)
    if np.shape(weights) != np.shape(a):  # one weight for each place along the axis
        axes = normalize_axis_tuple(axis, np.ndim(a))  # None isn't allowed here
        check_weights(weights, tuple(a.shape[i] for i in axes))
        weights = np.transpose(weights, tuple(axes.index(i) for i in sorted(axes)))
        weights = np.reshape(weights, tuple(n if i in axes else 1 for i, n in enumerate(a.shape)))
        weights = np.broadcast_to(weights, a.shape)
    total = np.sum(weights, axis=axis, keepdims=keepdims)
    if bool(np.any(plain(total) == 0)):
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    return np.sum(a * weights, axis=axis, keepdims=keepdims) / total


@composed(np.bincount)
def bincount(x, /, weights=None, minlength=0):
    counts = np.bincount(plain(x), minlength=minlength)
    if weights is None:
        return counts
    check_weights(weights, np.shape(x))
    index = x if hasattr(x, "dtype") else np.asarray(x, dtype=int)
    return scatter_add(np.zeros_like(counts, dtype=np.float64), plain(index), of_type(weights, np.float64))


@composed(np.histogram)
def histogram(a, bins=10, range=None, density=None, weights=None):
    """Counts are flat between their jumps; the edges, and sums of weights, aren't."""
    check_weights(weights, np.shape(a))
    a = np.ravel(a)
    if weights is not None:
        weights = np.ravel(weights)
    counts: Array
    edges: Array
    counts, edges = np.histogram(plain(a), plain(bins), range, weights=plain(weights))
    if weights is not None:
        place = np.searchsorted(edges, plain(a), side="right") - 1
        place = np.where(plain(a) == edges[-1], len(edges) - 2, place)  # the last bin has both of its edges
        inside = (place >= 0) & (place < len(edges) - 1)
        total = np.zeros_like(counts, dtype=np.float64)
        counts = astype(scatter_add(total, place[inside], astype(weights, np.float64)[inside]), weights.dtype)
    if np.ndim(bins) > 0:
        edges = bins
    elif range is None and a.size:
        low, high = np.min(a), np.max(a)
        half = 0.5 * bool(plain(low) == plain(high))  # for equal numbers, NumPy makes the range 1 wide
        edges = np.linspace(low - half, high + half, len(edges))
    if density:
        counts = astype(counts, np.float64)
        counts = counts / astype(np.diff(edges), np.float64) / np.sum(counts)
    return counts, edges


# -- in order
@composed(np.quantile)
def quantile(a, q, axis=None, *, keepdims=False):
    if not np.all((np.asarray(q) >= 0) & (np.asarray(q) <= 1)):
        raise ValueError(f"np.quantile takes q between 0 and 1, got {q}")
    axis = axis if axis is None else normalize_axis_tuple(axis, np.ndim(a))  # a number doesn't have even the first
    rows: Array = np.sort(in_rows(a, axis), axis=-1)
    if type(q) not in (int, float):
        rows = astype(rows, np.result_type(a.dtype, np.asarray(q)))
    found = [between(rows, place) for place in (np.ravel(q) * (rows.shape[-1] - 1)).tolist()]
    result = np.reshape(np.stack(found), np.shape(q) + (found[0].shape if found else ()))
    result = np.where(np.isnan(plain(rows)[..., -1]), rows[..., -1], result)  # NaN comes last, and makes all NaN
    return np.expand_dims(result, tuple(i + np.ndim(q) for i in axes_of(a, axis))) if keepdims else result


def between(rows, place):
    """What lies at this `place` of each row, as NumPy computes it: from the nearer of two neighbours."""
    if type(place) is int:
        return rows[..., place]
    before = math.floor(place)
    part = place - before
    low, high = rows[..., before], rows[..., min(before + 1, rows.shape[-1] - 1)]
    if part < 0.5:
        return low + (high - low) * part
    return high - (high - low) * (1 - part)


@composed(np.median)
def median(a, axis=None, *, keepdims=False):
    axis = axis if axis is None else normalize_axis_tuple(axis, np.ndim(a))
    rows = np.sort(in_rows(a, axis), axis=-1)
    length = rows.shape[-1]
    result = np.mean(rows[..., max(length - 1, 0) // 2 : length // 2 + 1], axis=-1)  # one in the middle, or two
    if length > 0:
        result = np.where(np.isnan(plain(rows)[..., -1]), rows[..., -1], result)
    return np.expand_dims(result, axes_of(a, axis)) if keepdims else result


@composed(np.percentile)
def percentile(a, q, axis=None, *, keepdims=False):
    return quantile(a, q / 100 if isinstance(q, (int, float)) else np.asarray(q) / 100, axis, keepdims=keepdims)


# -- together
@composed(np.cov)
def cov(m, y=None, rowvar=True, bias=False, ddof=None):
    """Each variable's with each: a row of `m` is a variable, a column an observation. NumPy takes float64 for it."""
    if np.ndim(m) > 2 or np.ndim(y) > 2 or (ddof or 0) % 1:
        raise ValueError(f"np.cov takes vectors or matrices, and a whole number as ddof, got {ddof}")
    tables = [np.atleast_2d(x) for x in (m, y) if x is not None]
    rows = np.concatenate([x if rowvar or x.shape[0] == 1 else x.T for x in tables])
    rows = of_type(rows, np.promote_types(rows.dtype, np.float64))
    if rows.shape[0] == 0:
        return rows @ rows.T  # no variables, so no means
    centred = rows - np.mean(rows, axis=1, keepdims=True)
    if ddof is None:
        ddof = 0 if bias else 1
    free = rows.shape[1] - ddof
    if free > 0:
        return np.squeeze(centred @ centred.T / free)
    return np.squeeze(centred @ centred.T * math.inf)


@composed(np.corrcoef)
def corrcoef(x, y=None, rowvar=True):
    c = cov(x, y, rowvar)
    size = np.sqrt(np.diagonal(c)) if np.ndim(c) else None
    return c / c if size is None else c / size[:, None] / size
