"""Functions that make one number of many: over all elements, over one axis, or over several."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...arrays import primitive
from ..rules import composed, no_derivative, rule
from ..tracked import plain
from .elementwise import shape_of


def axes_of(x: Any, axis: Any) -> tuple[int, ...]:
    """The axes that a reduction of `x` over `axis` removes, counted from the front.

    >>> axes_of(np.zeros((2, 3, 4)), None), axes_of(np.zeros((2, 3, 4)), -1)
    ((0, 1, 2), (2,))
    """
    ndim = len(shape_of(x))
    if axis is None:
        return tuple(range(ndim))
    return tuple(i % ndim for i in (axis if isinstance(axis, tuple) else (axis,)))


def kept(result: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """The result of a reduction, with its axes back as axes of length 1."""
    if keepdims or axis is None and result.shape == ():
        return result
    axes = axes_of(x, axis)
    return np.reshape(result, tuple(1 if i in axes else length for i, length in enumerate(shape_of(x))))


def spread(g: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """The gradient of a reduction, the same for every element that went into it."""
    if isinstance(g, np.generic):  # one number on the host: quicker than a broadcast view, and than np.full
        filled = np.empty(shape_of(x), g.dtype)
        filled.fill(g)
        return filled
    return np.broadcast_to(kept(g, x, axis, keepdims), shape_of(x))


def count(x: Any, axis: Any) -> int:
    return math.prod(shape_of(x)[i] for i in axes_of(x, axis))


rule(np.sum, lambda g, out, a, axis=None, *, keepdims=False: spread(g, a, axis, keepdims))
rule(np.mean, lambda g, out, a, axis=None, *, keepdims=False: spread(g / count(a, axis), a, axis, keepdims))


def variance(g: Any, out: Any, a: Any, axis: Any = None, *, ddof: float = 0, keepdims: bool = False) -> Any:
    centred = a - np.mean(a, axis=axis, keepdims=True)
    return kept(g, a, axis, keepdims) * (2 * centred) / (count(a, axis) - ddof)


def deviation(g: Any, out: Any, a: Any, axis: Any = None, *, ddof: float = 0, keepdims: bool = False) -> Any:
    # Where all are equal, the root has no slope: 0, as in PyTorch.
    return variance(g / (2 * np.where(out == 0, 1, out)), out, a, axis, ddof=ddof, keepdims=keepdims)


rule(np.var, variance)
rule(np.std, deviation)


def extremum(g: Any, out: Any, a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """For max and min: to the elements that are the extremum, equally where there are several."""
    chosen = a == kept(out, a, axis, keepdims)
    share = kept(g, a, axis, keepdims) / np.sum(chosen, axis=axis, keepdims=True, dtype=g.dtype)
    return np.where(chosen, share, 0)


for function in (np.max, np.min, np.amax, np.amin):
    rule(function, extremum)


@composed(np.ptp)
def ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return np.max(a, axis=axis, keepdims=keepdims) - np.min(a, axis=axis, keepdims=keepdims)


@composed(np.prod)
def product(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Halves multiplied with halves: unlike ``out / x``, right at zeros, and for second derivatives too."""
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
    return np.reshape(factors, tuple(1 if i in axes else n for i, n in enumerate(a.shape)) if keepdims else rest)


@composed(np.average)
def average(a: Any, axis: Any = None, weights: Any = None, *, keepdims: bool = False) -> Any:
    if weights is None:
        return np.mean(a, axis=axis, keepdims=keepdims)
    if np.shape(weights) != np.shape(a):  # one weight for each place along the axis
        if not isinstance(axis, int):
            raise TypeError(f"weights of shape {np.shape(weights)} for an array of shape {np.shape(a)} need axis=")
        weights = np.reshape(weights, tuple(n if i == axis % a.ndim else 1 for i, n in enumerate(a.shape)))
        weights = np.broadcast_to(weights, a.shape)
    total = np.sum(weights, axis=axis, keepdims=keepdims)
    return np.sum(a * weights, axis=axis, keepdims=keepdims) / total


def running_total(g: Any, out: Any, a: Any, axis: int | None = None) -> Any:
    if axis is None:
        return np.reshape(np.flip(np.cumsum(np.flip(g))), shape_of(a))
    return np.flip(np.cumsum(np.flip(g, axis), axis=axis), axis)


rule(np.cumsum, running_total)


@primitive
def euclidean(x: Any, axis: Any, keepdims: bool) -> Any:
    """The root of the sum of squares."""
    return np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims))


def euclidean_pullback(g: Any, out: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    length = kept(out, x, axis, keepdims)
    return kept(g, x, axis, keepdims) * x / np.where(length == 0, 1, length)  # 0 at the tip of the cone, as in PyTorch


rule(euclidean, euclidean_pullback)


@composed(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    is_vector = len(axes_of(x, axis)) == 1
    if ord is None or ord == "fro" and not is_vector or ord == 2 and is_vector:
        return euclidean(x, axis, keepdims)
    if not is_vector:
        raise TypeError(f"np.linalg.norm of a matrix has a derivative rule for ord=None and 'fro', not for {ord!r}")
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


no_derivative(
    np.argmax, np.argmin, np.argsort, np.argpartition, np.nonzero, np.flatnonzero, np.argwhere, np.count_nonzero,
    np.any, np.all, np.searchsorted, np.digitize, np.unique, np.histogram, np.bincount, np.isin, np.lexsort,
)  # fmt: skip
