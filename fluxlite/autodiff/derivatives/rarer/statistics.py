"""Averages, and what is counted: of samples rather than of a network's layers."""

import math

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from ....arrays import astype, of_type, scatter_add
from ...rules import composed
from ...tracked import TrackedArray, plain
from ..reductions import axes_of
from .linear_algebra import in_rows


def check_weights(weights, shape):
    if weights is not None and np.shape(weights) != shape:
        raise ValueError(f"weights of shape {np.shape(weights)} for numbers of shape {shape}")


@composed(np.average)
def average(a, axis=None, weights=None, *, keepdims=False):
    if weights is None:
        return np.mean(a, axis=axis, keepdims=keepdims)
    if np.shape(weights) != np.shape(a):  # one weight for each place along the axis
        axes = normalize_axis_tuple(axis, np.ndim(a))
        check_weights(weights, tuple(a.shape[i] for i in axes))
        weights = np.transpose(weights, tuple(axes.index(i) for i in sorted(axes)))
        weights = np.reshape(weights, tuple(n if i in axes else 1 for i, n in enumerate(a.shape)))
        weights = np.broadcast_to(weights, a.shape)
    total = np.sum(weights, axis=axis, keepdims=keepdims)
    return np.sum(a * weights, axis=axis, keepdims=keepdims) / total


# -- counted
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
    """How many there are is a step, flat between its jumps; the edges, and sums of weights, are not."""
    check_weights(weights, np.shape(a))
    a, weights = np.ravel(a), weights if weights is None else np.ravel(weights)
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
        half = 0.5 * bool(plain(low) == plain(high))  # of equal numbers, NumPy makes the range 1 wide
        edges = np.linspace(low - half, high + half, len(edges))
    if density:
        counts = astype(counts, np.float64)
        counts = counts / astype(np.diff(edges), np.float64) / np.sum(counts)
    return counts, edges


# -- in order
def between(place, method):
    """Of sorted numbers the two next to a place, and how far it is from the first to the second."""
    low, high = math.floor(place), math.ceil(place)
    middle, nearest = 0.5 * (high - low), round(place) - low
    part = {"linear": place - low, "lower": 0, "higher": 1, "midpoint": middle, "nearest": nearest}
    if method not in part:
        raise TypeError(f"np.quantile has a derivative rule for method={', '.join(part)}, not for {method!r}")
    return low, high, float(part[method])


@composed(np.quantile)
def quantile(a, q, axis=None, *, method="linear", keepdims=False):
    if isinstance(q, TrackedArray):
        raise TypeError("np.quantile has no derivative with respect to q: use its .data")
    if not np.all((np.asarray(q) >= 0) & (np.asarray(q) <= 1)):
        raise ValueError(f"np.quantile takes q between 0 and 1, got {q}")
    rows = np.sort(in_rows(a, axis), axis=-1)
    if type(q) not in (int, float) and method in ("linear", "midpoint"):
        rows = astype(rows, np.result_type(a.dtype, np.asarray(q)))
    found = []
    for place in np.ravel(q) * (rows.shape[-1] - 1):
        low, high, part = between(place, method)
        found.append(rows[..., low] + (rows[..., high] - rows[..., low]) * part)
    result = np.reshape(np.stack(found), np.shape(q) + (found[0].shape if found else ()))
    result = np.where(np.isnan(plain(rows)[..., -1]), rows[..., -1], result)  # NaN comes last, and makes all NaN
    return np.expand_dims(result, tuple(i + np.ndim(q) for i in axes_of(a, axis))) if keepdims else result


@composed(np.percentile)
def percentile(a, q, axis=None, *, method="linear", keepdims=False):
    share = q / 100 if isinstance(q, (int, float)) else np.asarray(q) / 100
    return quantile(a, share, axis, method=method, keepdims=keepdims)


composed(np.median)(lambda a, axis=None, *, keepdims=False: quantile(a, 0.5, axis, keepdims=keepdims))


# -- together
@composed(np.cov)
def cov(m, y=None, rowvar=True, bias=False, ddof=None):
    """Of each variable with each: a row of `m` is a variable, a column an observation. NumPy takes Float64 for it."""
    rows = variables(m, rowvar)
    if y is not None:
        rows = np.concatenate([rows, variables(y, rowvar)])
    rows = of_type(rows, np.promote_types(rows.dtype, np.float64))
    if rows.shape[0] == 0:
        return rows @ rows.T  # no variables, so no means
    centred = rows - np.mean(rows, axis=1, keepdims=True)
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    free = rows.shape[1] - (ddof if ddof is not None else 0 if bias else 1)
    return np.squeeze(centred @ centred.T / free if free > 0 else centred @ centred.T * math.inf)


def variables(x, rowvar):
    if np.ndim(x) > 2:
        raise ValueError("np.cov takes a vector or a matrix")
    x = np.atleast_2d(x)
    return x if rowvar or x.shape[0] == 1 else x.T


@composed(np.corrcoef)
def corrcoef(x, y=None, rowvar=True):
    c = cov(x, y, rowvar)
    if np.ndim(c) == 0:
        return c / c
    size = np.sqrt(np.diagonal(c))
    return c / size[:, None] / size
