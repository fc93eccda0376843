"""Functions of one element, or of several that broadcast: fluxlite/autodiff/derivatives/elementwise.py."""

# ruff: noqa: B023  (functions made in a loop are used in the same turn)

import numpy as np
from gradcheck import Call
from hypothesis import strategies as st
from operands import NUMPY_2_0, any_number, arrays, between, calls, elementwise, nonzero, positive, shapes

inside = between(-0.9, 0.9)
above_one = between(1.2, 3)
between_steps = between(0.1, 0.4)  # and no jump near


@calls
def clip_calls(draw, function):
    """Bounds that are numbers, arrays, or not there."""
    x = draw(arrays(shapes()))
    low = draw(st.sampled_from([None, -0.7, np.full(x.shape[-1:], -0.6), np.array(-0.5)]))
    highs = [0.8, np.full(x.shape, 0.6), np.array(0.9)]
    high = draw(st.sampled_from(highs if NUMPY_2_0 and low is None else [None, *highs]))
    return Call(function, x, low, high)


@calls
def where_calls(draw, function):
    call = draw(elementwise(any_number, any_number)(function))
    shape = np.broadcast_shapes(*(x.shape for x in call.operands))
    return Call(function, np.random.default_rng(3).random(shape) < 0.5, *call.operands)


@calls
def power_calls(draw, function):
    """array ** array, array ** number, number ** array."""
    x = draw(arrays(shapes(), positive))
    number = draw(st.sampled_from([0, 1, 2, 3, -1, 0.5, -1.5, 2.0]))
    kind = draw(st.sampled_from(["array and array", "array and number", "number and array"]))
    if kind == "array and number":
        return Call(function, x, number)
    if kind == "number and array":
        return Call(function, abs(number) + 1, draw(arrays(shapes())))
    return draw(elementwise(positive, any_number)(function))


@calls
def whole_powers(draw, function):
    """A base of any sign."""
    return Call(function, draw(arrays(shapes(), nonzero)), draw(st.sampled_from([0, 1, 2, 3, -1, -2])))


@calls
def round_calls(draw, function):
    return Call(function, draw(arrays(shapes(), between(0.01, 0.04))), **draw(st.sampled_from([{}, {"decimals": 1}])))


OF_ONE = {
    any_number: [
        np.negative, np.positive, np.square, np.exp, np.exp2, np.expm1, np.sin, np.cos, np.arctan, np.sinh, np.cosh,
        np.tanh, np.arcsinh, np.deg2rad, np.radians, np.rad2deg, np.degrees, np.conjugate, np.real, np.copy,
        np.nan_to_num, np.sinc,
    ],
    nonzero: [np.absolute, np.fabs, np.reciprocal, np.cbrt, np.sign],
    positive: [np.sqrt, np.log, np.log2, np.log10, np.log1p],
    inside: [np.tan, np.arcsin, np.arccos, np.arctanh],
    above_one: [np.arccosh],
    between_steps: [np.floor, np.ceil, np.trunc, np.rint, np.fix],
    between(-0.05, 0.05): [np.sinc],
}  # fmt: skip
OF_TWO = {
    (any_number, any_number): [
        np.add, np.subtract, np.multiply, np.logaddexp, np.logaddexp2, np.maximum, np.minimum, np.fmax, np.fmin,
    ],
    (any_number, nonzero): [np.true_divide, np.remainder, np.fmod],
    (nonzero, nonzero): [np.copysign, np.arctan2, np.hypot],
    (nonzero, any_number): [np.heaviside],
    (positive, above_one): [np.floor_divide],
}  # fmt: skip
TABLE = [
    *((function, elementwise(domain)) for domain, functions in OF_ONE.items() for function in functions),
    *((function, elementwise(*domains)) for domains, functions in OF_TWO.items() for function in functions),
    (np.round, round_calls),
    (np.around, round_calls),
    (np.power, power_calls),
    (np.power, whole_powers),
    (np.where, where_calls),
    (np.clip, clip_calls),
]

# MLX has no such functions, signs of its own for the vectors, or no GPU for them.
NOT_ON_METAL = [
    np.nan_to_num, np.sinc, np.exp2, np.cbrt, np.hypot, np.arctan, np.arctan2, np.arcsinh, np.logaddexp2, np.fmax,
    np.fmin, np.fmod, np.copysign, np.heaviside,
]  # fmt: skip
