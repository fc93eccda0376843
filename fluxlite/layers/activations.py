"""Activation functions: Flux's list, elementwise, on arrays of any device (NNlib's names and definitions).

Each takes an array of any shape, or a number, and gives the same shape and dtype; but curves of whole numbers, such as
pixels, are floats. All stay finite in float32 for inputs up to ±10,000, their gradients too. A NaN comes out as NaN
and its gradient isn't 0: it mustn't look like a unit at rest. Where the formula's own derivative would overflow, or be
undecided at a corner, there's another next to it.
"""

import math
from collections.abc import Callable

import numpy as np

from ..annotations import Array
from ..arrays import by_element, device_of, floats, in_float32, on_card_of_argument, on_device_of, primitive
from ..arrays import identity as identity
from ..autodiff.rules import accurate, accurate_rule, rule, zero_where
from ..autodiff.tracked import plain


def activation(name: str, what: str, function: Callable, pullback: Callable | None = None) -> Callable[..., Array]:
    """A row of the table: the `function` of this name, and its derivative ``pullback(g, out, x)``."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{what} (NNlib: ``{name}``)."
    if pullback is None:
        entered = on_card_of_argument(function)
    else:
        entered = primitive(function)
        rule(entered, pullback)
    by_element.add(entered)
    return entered


def curve(name: str, what: str, function: Callable, pullback: Callable | None = None) -> Callable[..., Array]:
    """An `activation` of several steps. In half precision they're taken in float32, and only the result is rounded."""

    slope = accurate(pullback, lambda *operands, **keywords: entered(*operands, **keywords))
    entered = activation(name, what, in_float32(function), slope)
    return entered


def _sigmoid(x: Array) -> Array:
    small = np.exp(-abs(x))  # exp of a large positive number would overflow
    return np.where(x >= 0, 1, small) / (1 + small)


def _gelu(x: Array) -> Array:
    near = np.clip(x, -10, 10)  # beyond it tanh is ±1, and in float16 the third power would overflow
    return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (near + 0.044715 * near * near * near)))


# fmt: off
# -- of straight lines
relu = activation(
    "relu", "``max(x, 0)``. Its derivative at 0 is 0", lambda x: np.maximum(x, 0),
    lambda g, out, x: zero_where(x <= 0, g))  # not where x > 0: a NaN's gradient isn't 0
leakyrelu = activation(
    "leakyrelu", "`x`, and ``slope * x`` for negative `x`", lambda x, slope=0.01: np.where(x > 0, x, slope * x),
    lambda g, out, x, slope=0.01: np.where(x > 0, g, slope * g))
relu6 = activation(
    "relu6", "`relu` that stops at 6", lambda x: np.clip(x, 0, 6),
    lambda g, out, x: np.where((x <= 0) | (x >= 6), 0, g))
trelu = activation(
    "trelu", "`x` above the threshold, else 0", lambda x, threshold=1: np.where(x <= threshold, 0, x),
    lambda g, out, x, threshold=1: np.where(x <= threshold, 0, g))
hardtanh = activation(
    "hardtanh", "`x`, at least -1 and at most 1", lambda x: np.clip(floats(x), -1, 1),
    lambda g, out, x: np.where((x <= -1) | (x >= 1), 0, g))
hardsigmoid = activation(
    "hardsigmoid", "A sigmoid of three straight lines: ``(x + 3) / 6`` between 0 and 1",
    lambda x: np.clip((floats(x) + 3) / 6, 0, 1), lambda g, out, x: np.where((x <= -3) | (x >= 3), 0, g / 6))
hardswish = activation("hardswish", "``x * hardsigmoid(x)``", lambda x: x * hardsigmoid(x))
softshrink = activation(
    "softshrink", "`x` moved towards 0 by the threshold, and 0 within it",
    lambda x, threshold=0.5: x - np.clip(x, -threshold, threshold),
    lambda g, out, x, threshold=0.5: np.where(abs(x) <= threshold, 0, g))

# -- of exp, log and tanh
sigmoid = σ = curve(
    "sigmoid", "``1 / (1 + exp(-x))``, accurate even where that's tiny; ``σ``", _sigmoid,
    lambda g, out, x: g * out * (1 - out))
tanh = activation("tanh", "The hyperbolic tangent: ``np.tanh``, on every device", lambda x: np.tanh(x))
tanh_fast = activation("tanh_fast", "`tanh`, which needn't be quicker; NNlib's trades accuracy", lambda x: np.tanh(x))
sigmoid_fast = curve(
    "sigmoid_fast", "`sigmoid` by one `tanh`: quicker, and exactly 0 below about -20 in float32",
    lambda x: (np.tanh(x / 2) + 1) / 2)
