"""Functions that work on each element by itself. NumPy broadcasts their operands; `unbroadcast` takes that back."""

import functools
import math

import numpy as np

from ...array_kinds import is_plain
from ...arrays import astype, is_half, narrow, wide
from ..rules import accurate, accurate_rule, no_derivative, rule, zero_except_where, zero_where


def shape_of(x):
    """The shape of an operand, which may be a Python number."""
    return getattr(x, "shape", ())


def unbroadcast(g, x):
    """`g` summed over the axes along which `x` was broadcast, so that it has the shape of `x`."""
    shape = getattr(x, "shape", ())
    if g.shape == shape:
        return g
    if is_half(g):
        return narrow(unbroadcast(wide(g), x))
    added = g.ndim - len(shape)
    if shape and is_plain(g) and g.shape[added:] == shape and g.dtype.char in "fd":
        # A product with a row of ones takes a fraction of np.sum's time: a twentieth, for a few channels.
        rows = math.prod(g.shape[:added])
        return np.reshape(np.ones(rows, g.dtype) @ np.reshape(g, (rows, math.prod(shape))), shape)
    stretched = tuple(i + added for i, length in enumerate(shape) if length == 1 and g.shape[i + added] != 1)
    return np.reshape(np.sum(g, axis=(*range(added), *stretched)), shape)


def total(x, axis, keepdims=False):
    """`np.sum`, which in half precision is added up in float32 and rounded once."""
    result = np.sum(wide(x), axis=axis, keepdims=keepdims)
    return narrow(result) if is_half(x) else result


def product_rule(function, *pullbacks):
    """For what's exact enough, unless an operand was broadcast: then its gradient is a sum of products."""

    def summed(position, pullback):
        careful = accurate(pullback)

        @functools.wraps(pullback)
        def computed(g, out, x, y):
            is_sum = is_half(g) and g.shape != shape_of((x, y)[position])
            return careful(g, out, x, y) if is_sum else pullback(g, out, x, y)

        return computed

    rule(function, *[summed(position, pullback) for position, pullback in enumerate(pullbacks)])


# -- one operand
rule(np.negative, lambda g, out, x: -g)
rule(np.positive, lambda g, out, x: g)
rule(np.absolute, lambda g, out, x: g * np.sign(x))  # 0 at 0
rule(np.fabs, lambda g, out, x: g * np.sign(x))
accurate_rule(np.reciprocal, lambda g, out, x: -g * out * out)
rule(np.square, lambda g, out, x: g * x * 2)  # 2 * x may be too large
rule(np.sqrt, lambda g, out, x: g / (2 * out))
rule(np.exp, lambda g, out, x: g * out)
accurate_rule(np.expm1, lambda g, out, x: g * (out + 1), again=True)
rule(np.log, lambda g, out, x: g / x)
accurate_rule(np.log2, lambda g, out, x: g / (x * math.log(2)))
accurate_rule(np.log10, lambda g, out, x: g / x * (1 / math.log(10)))
accurate_rule(np.log1p, lambda g, out, x: g / (1 + x))
accurate_rule(np.sin, lambda g, out, x: g * np.cos(x))
accurate_rule(np.cos, lambda g, out, x: -g * np.sin(x))
accurate_rule(np.tan, lambda g, out, x: g * (1 + out * out), again=True)
accurate_rule(np.sinh, lambda g, out, x: g * np.cosh(x))
accurate_rule(np.cosh, lambda g, out, x: g * np.sinh(x))
accurate_rule(np.tanh, lambda g, out, x: g * (1 - out * out), again=True)
rule(np.conjugate, lambda g, out, x: g)
rule(np.real, lambda g, out, val: g)
rule(np.copy, lambda g, out, a: g)

for step in (np.sign, np.floor, np.ceil, np.trunc, np.rint):  # flat between its jumps: 0, as in PyTorch
    rule(step, lambda g, out, x: np.zeros_like(g))
