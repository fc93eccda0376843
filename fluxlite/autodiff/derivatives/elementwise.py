"""Functions that work on each element by itself. With two operands, NumPy broadcasts them: `fit` undoes that."""

import math

import numpy as np

from ..quicker import ones_times, unless
from ..rules import composed, no_derivative, rule


def shape_of(x):
    """The shape of an operand, which may be a Python number."""
    return getattr(x, "shape", ())


def checked(function, x, *args):
    """Let NumPy look at the arguments of a function that only gives views: of an array that takes no memory."""
    function(np.broadcast_to(np.zeros(()), shape_of(x)), *args)


def fit(g, x):
    """`g` summed over the axes along which `x` was broadcast, so that it has the shape of `x`.

    >>> fit(np.ones((4, 3)), np.zeros(3)), fit(np.ones((2, 3)), np.zeros((2, 1)))
    (array([4., 4., 4.]), array([[3.],
           [3.]]))
    """
    shape = shape_of(x)
    if g.shape == shape:
        return g
    added = g.ndim - len(shape)
    if shape and type(g) is np.ndarray and g.shape[added:] == shape and g.dtype.char in "fd":
        return ones_times(g, shape)
    stretched = tuple(i + added for i, length in enumerate(shape) if length == 1 and g.shape[i + added] != 1)
    return np.reshape(np.sum(g, axis=(*range(added), *stretched)), shape)


def turned(g, other, length):
    """The gradient of an angle; the square of the length may be too large for a number."""
    return g * (other / length) / length


# -- one operand
rule(np.negative, lambda g, out, x: -g)
rule(np.positive, lambda g, out, x: g)
rule(np.absolute, lambda g, out, x: g * np.sign(x))  # 0 at 0
rule(np.fabs, lambda g, out, x: g * np.sign(x))
rule(np.reciprocal, lambda g, out, x: -g * out * out)
rule(np.square, lambda g, out, x: g * (2 * x))
rule(np.sqrt, lambda g, out, x: g / (2 * out))
rule(np.cbrt, lambda g, out, x: g / (3 * out * out))
rule(np.exp, lambda g, out, x: g * out)
rule(np.exp2, lambda g, out, x: g * out * math.log(2))
rule(np.expm1, lambda g, out, x: g * (out + 1))
rule(np.log, lambda g, out, x: g / x)
rule(np.log2, lambda g, out, x: g / (x * math.log(2)))
rule(np.log10, lambda g, out, x: g / x * (1 / math.log(10)))
rule(np.log1p, lambda g, out, x: g / (1 + x))
rule(np.sin, lambda g, out, x: g * np.cos(x))
rule(np.cos, lambda g, out, x: -g * np.sin(x))
rule(np.tan, lambda g, out, x: g * (1 + out * out))
rule(np.arcsin, lambda g, out, x: g / np.sqrt(1 - x * x))
rule(np.arccos, lambda g, out, x: -g / np.sqrt(1 - x * x))
rule(np.arctan, lambda g, out, x: turned(g, 1, np.hypot(1, x)))
rule(np.sinh, lambda g, out, x: g * np.cosh(x))
rule(np.cosh, lambda g, out, x: g * np.sinh(x))
rule(np.tanh, lambda g, out, x: g * (1 - out * out))
rule(np.arcsinh, lambda g, out, x: g / np.hypot(1, x))
rule(np.arccosh, lambda g, out, x: g / (np.sqrt(x - 1) * np.sqrt(x + 1)))
rule(np.arctanh, lambda g, out, x: g / (1 - x * x))
rule(np.deg2rad, lambda g, out, x: g * (math.pi / 180))
rule(np.radians, lambda g, out, x: g * (math.pi / 180))
rule(np.rad2deg, lambda g, out, x: g * (180 / math.pi))
rule(np.degrees, lambda g, out, x: g * (180 / math.pi))
rule(np.conjugate, lambda g, out, x: g)
rule(np.real, lambda g, out, val: g)
rule(np.copy, lambda g, out, a: g)
rule(np.nan_to_num, lambda g, out, x: np.where(np.isfinite(x), g, 0))

# Steps are flat between their jumps: the gradient is 0, as in PyTorch.
for step in (np.sign, np.floor, np.ceil, np.trunc, np.rint):
    rule(step, lambda g, out, x: np.zeros_like(g))
rule(np.round, lambda g, out, a, decimals=0: np.zeros_like(g))
rule(np.around, lambda g, out, a, decimals=0: np.zeros_like(g))


# -- two operands
rule(np.add, lambda g, out, x, y: fit(g, x), lambda g, out, x, y: fit(g, y))
rule(np.subtract, lambda g, out, x, y: fit(g, x), lambda g, out, x, y: fit(-g, y))
rule(np.multiply, lambda g, out, x, y: fit(g * y, x), lambda g, out, x, y: fit(g * x, y))
rule(np.true_divide, lambda g, out, x, y: fit(g / y, x), lambda g, out, x, y: fit(-g * out / y, y))
rule(np.floor_divide, lambda g, out, x, y: fit(np.zeros_like(g), x), lambda g, out, x, y: fit(np.zeros_like(g), y))
for rest in (np.remainder, np.fmod):  # x / y rounded down is not always how often y was taken away: 0.9 / 0.1 is 9.0
    rule(rest, lambda g, out, x, y: fit(g, x), lambda g, out, x, y: fit(-g * np.rint((x - out) / y), y))
