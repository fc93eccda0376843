"""Functions that make one number of many: rules of fluxlite/autodiff/derivatives/sums.py."""

import numpy as np
from gradcheck import Call
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from operands import any_number, arrays, axis_of, calls, nonzero, positive, shapes


def over_axes(domain=any_number, min_side=0, **keywords):
    """``f(x)``, ``f(x, axis)``, ``f(x, axis=…, keepdims=…)``; the axis is None, an integer or a tuple of those."""

    @calls
    def draw_call(draw, function):
        x = draw(arrays(shapes(min_side=min_side), domain))
        more = {name: draw(values) for name, values in keywords.items()}
        several = hnp.valid_tuple_axes(x.ndim)
        axis = draw(st.one_of(st.none(), several, axis_of(x.shape)) if x.ndim else st.sampled_from([None, ()]))
        style = draw(st.sampled_from(["plain", "position", "keywords"]))
        if style == "plain":
            return Call(function, x, **more)
        if style == "position":
            return Call(function, x, axis, **more)
        return Call(function, x, axis=axis, keepdims=draw(st.booleans()), **more)

    return draw_call


@calls
def spread_calls(draw, function):
    """var and std: more numbers than ddof, and not all equal."""
    shape = draw(shapes(1, 3, 2, 3))
    x = draw(arrays(shape))
    axis = draw(st.one_of(st.none(), axis_of(shape), hnp.valid_tuple_axes(len(shape), min_size=1)))
    return Call(function, x, axis=axis, ddof=draw(st.sampled_from([0, 1, 0.5])), keepdims=draw(st.booleans()))


@calls
def average_calls(draw, function):
    shape = draw(shapes(1, 3, 1, 3))
    x, axis, keepdims = draw(arrays(shape)), draw(st.one_of(st.none(), axis_of(shape))), draw(st.booleans())
    kinds = ["none", "as x", "whole numbers"] + (["one for each place"] if axis is not None else [])
    kind = draw(st.sampled_from(kinds))
    if kind == "none":
        return Call(function, x, axis, keepdims=keepdims)
    if kind == "whole numbers":
        # NumPy computes with float64 then, whatever x is
        return Call(lambda x: function(x, axis, np.full(shape, 2, np.int8).astype(x.dtype)), x)
    weights = draw(arrays(shape if kind == "as x" else (shape[axis],), positive, 1))
    return Call(function, x, axis=axis, weights=weights, keepdims=keepdims)


@calls
def cumsum_calls(draw, function):
    x = draw(arrays(shapes()))
    return Call(function, x, axis=draw(axis_of(x.shape)) if x.ndim and draw(st.booleans()) else None)


@calls
def norm_calls(draw, function):
    """Of vectors, along an axis: several orders. Of matrices and of all elements: the root of the sum of squares."""
    shape = draw(shapes(1, 3, 1, 3))
    x, keepdims = draw(arrays(shape, nonzero)), draw(st.booleans())
    kind = draw(st.sampled_from(["all", "vectors", "matrices"]))
    if kind == "vectors":
        axis = draw(st.one_of(axis_of(shape), axis_of(shape).map(lambda i: (i,))))
        return Call(function, x, draw(st.sampled_from([None, 1, 2, 3, 2.5, np.inf, -np.inf])), axis, keepdims=keepdims)
    if kind == "matrices" and len(shape) > 1:
        axes = draw(hnp.valid_tuple_axes(len(shape), min_size=2, max_size=2))
        return Call(function, x, ord=draw(st.sampled_from([None, "fro"])), axis=axes, keepdims=keepdims)
    return Call(function, x, keepdims=keepdims)


TABLE = [
    (np.sum, over_axes()),
    (np.mean, over_axes(min_side=1)),
    (np.prod, over_axes()),
    (np.prod, over_axes(nonzero, min_side=1)),
    (np.max, over_axes(min_side=1)),
    (np.min, over_axes(min_side=1)),
    (np.amax, over_axes(min_side=1)),
    (np.amin, over_axes(min_side=1)),
    (np.ptp, over_axes(min_side=1)),
    (np.var, spread_calls),
    (np.std, spread_calls),
    (np.average, average_calls),
    (np.cumsum, cumsum_calls),
    (np.cumprod, cumsum_calls),
    (np.linalg.norm, norm_calls),
]