for rounding in (np.round, np.around):
    rule(rounding, lambda g, out, a, decimals=0: np.zeros_like(g))

# -- two operands
rule(np.add, lambda g, out, x, y: unbroadcast(g, x), lambda g, out, x, y: unbroadcast(g, y))
rule(np.subtract, lambda g, out, x, y: unbroadcast(g, x), lambda g, out, x, y: unbroadcast(-g, y))
product_rule(np.multiply, lambda g, out, x, y: unbroadcast(g * y, x), lambda g, out, x, y: unbroadcast(g * x, y))
accurate_rule(
    np.true_divide, lambda g, out, x, y: unbroadcast(g / y, x), lambda g, out, x, y: unbroadcast(-g * out / y, y)
)


def base_of_power(g, out, x, y):
    if isinstance(y, (int, float)):
        return g * (y * x ** (y - 1)) if y != 0 else np.zeros_like(g)
    nonzero = np.where(y == 0, 1, y)  # 0 ** (0 - 1) is infinite, and x ** 0 is flat
    return unbroadcast(np.where(y == 0, 0, g * y * x ** (nonzero - 1)), x)


def exponent_of_power(g, out, x, y):
    # 0 ** y is flat, from y = 0 on; its log mustn't be taken. Below, it's infinite.
    if isinstance(x, (int, float)):
        if x == 0:
            return np.where(y < 0, -out, 0) * g
        return g * out * float(np.log(x))  # a Python number leaves float32 what it is
    if x.dtype.kind != "f":  # the log of an 8-bit number would be a float16
        x = astype(x, out.dtype)
    return unbroadcast(g * out * np.log(np.where((x == 0) & (y >= 0), 1, x)), y)


accurate_rule(np.power, base_of_power, exponent_of_power, again=True)


# -- a choice of operands: where two are equal, they share the gradient equally
def keep_where_larger(g, x, y):
    """The share of `g` that `x` gets in a maximum: all where it's larger, half where both are equal."""
    return zero_where(x < y, np.where(x == y, g / 2, g))  # next to a NaN, both get it: as in PyTorch


rule(
    np.maximum,
    lambda g, out, x, y: unbroadcast(keep_where_larger(g, x, y), x),
    lambda g, out, x, y: unbroadcast(keep_where_larger(g, y, x), y),
)
rule(
    np.minimum,
    lambda g, out, x, y: unbroadcast(keep_where_larger(g, y, x), x),
    lambda g, out, x, y: unbroadcast(keep_where_larger(g, x, y), y),
)
rule(
    np.where,
    None,
    lambda g, out, condition, x, y: unbroadcast(zero_except_where(condition, g), x),
    lambda g, out, condition, x, y: unbroadcast(zero_where(condition, g), y),
)
rule(
    np.clip,
    lambda g, out, a, a_min=None, a_max=None: unbroadcast(np.where((a < out) | (a > out), 0, g), a),
    lambda g, out, a, a_min=None, a_max=None: unbroadcast(np.where((a < out) & (out == a_min), g, 0), a_min),
    # If the bounds cross, the upper one holds.
    lambda g, out, a, a_min=None, a_max=None: unbroadcast(
        np.where(a > out if a_min is None else (a > out) | (out < a_min), g, 0), a_max
    ),
)

# -- no derivative
no_derivative(
    np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal,
    np.logical_and, np.logical_or, np.logical_xor, np.logical_not,
    np.isnan, np.isinf, np.isfinite, np.signbit, np.isclose, np.allclose, np.array_equal,
    np.iscomplexobj, np.isrealobj, np.isreal, np.iscomplex,
    np.zeros_like, np.ones_like, np.empty_like, np.result_type, np.can_cast, np.min_scalar_type,
    np.shape, np.ndim, np.size, np.shares_memory, np.may_share_memory,
    np.array_repr, np.array_str, np.array2string,
)  # fmt: skip
