"""The rarer keywords of reductions, ``where=``, ``initial=`` and ``dtype=``: said by calls without them; `nansum` …"""

import math

import numpy as np

from ....arrays import astype, of_type
from ...rules import composed, rephrased
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


def finished(x, axis, keepdims, dtype):
    return astype(x if keepdims else np.squeeze(x, tuple(range(x.ndim)) if axis is None else axis), dtype)


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
    return finished(total / counts, axis, keepdims, a.dtype)


def deviations(a, axis, dtype, ddof, where):
    """How far each chosen number is from the mean, and the count that divides their squares."""
    a = of_type(a, dtype)
    counts = how_many(where, a, axis, ddof)
    a = astype(a, counts.dtype)
    return chosen(where, a - mean(a, axis, keepdims=True, where=where), 0), counts


@rephrased(np.var)
def variance(a, axis=None, dtype=None, *, ddof=0, keepdims=False, where=True):
    centred, counts = deviations(a, axis, dtype, ddof, where)
    return finished(np.sum(centred * centred, axis, keepdims=True) / counts, axis, keepdims, dtype or a.dtype)


@rephrased(np.std)
def deviation(a, axis=None, dtype=None, *, ddof=0, keepdims=False, where=True):
    centred, counts = deviations(a, axis, dtype, ddof, where)
    return finished(euclidean(centred, axis, True) / np.sqrt(counts), axis, keepdims, dtype or a.dtype)


def extremum(reduce, of_two, worst):
    def result(a, axis=None, *, keepdims=False, initial=None, where=True):
        if initial is None:
            raise ValueError("where= needs initial=, the result where nothing is chosen")
        return of_type(of_two(reduce(chosen(where, a, worst), axis=axis, keepdims=keepdims), initial), a.dtype)

    return result


def joined(join):
    return lambda arrays, axis=0, *, dtype=None: join([of_type(x, dtype) for x in arrays], axis)


for function in (np.max, np.amax):
    rephrased(function)(extremum(np.max, np.maximum, -math.inf))
for function in (np.min, np.amin):
    rephrased(function)(extremum(np.min, np.minimum, math.inf))
rephrased(np.cumsum)(lambda a, axis=None, dtype=None: np.cumsum(of_type(a, dtype), axis=axis))
for join in (np.concatenate, np.stack):
    rephrased(join)(joined(join))


# -- without NaN
def filled(reduce, neutral):
    def result(a, axis=None, dtype=None, *, keepdims=False):
        return reduce(np.where(np.isnan(a), neutral, of_type(a, dtype)), axis=axis, keepdims=keepdims)

    return result


def running(reduce, neutral):
    return lambda a, axis=None, dtype=None: reduce(np.where(np.isnan(a), neutral, of_type(a, dtype)), axis=axis)


def spread(deviation):
    def result(a, axis=None, dtype=None, *, ddof=0, keepdims=False):
        return deviation(a, axis, dtype, ddof=ddof, keepdims=keepdims, where=~np.isnan(a))

    return result


def nan_extremum(reduce, worst):
    def result(a, axis=None, *, keepdims=False):
        found = reduce(np.where(np.isnan(a), worst, a), axis=axis, keepdims=keepdims)
        return np.where(np.all(np.isnan(a), axis=axis, keepdims=keepdims), math.nan, found)

    return result


composed(np.nansum)(filled(np.sum, 0))
composed(np.nanprod)(filled(np.prod, 1))
composed(np.nancumsum)(running(np.cumsum, 0))
composed(np.nancumprod)(running(np.cumprod, 1))
composed(np.nanvar)(spread(variance))
composed(np.nanstd)(spread(deviation))
composed(np.nanmax)(nan_extremum(np.max, -math.inf))
composed(np.nanmin)(nan_extremum(np.min, math.inf))


@composed(np.nanmean)
def nanmean(a, axis=None, dtype=None, *, keepdims=False):
    return mean(a, axis, dtype, keepdims=keepdims, where=~np.isnan(a))
