"""Activation functions: Flux's list, elementwise, on arrays of any device (NNlib's names and definitions).

Each takes an array of any shape, or a number, and gives the same shape and dtype. All stay finite in float32 for
inputs up to ±10,000, their gradients too. A NaN comes out as NaN and its gradient isn't 0: it mustn't look like a unit
at rest. A derivative stands above its function where the formula's own would overflow, or be undecided at a corner.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .arrays import device_of, on_card_of_argument, on_device_of, primitive
from .autodiff.rules import rule, unless
from .autodiff.tracked import plain
from .messages import Function


def differentiated_by(pullback: Callable) -> Callable[[Function], Function]:
    """Make the function below a `primitive`, whose derivative is ``pullback(g, out, x)``."""

    def enter(function: Function) -> Function:
        entered = primitive(function)
        rule(entered, pullback)
        return entered

    return enter


def identity(x: Any) -> Any:
    """`x` itself: the activation of a layer that has none."""
    return x


@differentiated_by(lambda g, out, x: unless(x <= 0, g))  # not where x > 0: of a NaN, the gradient isn't 0
def relu(x: Any) -> Any:
    """``max(x, 0)`` (NNlib: ``relu``). Its derivative at 0 is 0."""
    return np.maximum(x, 0)


@differentiated_by(lambda g, out, x, slope=0.01: np.where(x > 0, g, slope * g))
def leakyrelu(x: Any, slope: float = 0.01) -> Any:
    """`x`, and ``slope * x`` for negative `x` (NNlib: ``leakyrelu``)."""
    return np.where(x > 0, x, slope * x)


@on_card_of_argument
def rrelu(x: Any, lower: float = 1 / 8, upper: float = 1 / 3, rng: Any = None) -> Any:
    """`leakyrelu` with a slope drawn for each element, by `rng` or the device's generator (NNlib: ``rrelu``)."""
    like = plain(x)
    drawn = (device_of(like).rng if rng is None else rng).uniform(lower, upper, like.shape)
    return np.where(x > 0, x, on_device_of(like, drawn).astype(like.dtype) * x)


@differentiated_by(lambda g, out, x: np.where((x <= 0) | (x >= 6), 0, g))
def relu6(x: Any) -> Any:
    """`relu` that stops at 6 (NNlib: ``relu6``)."""
    return np.clip(x, 0, 6)


@differentiated_by(lambda g, out, x, threshold=1: np.where(x <= threshold, 0, g))
def trelu(x: Any, threshold: float = 1) -> Any:
    """`x` above the threshold, else 0 (NNlib: ``trelu``)."""
    return np.where(x <= threshold, 0, x)


@differentiated_by(lambda g, out, x: np.where((x <= -1) | (x >= 1), 0, g))
def hardtanh(x: Any) -> Any:
    """`x`, at least -1 and at most 1 (NNlib: ``hardtanh``)."""
    return np.clip(x, -1, 1)


@differentiated_by(lambda g, out, x: np.where((x <= -3) | (x >= 3), 0, g / 6))
def hardsigmoid(x: Any) -> Any:
    """A sigmoid of three straight lines: ``(x + 3) / 6`` between 0 and 1 (NNlib: ``hardsigmoid``)."""
    return np.clip((x + 3) / 6, 0, 1)


@on_card_of_argument
def hardswish(x: Any) -> Any:
    """``x * hardsigmoid(x)`` (NNlib: ``hardswish``)."""
    return x * hardsigmoid(x)


@differentiated_by(lambda g, out, x, threshold=0.5: np.where(abs(x) <= threshold, 0, g))
def softshrink(x: Any, threshold: float = 0.5) -> Any:
    """`x` moved towards 0 by the threshold, and 0 within it (NNlib: ``softshrink``)."""
    return x - np.clip(x, -threshold, threshold)


@on_card_of_argument
def tanh(x: Any) -> Any:
    """The hyperbolic tangent: ``np.tanh``, on every device."""
    return np.tanh(x)


@on_card_of_argument
def tanh_fast(x: Any) -> Any:
    """`tanh`; NNlib's ``tanh_fast`` trades accuracy for speed, which NumPy's and CuPy's tanh don't need."""
    return np.tanh(x)


@differentiated_by(lambda g, out, x: g * out * (1 - out))
def sigmoid(x: Any) -> Any:
    """``1 / (1 + exp(-x))`` (NNlib: ``sigmoid``, ``σ``), also accurate where that's tiny."""
    small = np.exp(-abs(x))  # exp of a large positive number would overflow
    return np.where(x >= 0, 1, small) / (1 + small)


