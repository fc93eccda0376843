"""Functions of one and two operands that a network seldom needs: angles, remainders, a larger number next to a NaN."""

import math

import numpy as np

from ...rules import accurate_rule, composed, rule
from ..elementwise import base_of_power, exponent_of_power, fit, larger


def turned(g, other, length):
    """The gradient of an angle; the square of the length may be too large for a number."""
    return g * (other / length) / length


accurate_rule(np.cbrt, lambda g, out, x: g / (3 * out * out), again=True)
accurate_rule(np.exp2, lambda g, out, x: g * out * math.log(2), again=True)
accurate_rule(np.arcsin, lambda g, out, x: g / np.sqrt(1 - x * x))
accurate_rule(np.arccos, lambda g, out, x: -g / np.sqrt(1 - x * x))
accurate_rule(np.arctan, lambda g, out, x: turned(g, 1, np.hypot(1, x)))
accurate_rule(np.arcsinh, lambda g, out, x: g / np.hypot(1, x))
accurate_rule(np.arccosh, lambda g, out, x: g / (np.sqrt(x - 1) * np.sqrt(x + 1)))
accurate_rule(np.arctanh, lambda g, out, x: g / (1 - x * x))
for angle in (np.deg2rad, np.radians):
    rule(angle, lambda g, out, x: g * (math.pi / 180))
for degrees in (np.rad2deg, np.degrees):
    rule(degrees, lambda g, out, x: g * (180 / math.pi))
rule(np.nan_to_num, lambda g, out, x: np.where(np.isfinite(x), g, 0))
composed(np.fix)(lambda x: np.trunc(x))
rule(np.floor_divide, lambda g, out, x, y: fit(np.zeros_like(g), x), lambda g, out, x, y: fit(np.zeros_like(g), y))
for rest in (np.remainder, np.fmod):  # x / y rounded down isn't always how often y was taken away: 0.9 / 0.1 is 9.0
    rule(rest, lambda g, out, x, y: fit(g, x), lambda g, out, x, y: fit(-g * np.rint((x - out) / y), y))
accurate_rule(
    np.arctan2,
    lambda g, out, x, y: fit(turned(g, y, np.hypot(x, y)), x),
    lambda g, out, x, y: fit(turned(-g, x, np.hypot(x, y)), y),
)
accurate_rule(
    np.hypot,
    lambda g, out, x, y: fit(g * x / np.where(out == 0, 1, out), x),  # 0 at the tip of the cone
    lambda g, out, x, y: fit(g * y / np.where(out == 0, 1, out), y),
    again=True,
)
accurate_rule(
    np.logaddexp,
    lambda g, out, x, y: fit(g * np.exp(x - out), x),
    lambda g, out, x, y: fit(g * np.exp(y - out), y),
    again=True,
)
accurate_rule(
    np.logaddexp2,
    lambda g, out, x, y: fit(g * np.exp2(x - out), x),
    lambda g, out, x, y: fit(g * np.exp2(y - out), y),
    again=True,
)
accurate_rule(np.float_power, base_of_power, exponent_of_power)
accurate_rule(
    np.copysign, lambda g, out, x, y: fit(g * np.sign(x) * np.copysign(1.0, y), x), lambda g, out, x, y: fit(0 * g, y)
)
rule(np.heaviside, lambda g, out, x, y: fit(0 * g, x), lambda g, out, x, y: fit(np.where(x == 0, g, 0), y))


def slope_of_sinc(g, out, x):
    z = math.pi * x
    zz = z * z
    near = -z / 3 * (1 - zz / 10 * (1 - zz / 28 * (1 - zz / 54 * (1 - zz / 88))))  # where cos(z) and sin(z) / z cancel
    return g * math.pi * np.where(np.abs(z) < 0.3, near, (np.cos(z) - out) / np.where(x == 0, 1, z))


accurate_rule(np.sinc, slope_of_sinc, again=True)


def larger_number(g, x, y):
    return np.where(np.isnan(y), g, np.where(np.isnan(x), 0, larger(g, x, y)))  # a NaN is never chosen


rule(np.fmax, lambda g, out, x, y: fit(larger_number(g, x, y), x), lambda g, out, x, y: fit(larger_number(g, y, x), y))
rule(
    np.fmin,  # the smaller of two is the larger of their negatives
    lambda g, out, x, y: fit(larger_number(g, -x, -y), x),
    lambda g, out, x, y: fit(larger_number(g, -y, -x), y),
)
