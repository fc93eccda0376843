"""`standardized`: numbers with mean 0 and variance 1, which all normalization layers are made of.

An array is taken as ``(blocks, rows, channels)``. Each block by itself is brought to mean 0 and variance 1, over its
rows, and over the channels of each group. All four layers differ only in what they take for a block and for a group.
A mean is a product with a row of ``1/n``: that's many times quicker than `np.mean` over the first or the last axis.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np

from ..arrays import astype, primitive
from ..autodiff.rules import rule
from ..autodiff.tracked import TrackedArray, plain

# What `standardized` finds on its way, as plain arrays, of each block and channel, or one for all channels: the `mean`,
# the `variance`, and the `factor`, 1 / sqrt(variance + eps).
Moments = SimpleNamespace


@primitive
def standardized(x: Any, shape: tuple[int, int, int], groups: int, eps: float, moments: Moments) -> Any:
    """`x` with mean 0 and variance 1 in each block and group of channels; `shape` is ``(blocks, rows, channels)``.

    To the variance, `eps` is added before the root is taken. What was found is noted in `moments`. Half precision is
    computed in Float32.

    >>> standardized(np.array([[1.0, 5.0], [3.0, 5.0]]), (1, 2, 2), 2, 0.0001, Moments()).round(2)
    array([[-1.,  0.],
           [ 1.,  0.]])
    """
    wide = np.reshape(x.astype(np.promote_types(x.dtype, np.float32), copy=False), shape)
    moments.mean = average(wide, groups)
    result = wide - moments.mean
    moments.variance = average(result * result, groups)
    moments.factor = 1 / np.sqrt(moments.variance + eps)
    result *= moments.factor
    return np.reshape(result, x.shape).astype(x.dtype, copy=False)


def average(x: Any, groups: int) -> Any:
    """The mean of each block and group, which broadcasts with `x`."""
    blocks, rows, channels = x.shape
    if rows != 1:
        x = np.full_like(plain(x), 1 / max(rows, 1), shape=(1, rows)) @ x
    if groups == channels:
        return x
    size = channels // groups
    x = np.reshape(x, (blocks * groups, size)) @ np.full_like(plain(x), 1 / max(size, 1), shape=(size, 1))
    if groups == 1:
        return np.reshape(x, (blocks, 1, 1))
    spread = np.broadcast_to(np.reshape(x, (blocks, groups, 1)), (blocks, groups, size))
    return np.reshape(spread, (blocks, 1, channels))


def slope(g: Any, out: Any, x: Any, shape: tuple, groups: int, eps: float, moments: Moments) -> Any:
    if TrackedArray in (type(g), type(out)):
        return composed_slope(g, out, x, shape, groups, eps)
    wide = moments.factor.dtype
    g, out = (np.reshape(array.astype(wide, copy=False), shape) for array in (g, out))
    result = out * average(g * out, groups)
    result += average(g, groups)
    np.subtract(g, result, out=result)
    result *= moments.factor
    return np.reshape(result, x.shape).astype(x.dtype, copy=False)


def composed_slope(g: Any, out: Any, x: Any, shape: tuple, groups: int, eps: float) -> Any:
    """The same of functions that have rules, for the next derivative."""
    wide = np.promote_types(x.dtype, np.float32)
    g, out, whole = (np.reshape(astype(array, wide), shape) for array in (g, out, x))
    centred = whole - average(whole, groups)
    factor = 1 / np.sqrt(average(centred * centred, groups) + eps)
    result = (g - average(g, groups) - out * average(g * out, groups)) * factor
    return np.reshape(astype(result, x.dtype), x.shape)


rule(standardized, slope)
