"""Rows of numbers: running products, differences, polynomials, curves through points."""

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ....arrays import of_type, on_device_of
from ...rules import composed, rule
from ...tracked import plain
from ..elementwise import shape_of
from ..shaping import along
from ..sums import axes_of
from .products import typed


@composed(np.cumprod)
def cumprod(a, axis=None, dtype=None):
    """Each times the one before it, then times the product of two before those, of four, …: right at zeros."""
    a, axis = (np.ravel(a), 0) if axis is None else (a, normalize_axis_index(axis, np.ndim(a)))
    a, before = np.moveaxis(of_type(a, dtype), axis, 0), 1
    while before < len(a):
        a, before = np.concatenate([a[:before], a[before:] * a[:-before]]), 2 * before
    return np.moveaxis(a, 0, axis)


@composed(np.linspace)
def linspace(start, stop, num=50, endpoint=True, *, axis=0):
    """Between two numbers, or between the elements of two arrays, along a new axis."""
    if num < 0:
        raise ValueError(f"np.linspace takes a number of samples that is not negative, got {num}")
    like = start if hasattr(start, "dtype") else stop
    steps = on_device_of(plain(like), np.arange(num, dtype=like.dtype)) / max(num - bool(endpoint), 1)
    difference = stop - start
    steps = np.reshape(steps, (num,) + (1,) * np.ndim(difference))
    return np.moveaxis(start + steps * difference, 0, axis)


# -- sums and differences
def cumulative(running, start):
    def result(x, /, *, axis=None, dtype=None, include_initial=False):
        if axis is None and np.ndim(x) != 1:
            raise ValueError("of several axes, axis= says which")
        axis = 0 if axis is None else normalize_axis_index(axis, np.ndim(x))
        found = running(of_type(x, dtype), axis=axis)
        if not include_initial:
            return found
        shape = tuple(1 if i == axis else n for i, n in enumerate(np.shape(x)))
        return np.concatenate([np.full_like(plain(found), start, shape=shape), found], axis)

    return result


if hasattr(np, "cumulative_sum"):  # since NumPy 2.1
    composed(np.cumulative_sum)(cumulative(np.cumsum, 0))
    composed(np.cumulative_prod)(cumulative(np.cumprod, 1))


@composed(np.ediff1d)
def ediff1d(ary, to_end=None, to_begin=None):
    parts = [to_begin, np.diff(np.ravel(ary)), to_end]
    return np.concatenate([np.ravel(part) for part in parts if part is not None])


@composed(np.trapezoid)
def trapezoid(y, x=None, dx=1.0, axis=-1):
    left, right = y[along(axis, np.ndim(y), slice(-1))], y[along(axis, np.ndim(y), slice(1, None))]
    widths: Any = dx if x is None else np.diff(x, axis=-1 if np.ndim(x) == 1 else axis)
    if x is not None and np.ndim(x) == 1:
        widths = np.reshape(widths, (-1,) + (1,) * (np.ndim(y) - normalize_axis_index(axis, np.ndim(y)) - 1))
    return np.sum(widths * (left + right) / 2, axis=axis)


@composed(np.gradient)
def gradient(f, *varargs, axis=None, edge_order=1):
    """Half the difference of the neighbours; at the edges that of the first two, or a parabola through three."""
    axes = axes_of(f, axis)
    if len(varargs) not in (0, 1, len(axes)):
        raise TypeError("np.gradient takes one spacing, or one for each axis")
    if edge_order not in (1, 2) or any(f.shape[i] < edge_order + 1 for i in axes):
        raise ValueError("np.gradient takes edge_order 1 or 2, and an axis that is longer than that")
    if any(np.ndim(spacing) > 0 for spacing in varargs):
        raise TypeError("np.gradient has a derivative rule for spacings that are numbers, not for coordinates")
    spacings = varargs * len(axes) if len(varargs) == 1 else varargs or (1.0,) * len(axes)
    dtype = f.dtype if f.dtype.kind == "f" else np.float64
    found = tuple(of_type(slopes(f, i, edge_order) / spacing, dtype) for i, spacing in zip(axes, spacings, strict=True))
    return found[0] if len(found) == 1 else found


def slopes(f, axis, edge_order):
    f = np.moveaxis(f, axis, 0)
    first, last = f[1:2] - f[:1], f[-1:] - f[-2:-1]
    if edge_order == 2:
        first, last = (4 * f[1:2] - 3 * f[:1] - f[2:3]) / 2, (3 * f[-1:] - 4 * f[-2:-1] + f[-3:-2]) / 2
    return np.moveaxis(np.concatenate([first, (f[2:] - f[:-2]) / 2, last]), 0, axis)


# -- curves
@composed(np.interp)
def interp(x, xp, fp, left=None, right=None):
    """On the straight lines between the points; outside, `left` and `right`."""
    x, xp, fp = (of_type(y if hasattr(y, "dtype") else np.asarray(y), np.float64) for y in (x, xp, fp))
    if xp.shape != fp.shape or xp.ndim != 1 or xp.size == 0:
        raise ValueError(f"np.interp takes as many xp as fp, got shapes {xp.shape} and {fp.shape}")
    place = np.clip(np.searchsorted(plain(xp), plain(x), side="right") - 1, 0, max(xp.size - 2, 0))
    after = np.minimum(place + 1, xp.size - 1)
    width = xp[after] - xp[place]
    slope = (fp[after] - fp[place]) / np.where(width == 0, 1, width)
    result = fp[place] + slope * (x - xp[place])
    result = np.where(x < xp[0], fp[0] if left is None else left, result)
    return np.where(x > xp[-1], fp[-1] if right is None else right, result)


@composed(np.polyval)
def polyval(p, x):
    result = np.zeros_like(plain(x)) if hasattr(x, "dtype") else 0 * np.asarray(x)
    for i in range(len(p)):
        result = result * x + typed(p[i])
    return result


@composed(np.vander)
def vander(x, N=None, increasing=False):  # noqa: N803  (NumPy's name)
    if np.ndim(x) != 1 or N is not None and N < 0:
        raise ValueError(f"np.vander takes a vector, and N from 0, got shape {np.shape(x)} and N={N}")
    powers = range(np.size(x) if N is None else N)
    x = of_type(x, np.promote_types(x.dtype, int))
    columns = [x**i for i in (powers if increasing else reversed(powers))]
    return np.stack(columns, axis=1) if columns else x[:, None][:, :0]


# -- convolve
def filled(g, a, v, mode):
    """The gradient of mode "full". The other modes are its middle."""
    whole = np.size(a) + np.size(v) - 1
    before = {"full": 0, "same": (min(np.size(a), np.size(v)) - 1) // 2, "valid": min(np.size(a), np.size(v)) - 1}[mode]
    return np.pad(g, (before, whole - before - g.shape[0]))


def left_of_convolve(g, out, a, v, mode="full"):
    return np.reshape(np.convolve(filled(g, a, v, mode), np.flip(np.ravel(v)), "valid"), shape_of(a))


def right_of_convolve(g, out, a, v, mode="full"):
    return np.reshape(np.convolve(filled(g, a, v, mode), np.flip(np.ravel(a)), "valid"), shape_of(v))


rule(np.convolve, left_of_convolve, right_of_convolve)
