"""Functions of one and two operands that a network seldom needs: angles, remainders, a larger number next to a NaN."""

import math

import numpy as np

from ....arrays import astype
from ...rules import accurate_rule, composed, rule
from ...tracked import plain
from ..elementwise import base_of_power, exponent_of_power, keep_where_larger, unbroadcast


def turned(g, other, length):
    """The gradient of an angle; the square of the length may be too large for a number."""
    return g * (other / length) / length


# As a power, since at 0 a quotient's own slope would be 0 / 0.
accurate_rule(np.cbrt, lambda g, out, x: g / 3 * out**-2, again=True)
accurate_rule(np.exp2, lambda g, out, x: g * out * math.log(2), again=True)
accurate_rule(np.arcsin, lambda g, out, x: g / np.sqrt(1 - x * x))
accurate_rule(np.arccos, lambda g, out, x: -g / np.sqrt(1 - x * x))
accurate_rule(np.arctan, lambda g, out, x: turned(g, 1, np.hypot(1, x)))
accurate_rule(np.arcsinh, lambda g, out, x: g / np.hypot(1, x))
accurate_rule(np.arccosh, lambda g, out, x: g * (x - 1) ** -0.5 * (x + 1) ** -0.5)
accurate_rule(np.arctanh, lambda g, out, x: g / (1 - x * x))
for angle in (np.deg2rad, np.radians):
    rule(angle, lambda g, out, x: g * (math.pi / 180))
for degrees in (np.rad2deg, np.degrees):
    rule(degrees, lambda g, out, x: g * (180 / math.pi))
rule(np.nan_to_num, lambda g, out, x: np.where(np.isfinite(x), g, 0))
composed(np.fix)(lambda x: np.trunc(x))
rule(
    np.floor_divide,
    lambda g, out, x, y: unbroadcast(np.zeros_like(g), x),
    lambda g, out, x, y: unbroadcast(np.zeros_like(g), y),
)


def times(out, x, y):
    """How often `y` was taken from `x`. That isn't always x / y rounded down: 0.9 / 0.1 is 9.0."""
    out, x, y = plain(out), plain(x), plain(y)  # it's flat between its jumps
    return np.rint(x / y - np.where(out == y, 1, out / y))  # equal: the rest of -1 by infinity is infinity


for rest in (np.remainder, np.fmod):
    rule(rest, lambda g, out, x, y: unbroadcast(g, x), lambda g, out, x, y: unbroadcast(-g * times(out, x, y), y))


def from_origin(length):
    """A length to divide by. At 0 there's no direction: divided by infinity, each slope is 0, and the next one too."""
    return np.where(length == 0, math.inf, length)


accurate_rule(
    np.arctan2,
    lambda g, out, x, y: unbroadcast(turned(g, y, from_origin(np.hypot(x, y))), x),
    lambda g, out, x, y: unbroadcast(turned(-g, x, from_origin(np.hypot(x, y))), y),
)
accurate_rule(
    np.hypot,
    lambda g, out, x, y: unbroadcast(g * x / from_origin(out), x),
    lambda g, out, x, y: unbroadcast(g * y / from_origin(out), y),
    again=True,
)


def share_of(x, y, exp, log):
    """How much `x` has in ``log(exp(x) + exp(y))``. Beside an infinity, ``exp(x - out)`` would be undecided."""
    # Equal infinities share it, as finite numbers do.
    both = (plain(x) == plain(y)) & np.isinf(plain(x))
    return exp(-log(0, np.where(both, 0, y) - np.where(both, 0, x)))


def sum_of_powers(log, exp):
    accurate_rule(
        log,
        lambda g, out, x, y: unbroadcast(g * share_of(x, y, exp, log), x),
        lambda g, out, x, y: unbroadcast(g * share_of(y, x, exp, log), y),
    )


sum_of_powers(np.logaddexp, np.exp)
sum_of_powers(np.logaddexp2, np.exp2)


def in_float64(pullback):
    """`np.float_power` computes in float64, whatever its operands are. So does its derivative."""

    def computed(g, out, x, y):
        x, y = (astype(operand, np.float64) if hasattr(operand, "dtype") else operand for operand in (x, y))
        return pullback(g, out, x, y)

    return computed


rule(np.float_power, in_float64(base_of_power), in_float64(exponent_of_power))
accurate_rule(
    np.copysign,
    lambda g, out, x, y: unbroadcast(g * np.sign(x) * np.copysign(1.0, y), x),
    lambda g, out, x, y: unbroadcast(0 * g, y),
)
rule(
    np.heaviside,
    lambda g, out, x, y: unbroadcast(0 * g, x),
    lambda g, out, x, y: unbroadcast(np.where(x == 0, g, 0), y),
)


def slope_of_sinc(g, out, x):
    z = math.pi * x
    zz = z * z
    near = -z / 3 * (1 - zz / 10 * (1 - zz / 28 * (1 - zz / 54 * (1 - zz / 88))))  # where cos(z) and sin(z) / z cancel
    return g * math.pi * np.where(np.abs(z) < 0.3, near, (np.cos(z) - out) / np.where(x == 0, 1, z))


accurate_rule(np.sinc, slope_of_sinc, again=True)


def number_of_two(g, x, y, chosen):
    """The gradient of `x`, which has what's `chosen` where both are numbers. A NaN is never chosen."""
    return np.where(np.isnan(y), g, np.where(np.isnan(x), 0, chosen))


rule(
    np.fmax,
    lambda g, out, x, y: unbroadcast(number_of_two(g, x, y, keep_where_larger(g, x, y)), x),
    lambda g, out, x, y: unbroadcast(number_of_two(g, y, x, keep_where_larger(g, y, x)), y),
)
rule(
    np.fmin,
    lambda g, out, x, y: unbroadcast(number_of_two(g, x, y, keep_where_larger(g, y, x)), x),
    lambda g, out, x, y: unbroadcast(number_of_two(g, y, x, keep_where_larger(g, x, y)), y),
)