rule(
    np.arctan2,
    lambda g, out, x, y: fit(turned(g, y, np.hypot(x, y)), x),
    lambda g, out, x, y: fit(turned(-g, x, np.hypot(x, y)), y),
)
rule(
    np.hypot,
    lambda g, out, x, y: fit(g * x / np.where(out == 0, 1, out), x),  # 0 at the tip of the cone
    lambda g, out, x, y: fit(g * y / np.where(out == 0, 1, out), y),
)
rule(np.logaddexp, lambda g, out, x, y: fit(g * np.exp(x - out), x), lambda g, out, x, y: fit(g * np.exp(y - out), y))
rule(
    np.logaddexp2, lambda g, out, x, y: fit(g * np.exp2(x - out), x), lambda g, out, x, y: fit(g * np.exp2(y - out), y)
)


def base_of_power(g, out, x, y):
    if isinstance(y, (int, float)):
        return g * (y * x ** (y - 1)) if y != 0 else np.zeros_like(g)
    nonzero = np.where(y == 0, 1, y)  # 0 ** (0 - 1) is infinite, and x ** 0 is flat
    return fit(np.where(y == 0, 0, g * y * x ** (nonzero - 1)), x)


def exponent_of_power(g, out, x, y):
    # 0 ** y is flat; its log is not to be taken.
    if isinstance(x, (int, float)):
        return g * out * float(np.log(x or 1))  # a Python number leaves float32 what it is
    return fit(g * out * np.log(np.where(x == 0, 1, x)), y)


rule(np.power, base_of_power, exponent_of_power)
rule(np.float_power, base_of_power, exponent_of_power)


rule(np.copysign, lambda g, out, x, y: fit(g * np.sign(x) * np.copysign(1.0, y), x), lambda g, out, x, y: fit(0 * g, y))
rule(np.heaviside, lambda g, out, x, y: fit(0 * g, x), lambda g, out, x, y: fit(np.where(x == 0, g, 0), y))
composed(np.fix)(lambda x: np.trunc(x))


def slope_of_sinc(g, out, x):
    z = math.pi * x
    zz = z * z
    near = -z / 3 * (1 - zz / 10 * (1 - zz / 28 * (1 - zz / 54 * (1 - zz / 88))))  # where cos(z) and sin(z) / z cancel
    return g * math.pi * np.where(np.abs(z) < 0.3, near, (np.cos(z) - out) / np.where(x == 0, 1, z))


rule(np.sinc, slope_of_sinc)


# -- a choice of operands: where two are equal, they share the gradient equally
def larger(g, x, y):
    return unless(x < y, np.where(x == y, g / 2, g))  # beside a NaN, both: as in PyTorch


def larger_number(g, x, y):
    return np.where(np.isnan(y), g, np.where(np.isnan(x), 0, larger(g, x, y)))  # a NaN is never chosen


rule(np.maximum, lambda g, out, x, y: fit(larger(g, x, y), x), lambda g, out, x, y: fit(larger(g, y, x), y))
rule(np.minimum, lambda g, out, x, y: fit(larger(g, y, x), x), lambda g, out, x, y: fit(larger(g, x, y), y))
rule(np.fmax, lambda g, out, x, y: fit(larger_number(g, x, y), x), lambda g, out, x, y: fit(larger_number(g, y, x), y))
rule(
    np.fmin,  # the smaller of two is the larger of their negatives
    lambda g, out, x, y: fit(larger_number(g, -x, -y), x),
    lambda g, out, x, y: fit(larger_number(g, -y, -x), y),
)

rule(
    np.where,
    None,
    lambda g, out, condition, x, y: fit(unless(condition, g, holds=True), x),
    lambda g, out, condition, x, y: fit(unless(condition, g), y),
)


def clipped(g, out, a, a_min=None, a_max=None):
    if a_min is not None:
        g = np.where(a < a_min, 0, g)
    if a_max is not None:
        g = np.where(a > a_max, 0, g)
    return fit(g, a)


def lower_bound(g, out, a, a_min=None, a_max=None):
    holds = a < a_min if a_max is None else (a < a_min) & (a_min <= a_max)  # of bounds that cross, the upper one holds
    return fit(np.where(holds, g, 0), a_min)


def upper_bound(g, out, a, a_min=None, a_max=None):
    holds = a > a_max if a_min is None else (a > a_max) | (a_min > a_max)
    return fit(np.where(holds, g, 0), a_max)


rule(np.clip, clipped, lower_bound, upper_bound)

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