σ = sigmoid


@on_card_of_argument
def sigmoid_fast(x: Any) -> Any:
    """`sigmoid` by one `tanh`: quicker, and exactly 0 below about -20 in float32 (NNlib: ``sigmoid_fast``)."""
    return (np.tanh(x / 2) + 1) / 2


@on_card_of_argument
def softsign(x: Any) -> Any:
    """``x / (1 + |x|)`` (NNlib: ``softsign``)."""
    return x / (1 + abs(x))


@differentiated_by(lambda g, out, x: g * sigmoid(x))
def softplus(x: Any) -> Any:
    """``log(exp(x) + 1)``, without the overflow (NNlib: ``softplus``)."""
    return np.logaddexp(x, 0)


@differentiated_by(lambda g, out, x: g * sigmoid(-x))
def logsigmoid(x: Any) -> Any:
    """``log(sigmoid(x))``, without the underflow (NNlib: ``logsigmoid``)."""
    return -np.logaddexp(-x, 0)


@differentiated_by(lambda g, out, x, alpha=1: np.where(x >= 0, g, g * alpha * np.exp(np.minimum(x, 0))))
def elu(x: Any, alpha: float = 1) -> Any:
    """`x`, and ``alpha * (exp(x) - 1)`` for negative `x` (NNlib: ``elu``)."""
    return np.where(x >= 0, x, alpha * np.expm1(np.minimum(x, 0)))


@differentiated_by(lambda g, out, x, alpha=1: np.where(x >= 0, g, g * np.exp(np.minimum(x, 0) / alpha)))
def celu(x: Any, alpha: float = 1) -> Any:
    """`x`, and ``alpha * (exp(x / alpha) - 1)`` for negative `x` (NNlib: ``celu``)."""
    return np.where(x >= 0, x, alpha * np.expm1(np.minimum(x, 0) / alpha))


@on_card_of_argument
def selu(x: Any) -> Any:
    """`elu` with constants that keep activations near mean 0 and variance 1 (NNlib: ``selu``)."""
    return 1.0507009873554805 * elu(x, 1.6732632423543772)


@on_card_of_argument
def swish(x: Any) -> Any:
    """``x * sigmoid(x)`` (NNlib: ``swish``; PyTorch: silu)."""
    return x * sigmoid(x)


@on_card_of_argument
def mish(x: Any) -> Any:
    """``x * tanh(softplus(x))`` (NNlib: ``mish``)."""
    return x * np.tanh(softplus(x))


@on_card_of_argument
def gelu(x: Any) -> Any:
    """``x`` times the normal distribution's cumulative function, by its tanh approximation (NNlib: ``gelu``)."""
    near = np.clip(x, -10, 10)  # beyond it tanh is ±1, and in float16 the third power would overflow
    return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (near + 0.044715 * near * near * near)))


@on_card_of_argument
def lisht(x: Any) -> Any:
    """``x * tanh(x)`` (NNlib: ``lisht``)."""
    return x * np.tanh(x)


@on_card_of_argument
def tanhshrink(x: Any) -> Any:
    """``x - tanh(x)`` (NNlib: ``tanhshrink``)."""
    return x - np.tanh(x)


@differentiated_by(lambda g, out, x: g * np.tanh(x))
def logcosh(x: Any) -> Any:
    """``log(cosh(x))``, without the overflow (NNlib: ``logcosh``)."""
    return abs(x) + np.log1p(np.exp(-2 * abs(x))) - math.log(2)


@differentiated_by(lambda g, out, x, axis=-1: out * (g - np.sum(g * out, axis=axis, keepdims=True)))
def softmax(x: Any, axis: int = -1) -> Any:
    """Positive numbers that sum to 1 along `axis`: ``exp(x) / sum(exp(x))`` (NNlib: ``softmax``, along dims=1)."""
    powers = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return powers / np.sum(powers, axis=axis, keepdims=True)


@differentiated_by(lambda g, out, x, axis=-1: g - np.exp(out) * np.sum(g, axis=axis, keepdims=True))
def logsoftmax(x: Any, axis: int = -1) -> Any:
    """``log(softmax(x))``, accurate where that's very negative (NNlib: ``logsoftmax``)."""
    shifted = x - np.max(x, axis=axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))