softsign = curve("softsign", "``x / (1 + |x|)``", lambda x: x / (1 + abs(x)))
softplus = curve(
    "softplus", "``log(exp(x) + 1)``, without the overflow", lambda x: np.logaddexp(x, 0),
    lambda g, out, x: g * sigmoid(x))
logsigmoid = curve(
    "logsigmoid", "``log(sigmoid(x))``, without the underflow", lambda x: -np.logaddexp(-x, 0),
    lambda g, out, x: g * sigmoid(-x))
elu = curve(
    "elu", "`x`, and ``alpha * (exp(x) - 1)`` for negative `x`",
    lambda x, alpha=1: np.where(x >= 0, x, alpha * np.expm1(np.minimum(x, 0))),
    lambda g, out, x, alpha=1: np.where(x >= 0, g, g * alpha * np.exp(np.minimum(x, 0))))
celu = curve(
    "celu", "`x`, and ``alpha * (exp(x / alpha) - 1)`` for negative `x`",
    lambda x, alpha=1: np.where(x >= 0, x, alpha * np.expm1(np.minimum(x, 0) / alpha)),
    lambda g, out, x, alpha=1: np.where(x >= 0, g, g * np.exp(np.minimum(x, 0) / alpha)))
gelu = curve("gelu", "``x`` times the normal distribution's cumulative function, by its tanh approximation", _gelu)
selu = curve(
    "selu", "`elu` with constants that keep activations near mean 0 and variance 1",
    lambda x: 1.0507009873554805 * elu(x, 1.6732632423543772))
swish = curve("swish", "``x * sigmoid(x)``; PyTorch calls it silu", lambda x: x * sigmoid(x))
mish = curve("mish", "``x * tanh(softplus(x))``", lambda x: x * np.tanh(softplus(x)))
lisht = curve("lisht", "``x * tanh(x)``", lambda x: x * np.tanh(x))
tanhshrink = curve("tanhshrink", "``x - tanh(x)``", lambda x: x - np.tanh(x))
logcosh = curve(
    "logcosh", "``log(cosh(x))``, without the overflow",
    lambda x: abs(x) + np.log1p(np.exp(-2 * abs(x))) - math.log(2), lambda g, out, x: g * np.tanh(x))
# fmt: on


@on_card_of_argument
def rrelu(x: Array, lower: float = 1 / 8, upper: float = 1 / 3, rng: "np.random.Generator | None" = None) -> Array:
    """`leakyrelu` with a slope drawn for each element, by `rng` or the device's generator (NNlib: ``rrelu``)."""
    x = floats(x)
    like = plain(x)
    if rng is None:
        rng = device_of(like).rng
    drawn = rng.uniform(lower, upper, like.shape)
    slopes = on_device_of(like, drawn).astype(like.dtype)
    return np.where(x > 0, x, slopes * x)


@primitive
@in_float32
def softmax(x: Array, axis: int = -1) -> Array:
    """Positive numbers that sum to 1 along `axis`: ``exp(x) / sum(exp(x))`` (NNlib: ``softmax``, along dims=1).

    From nothing but -inf they're NaN, as in PyTorch: no numbers that sum to 1 are right.
    """
    if np.size(x) == 0:
        return np.copy(x)
    powers = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return powers / np.sum(powers, axis=axis, keepdims=True)


@primitive
@in_float32
def logsoftmax(x: Array, axis: int = -1) -> Array:
    """``log(softmax(x))``, accurate where that's very negative (NNlib: ``logsoftmax``)."""
    if np.size(x) == 0:
        return np.copy(x)
    shifted = x - np.max(x, axis=axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


@primitive
@in_float32
def softmax_of_open(x: Array, axis: int = -1) -> Array:
    """`softmax`, where -inf closes what may not be chosen; if all of it is closed, all are 0."""
    if np.size(x) == 0:
        return np.copy(x)
    limits = np.finfo(x.dtype)
    largest = np.maximum(np.max(x, axis=axis, keepdims=True), float(limits.min))  # -inf minus -inf would be NaN
    powers = np.exp(x - largest)
    total = np.sum(powers, axis=axis, keepdims=True)  # 0, or from 1 on
    return powers / np.maximum(total, float(limits.tiny))


def slope_of_softmax(g: Array, out: Array, x: Array, axis: int = -1) -> Array:
    return out * (g - np.sum(g * out, axis=axis, keepdims=True))


def slope_of_logsoftmax(g: Array, out: Array, x: Array, axis: int = -1) -> Array:
    return g - np.exp(out) * np.sum(g, axis=axis, keepdims=True)


accurate_rule(softmax, slope_of_softmax, again=True)
accurate_rule(softmax_of_open, slope_of_softmax, again=True)
accurate_rule(logsoftmax, slope_of_logsoftmax, again=True)
