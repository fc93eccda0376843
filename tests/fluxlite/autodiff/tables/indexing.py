"""Indexing, another dtype, another device: the last rules of fluxlite/autodiff/derivatives/shaping.py."""

# ruff: noqa: B023  (functions made in a loop are used in the same turn)
import numpy as np
from gradcheck import Call
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from operands import arrays, calls, shapes

import fluxlite as fl


def getitem(x, index):
    return x[index]


@st.composite
def indices(draw, shape):
    """Slices (with negative steps), integers, None and Ellipsis; integer arrays with repeats; masks; mixtures."""
    basic = hnp.basic_indices(shape, allow_newaxis=True)
    some = bool(shape) and 0 not in shape
    fancy = hnp.integer_array_indices(shape, result_shape=shapes(0, 2)) if some else basic
    rng = np.random.default_rng(draw(st.integers(0, 100)))
    mask = rng.random(shape) < 0.5
    kind = draw(st.sampled_from(["basic", "basic", "fancy", "mask", "mixture", "list"]))
    if not shape:
        return draw(st.sampled_from([(), None, Ellipsis, (None, Ellipsis, None)]))
    if kind in ("basic", "fancy") or 0 in shape:
        return draw(basic if kind == "basic" else fancy)
    first = rng.integers(-shape[0], shape[0], 4)
    if kind == "mask":
        return draw(st.sampled_from([mask, mask[(slice(None), *[0] * (len(shape) - 1))], (Ellipsis, mask)]))
    if kind == "list":
        return draw(st.sampled_from([[0, -1, 0], (first.tolist(),), (Ellipsis, [0, 0]), ((0, 0), Ellipsis)]))
    last = rng.integers(0, shape[-1], 4)
    mixtures = [(None, first), (first, None, ...), (..., last), (first[:, None], None, ...), (np.int64(-1), ...)]
    if len(shape) > 1:
        column = mask[(slice(None), *[0] * (len(shape) - 1))]
        mixtures += [(first, ..., last), (slice(None, None, -1), ..., last), (0, ..., last), (column, ..., 0)]
    return draw(st.sampled_from(mixtures))


@calls
def getitem_calls(draw, function):
    x = draw(arrays(shapes(0, 3, 0)))
    return Call(function, x, draw(indices(x.shape)))


@calls
def scatter_calls(draw, function):
    like = np.zeros(draw(shapes(1, 3, 1)))
    index = draw(indices(like.shape))
    values = draw(arrays(np.shape(like[index])))
    return Call(lambda values: function(like, index, values), values)


def with_arrays(*args):
    """Calls with an array and always the same further arguments."""
    return calls(lambda draw, function: Call(function, draw(arrays(shapes(1))), *args))


TABLE = [
    (getitem, getitem_calls),
    (fl.getitem, getitem_calls),
    (fl.scatter_add, scatter_calls),
    (fl.astype, with_arrays(np.float64)),
    (fl.move, with_arrays(fl.device_of(np.zeros(1)))),
]
