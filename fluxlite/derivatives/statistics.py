"""Averages, and what is counted: of samples rather than of a network's layers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from ..arrays import getitem, of_type, scatter_add
from ..rules import composed
from ..tracked import plain

# -- averages -----------------------------------------------------------------------------------------------


@composed(np.average)
def average(a: Any, axis: Any = None, weights: Any = None, *, keepdims: bool = False) -> Any:
    if weights is None:
        return np.mean(a, axis=axis, keepdims=keepdims)
    if np.shape(weights) != np.shape(a):  # one weight for each place along the axis
        axes = normalize_axis_tuple(axis, np.ndim(a))
        if np.shape(weights) != tuple(a.shape[i] for i in axes):
            raise TypeError(f"weights of shape {np.shape(weights)} for an array of shape {np.shape(a)}, axis={axis}")
        weights = np.transpose(weights, tuple(axes.index(i) for i in sorted(axes)))
        weights = np.reshape(weights, tuple(n if i in axes else 1 for i, n in enumerate(a.shape)))
        weights = np.broadcast_to(weights, a.shape)
    total = np.sum(weights, axis=axis, keepdims=keepdims)
    return np.sum(a * weights, axis=axis, keepdims=keepdims) / total


# -- counted ------------------------------------------------------------------------------------------------


@composed(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    counts = np.bincount(plain(x), minlength=minlength)
    if weights is None:
        return counts
    if np.shape(weights) != np.shape(x):
        raise ValueError(f"weights of shape {np.shape(weights)} for numbers of shape {np.shape(x)}")
    index = x if hasattr(x, "dtype") else np.asarray(x, dtype=int)
    return scatter_add(np.zeros_like(counts, dtype=np.float64), plain(index), of_type(weights, np.float64))


@composed(np.histogram)
def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> tuple:
    """How many there are is a step, flat between its jumps; the edges, and sums of weights, are not."""
    a, weights = np.ravel(a), weights if weights is None else np.ravel(weights)
    counts, edges = np.histogram(plain(a), plain(bins), range, weights=plain(weights))
    if weights is not None:
        counts = sum_of_bins(counts, edges, plain(a), weights)
    if np.ndim(bins) > 0:
        edges = bins
    elif range is None and a.size:
        low, high = np.min(a), np.max(a)
        half = 0.5 * bool(plain(low) == plain(high))  # of equal numbers, NumPy makes the range 1 wide
        edges = np.linspace(low - half, high + half, len(edges))
    return (counts / np.diff(edges) / np.sum(counts) if density else counts), edges


def sum_of_bins(counts: Any, edges: Any, a: Any, weights: Any) -> Any:
    place = np.searchsorted(edges, a, side="right") - 1
    place = np.where(a == edges[-1], len(edges) - 2, place)  # the last bin has both of its edges
    inside = (place >= 0) & (place < len(edges) - 1)
    return scatter_add(np.zeros_like(counts, dtype=weights.dtype), place[inside], getitem(weights, inside))
