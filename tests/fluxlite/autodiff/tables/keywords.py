"""Keywords of reductions: where=, which chooses elements, and initial=."""

import numpy as np
from gradcheck import Call
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from operands import arrays, axis_of, calls, nonzero, shapes


def of_some(domain=nonzero, always=False, least=0, **keywords):
    """Calls with where=, which chooses at least `least` elements of each result, and with keywords that are drawn."""

    @calls
    def draw_call(draw, function):
        shape = draw(shapes(1, 3, 1 + least, 3))
        axis = draw(st.one_of(st.none(), axis_of(shape), hnp.valid_tuple_axes(len(shape), min_size=1)))
        mask = np.random.default_rng(draw(st.integers(0, 100))).random(shape) < 0.6
        mask[tuple([slice(0, least)] * len(shape))] = True
        for axis_of_mask in range(len(shape)):  # the first elements of each row, along every axis
            mask[(slice(None),) * axis_of_mask + (slice(0, least),)] = True
        more = {name: draw(values) for name, values in keywords.items()}
        where = {"where": draw(st.sampled_from([mask, mask[:1]]))} if always or draw(st.booleans()) else {}
        return Call(function, draw(arrays(shape, domain)), axis=axis, keepdims=draw(st.booleans()), **where, **more)

    return draw_call


TABLE = [
    (np.sum, of_some(initial=st.sampled_from([0, 1.5]))),
    (np.prod, of_some(initial=st.sampled_from([1, 1.5]))),
    (np.mean, of_some(always=True, least=1)),
    (np.var, of_some(always=True, least=2, ddof=st.sampled_from([0, 1]))),
    (np.std, of_some(always=True, least=2, ddof=st.sampled_from([0, 1]))),
    (np.max, of_some(initial=st.sampled_from([-5.0, 0.1]))),
    (np.min, of_some(initial=st.sampled_from([5.0, 0.1]))),
    (np.amax, of_some(initial=st.sampled_from([-5.0, 0.1]))),
    (np.amin, of_some(initial=st.sampled_from([5.0, 0.1]))),
]
