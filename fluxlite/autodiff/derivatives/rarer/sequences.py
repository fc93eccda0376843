"""Rows of numbers: running products, differences, polynomials, curves through points."""

import numpy as np

from ....arrays import of_type, on_device_of
from ...rules import composed, rule
from ...tracked import plain
from ..elementwise import shape_of
from ..products import typed
from ..reductions import axes_of
from ..shaping import along


@composed(np.cumprod)
def cumprod(a, axis=None, dtype=None):
    """Each times the one before it, then times the product of two before those, of four, …: right at zeros."""
    a, axis = (np.ravel(a), 0) if axis is None else (a, axis)
    a, before = np.moveaxis(of_type(a, dtype), axis, 0), 1
    while before < len(a):
        a, before = np.concatenate([a[:before], a[before:] * a[:-before]]), 2 * before
    return np.moveaxis(a, 0, axis)


@composed(np.linspace)
def linspace(start, stop, num=50, endpoint=True, *, axis=0):
    """Between two numbers, or between the elements of two arrays, along a new axis."""
    like = start if hasattr(start, "dtype") else stop
    steps = on_device_of(plain(like), np.linspace(0, 1, num, endpoint, dtype=like.dtype))
    difference = stop - start
    return np.moveaxis(start + np.reshape(steps, (num,) + (1,) * np.ndim(difference)) * difference, 0, axis)


# -- sums and differences
def cumulative(running, start):
    def result(x, /, *, axis=None, dtype=None, include_initial=False):
        if axis is None and np.ndim(x) != 1:
            raise ValueError("of several axes, axis= says which")
        found = running(of_type(x, dtype), axis=0 if axis is None else axis)
        if not include_initial:
            return found
        first = np.full_like(plain(found)[along(axis or 0, np.ndim(x), slice(1))], start)
        return np.concatenate([first, found], axis or 0)

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
    y = np.moveaxis(y, axis, -1)
    widths = dx if x is None else np.diff(x if np.ndim(x) == 1 else np.moveaxis(x, axis, -1))
    return np.sum(widths * (y[..., :-1] + y[..., 1:]) / 2, axis=-1)


@composed(np.gradient)
def gradient(f, *varargs, axis=None, edge_order=1):
    """Half the difference of the neighbours; at the edges that of the first two, or a parabola through three."""
    axes = axes_of(f, axis)
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
    if np.ndim(x) != 1:
        raise ValueError(f"np.vander takes a vector, got shape {np.shape(x)}")
    powers = np.arange(np.size(x))[:N] if N is None else np.arange(N)
    x = of_type(x, np.promote_types(x.dtype, int))
    columns = [x**i for i in (powers if increasing else powers[::-1]).tolist()]
    return np.stack(columns, axis=1) if columns else x[:, None][:, :0]


# -- convolve
def of_convolve(other, own):
    """The gradient of one of the two, by the `other`: "full" backwards is "valid". Other modes are its middle."""

    def pullback(g, out, a, v, mode="full"):
        whole, shorter = np.size(a) + np.size(v) - 1, min(np.size(a), np.size(v))
        before = {"full": 0, "same": (shorter - 1) // 2, "valid": shorter - 1}[mode]
        g = np.pad(g, (before, whole - before - g.shape[0]))
        return np.reshape(np.convolve(g, np.flip(np.ravel((a, v)[other])), "valid"), shape_of((a, v)[own]))

    return pullback


rule(np.convolve, of_convolve(1, 0), of_convolve(0, 1))
