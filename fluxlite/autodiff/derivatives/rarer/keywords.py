"""The rarer keywords of reductions, ``where=``, ``initial=`` and ``dtype=``: said by calls without them."""

import math

import numpy as np

from ....arrays import astype, of_type
from ...rules import rephrased
from ...tracked import plain
from .linear_algebra import euclidean


def chosen(where, a, otherwise):
    """`a` where it is chosen, and elsewhere what does not count."""
    return a if where is True else np.where(np.broadcast_to(where, np.shape(a)), a, otherwise)


def how_many(where, a, axis, ddof=0):
    """How many numbers each result is made of; in Float32 or wider, in which large counts are exact."""
    each = np.broadcast_to(where, np.shape(a)) if where is not True else np.ones_like(plain(a), dtype=bool)
    counts = np.sum(each, axis=axis, keepdims=True, dtype=np.promote_types(a.dtype, np.float32))
    return np.maximum(counts - ddof, 0)


def without_axes(x, axis, keepdims):
    return x if keepdims else np.squeeze(x, tuple(range(x.ndim)) if axis is None else axis)


@rephrased(np.sum)
def total(a, axis=None, dtype=None, *, keepdims=False, initial=0, where=True):
    result = np.sum(chosen(where, of_type(a, dtype), 0), axis=axis, keepdims=keepdims)
    return of_type(result + initial, result.dtype)


@rephrased(np.mean)
def mean(a, axis=None, dtype=None, *, keepdims=False, where=True):
    a = of_type(a, dtype)
    if where is True:
        return np.mean(a, axis=axis, keepdims=keepdims)
    counts = how_many(where, a, axis)
    total = np.sum(chosen(where, astype(a, counts.dtype), 0), axis=axis, keepdims=True)
    return astype(without_axes(total / counts, axis, keepdims), a.dtype)


def deviations(a, axis, dtype, ddof, where):
    """How far each chosen number is from the mean, and the count that divides their squares."""
    a = of_type(a, dtype)
    counts = how_many(where, a, axis, ddof)
    a = astype(a, counts.dtype)
    return chosen(where, a - mean(a, axis, keepdims=True, where=where), 0), counts


@rephrased(np.var)
def variance(a, axis=None, dtype=None, *, ddof=0, keepdims=False, where=True):
    centred, counts = deviations(a, axis, dtype, ddof, where)
    result = np.sum(centred * centred, axis=axis, keepdims=True) / counts
    return astype(without_axes(result, axis, keepdims), dtype or a.dtype)


@rephrased(np.std)
def deviation(a, axis=None, dtype=None, *, ddof=0, keepdims=False, where=True):
    centred, counts = deviations(a, axis, dtype, ddof, where)
    result = euclidean(centred, axis, True) / np.sqrt(counts)
    return astype(without_axes(result, axis, keepdims), dtype or a.dtype)


def extremum(reduce, of_two, worst):
    def result(a, axis=None, *, keepdims=False, initial=None, where=True):
        if initial is None:
            raise ValueError("where= needs initial=, the result where nothing is chosen")
        return of_type(of_two(reduce(chosen(where, a, worst), axis=axis, keepdims=keepdims), initial), a.dtype)

    return result


for function in (np.max, np.amax):
    rephrased(function)(extremum(np.max, np.maximum, -math.inf))
for function in (np.min, np.amin):
    rephrased(function)(extremum(np.min, np.minimum, math.inf))


@rephrased(np.cumsum)
def running_total(a, axis=None, dtype=None):
    return np.cumsum(of_type(a, dtype), axis=axis)


@rephrased(np.concatenate)
def concatenated(arrays, axis=0, *, dtype=None):
    return np.concatenate([of_type(x, dtype) for x in arrays], axis)


@rephrased(np.stack)
def stacked(arrays, axis=0, *, dtype=None):
    return np.stack([of_type(x, dtype) for x in arrays], axis)
