"""Activation functions: Flux's list, elementwise, on arrays of any device (NNlib's names and definitions).

Each takes an array of any shape, or a number, and gives the same shape and dtype. All stay finite in float32 for
inputs up to ±10,000, their gradients too. A NaN comes out as NaN and its gradient isn't 0: it must not look like a
unit at rest. Where writing the formula down would not do (``log(1 + exp(x))``), or where the derivative at a corner
must be decided, the derivative stands beside the function; of the others it follows by itself.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arrays import on_card_of_argument, primitive, uniform_like
from .autodiff.quicker import unless
from .autodiff.rules import rule
from .autodiff.tracked import plain


def identity(x: Any) -> Any:
    """`x` itself: the activation of a layer that has none."""
    return x


# -- corners: lines that meet at a point; there the slope is the smaller of the two, 0 for relu ------------


@primitive
def relu(x: Any) -> Any:
    """``max(x, 0)`` (NNlib: ``relu``). Its derivative at 0 is 0.

    >>> relu(np.array([-1.0, 0.0, 2.0]))
    array([0., 0., 2.])
    """
    return np.maximum(x, 0)


rule(relu, lambda g, out, x: unless(x <= 0, g))  # not where x > 0: of a NaN, the gradient is not 0


@primitive
def leakyrelu(x: Any, slope: float = 0.01) -> Any:
    """`x`, and ``slope * x`` for negative `x` (NNlib: ``leakyrelu``).

    >>> leakyrelu(np.array([-2.0, 0.0, 3.0]))
    array([-0.02,  0.  ,  3.  ])
    """
    return np.where(x > 0, x, slope * x)


rule(leakyrelu, lambda g, out, x, slope=0.01: np.where(x > 0, g, slope * g))


@on_card_of_argument
def rrelu(x: Any, lower: float = 1 / 8, upper: float = 1 / 3, rng: Any = None) -> Any:
    """`leakyrelu` with a slope drawn anew for each element (NNlib: ``rrelu``); by `rng`, or the device's generator.

    >>> rrelu(np.array([0.0, 3.0]))
    array([0., 3.])
    >>> bool(1 / 8 <= -rrelu(np.array(-1.0)) <= 1 / 3)
    True
    """
    return leakyrelu_each(x, uniform_like(plain(x), lower, upper, rng))


@primitive
def leakyrelu_each(x: Any, slopes: Any) -> Any:
    return np.where(x > 0, x, slopes * x)


rule(leakyrelu_each, lambda g, out, x, slopes: np.where(x > 0, g, slopes * g))


@primitive
def relu6(x: Any) -> Any:
    """`relu` that stops at 6 (NNlib: ``relu6``).

    >>> relu6(np.array([-2.0, 3.0, 9.0]))
    array([0., 3., 6.])
    """
    return np.clip(x, 0, 6)


rule(relu6, lambda g, out, x: np.where((x <= 0) | (x >= 6), 0, g))


@primitive
def trelu(x: Any, threshold: float = 1) -> Any:
    """`x` above the threshold, else 0 (NNlib: ``trelu``).

    >>> trelu(np.array([-2.0, 0.0, 3.0]))
    array([0., 0., 3.])
    """
    return np.where(x <= threshold, 0, x)


rule(trelu, lambda g, out, x, threshold=1: np.where(x <= threshold, 0, g))


@primitive
def hardtanh(x: Any) -> Any:
    """`x`, at least -1 and at most 1 (NNlib: ``hardtanh``).

    >>> hardtanh(np.array([-2.0, 0.0, 3.0]))
    array([-1.,  0.,  1.])
    """
    return np.clip(x, -1, 1)


rule(hardtanh, lambda g, out, x: np.where((x <= -1) | (x >= 1), 0, g))


@primitive
def hardsigmoid(x: Any) -> Any:
    """A sigmoid of three straight lines: ``(x + 3) / 6`` between 0 and 1 (NNlib: ``hardsigmoid``).

    >>> hardsigmoid(np.array([-2.0, 0.0, 3.0]))
    array([0.167, 0.5  , 1.   ])
    """
    return np.clip((x + 3) / 6, 0, 1)


rule(hardsigmoid, lambda g, out, x: np.where((x <= -3) | (x >= 3), 0, g / 6))


@on_card_of_argument
def hardswish(x: Any) -> Any:
    """``x * hardsigmoid(x)`` (NNlib: ``hardswish``).

    >>> hardswish(np.array([-2.0, 0.0, 3.0]))
    array([-0.333,  0.   ,  3.   ])
    """
    return x * hardsigmoid(x)


@primitive
def softshrink(x: Any, threshold: float = 0.5) -> Any:
    """`x` moved towards 0 by the threshold, and 0 within it (NNlib: ``softshrink``).

    >>> softshrink(np.array([-2.0, 0.0, 3.0]))
    array([-1.5,  0. ,  2.5])
    """
    return x - np.clip(x, -threshold, threshold)


rule(softshrink, lambda g, out, x, threshold=0.5: np.where(abs(x) <= threshold, 0, g))

# -- sigmoids -------------------------------------------------------------------------------------------


@on_card_of_argument
def tanh(x: Any) -> Any:
    """The hyperbolic tangent: ``np.tanh``, on every device.

    >>> tanh(np.array([-2.0, 0.0, 3.0]))
    array([-0.964,  0.   ,  0.995])
    """
    return np.tanh(x)


@on_card_of_argument
def tanh_fast(x: Any) -> Any:
    """`tanh`; NNlib's ``tanh_fast`` trades accuracy for speed, which NumPy's and CuPy's tanh do not need.

    >>> tanh_fast(np.array([-2.0, 0.0, 3.0]))
    array([-0.964,  0.   ,  0.995])
    """
    return np.tanh(x)


@primitive
def sigmoid(x: Any) -> Any:
    """``1 / (1 + exp(-x))`` (NNlib: ``sigmoid``, ``σ``), also accurate where that is tiny.

    >>> sigmoid(np.array([-1e4, 0.0, 1e4]))
    array([0. , 0.5, 1. ])
    """
    small = np.exp(-abs(x))  # exp of a large positive number would overflow
    return np.where(x >= 0, 1, small) / (1 + small)


rule(sigmoid, lambda g, out, x: g * out * (1 - out))
σ = sigmoid


@on_card_of_argument
def sigmoid_fast(x: Any) -> Any:
    """`sigmoid` by one `tanh`: quicker, and exactly 0 below about -20 in float32 (NNlib: ``sigmoid_fast``).

    >>> sigmoid_fast(np.array([-2.0, 0.0, 3.0]))
    array([0.119, 0.5  , 0.953])
    """
    return (np.tanh(x / 2) + 1) / 2


@on_card_of_argument
def softsign(x: Any) -> Any:
    """``x / (1 + |x|)`` (NNlib: ``softsign``).

    >>> softsign(np.array([-2.0, 0.0, 3.0]))
    array([-0.667,  0.   ,  0.75 ])
    """
    return x / (1 + abs(x))


# -- bends: like relu, without the corner ----------------------------------------------------------------


@primitive
def softplus(x: Any) -> Any:
    """``log(exp(x) + 1)``, without the overflow (NNlib: ``softplus``).

    >>> softplus(np.array([-2.0, 0.0, 100.0]))
    array([  0.127,   0.693, 100.   ])
    """
    return np.logaddexp(x, 0)


rule(softplus, lambda g, out, x: g * sigmoid(x))


@primitive
def logsigmoid(x: Any) -> Any:
    """``log(sigmoid(x))``, without the underflow (NNlib: ``logsigmoid``).

    >>> logsigmoid(np.array([-1.0, 3.0]))
    array([-1.313, -0.049])
    """
    return -np.logaddexp(-x, 0)


rule(logsigmoid, lambda g, out, x: g * sigmoid(-x))


@primitive
def elu(x: Any, alpha: float = 1) -> Any:
    """`x`, and ``alpha * (exp(x) - 1)`` for negative `x` (NNlib: ``elu``).

    >>> elu(np.array([-2.0, 0.0, 3.0]))
    array([-0.865,  0.   ,  3.   ])
    """
    return np.where(x >= 0, x, alpha * np.expm1(np.minimum(x, 0)))


rule(elu, lambda g, out, x, alpha=1: np.where(x >= 0, g, g * alpha * np.exp(np.minimum(x, 0))))


@primitive
def celu(x: Any, alpha: float = 1) -> Any:
    """`x`, and ``alpha * (exp(x / alpha) - 1)`` for negative `x` (NNlib: ``celu``).

    >>> celu(np.array([-2.0, 0.0, 3.0]))
    array([-0.865,  0.   ,  3.   ])
    """
    return np.where(x >= 0, x, alpha * np.expm1(np.minimum(x, 0) / alpha))


rule(celu, lambda g, out, x, alpha=1: np.where(x >= 0, g, g * np.exp(np.minimum(x, 0) / alpha)))

_SELU_SCALE, _SELU_ALPHA = 1.0507009873554805, 1.6732632423543772


@on_card_of_argument
def selu(x: Any) -> Any:
    """`elu` with constants that keep activations near mean 0 and variance 1 (NNlib: ``selu``).

    >>> selu(np.array([-1.0, 3.0]))
    array([-1.111,  3.152])
    """
    return _SELU_SCALE * elu(x, _SELU_ALPHA)


@on_card_of_argument
def swish(x: Any) -> Any:
    """``x * sigmoid(x)`` (NNlib: ``swish``; PyTorch: silu).

    >>> swish(np.array([-2.0, 0.0, 3.0]))
    array([-0.238,  0.   ,  2.858])
    """
    return x * sigmoid(x)


@on_card_of_argument
def mish(x: Any) -> Any:
    """``x * tanh(softplus(x))`` (NNlib: ``mish``).

    >>> mish(np.array([0.0, 3.0]))
    array([0.   , 2.987])
    """
    return x * np.tanh(softplus(x))


@on_card_of_argument
def gelu(x: Any) -> Any:
    """``x`` times the normal distribution's cumulative function, by its tanh approximation (NNlib: ``gelu``).

    >>> gelu(np.array([-2.0, 0.0, 3.0]))
    array([-0.045,  0.   ,  2.996])
    """
    near = np.clip(x, -10, 10)  # beyond it tanh is ±1, and in float16 the third power would overflow
    return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (near + 0.044715 * near * near * near)))


@on_card_of_argument
def lisht(x: Any) -> Any:
    """``x * tanh(x)`` (NNlib: ``lisht``).

    >>> lisht(np.array([-2.0, 0.0, 3.0]))
    array([1.928, 0.   , 2.985])
    """
    return x * np.tanh(x)


@on_card_of_argument
def tanhshrink(x: Any) -> Any:
    """``x - tanh(x)`` (NNlib: ``tanhshrink``).

    >>> tanhshrink(np.array([-2.0, 0.0, 3.0]))
    array([-1.036,  0.   ,  2.005])
    """
    return x - np.tanh(x)


@primitive
def logcosh(x: Any) -> Any:
    """``log(cosh(x))``, without the overflow (NNlib: ``logcosh``).

    >>> logcosh(np.array([-2.0, 0.0, 100.0]))
    array([ 1.325,  0.   , 99.307])
    """
    return abs(x) + np.log1p(np.exp(-2 * abs(x))) - math.log(2)


rule(logcosh, lambda g, out, x: g * np.tanh(x))

# -- over an axis ------------------------------------------------------------------------------------------


@primitive
def softmax(x: Any, axis: int = -1) -> Any:
    """Positive numbers that sum to 1 along `axis`: ``exp(x) / sum(exp(x))`` (NNlib: ``softmax``, along dims=1).

    >>> softmax(np.array([[1e4, 1e4], [0.0, -1e4]]))
    array([[0.5, 0.5],
           [1. , 0. ]])
    """
    powers = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return powers / np.sum(powers, axis=axis, keepdims=True)


rule(softmax, lambda g, out, x, axis=-1: out * (g - np.sum(g * out, axis=axis, keepdims=True)))


@primitive
def logsoftmax(x: Any, axis: int = -1) -> Any:
    """``log(softmax(x))``, accurate where that is very negative (NNlib: ``logsoftmax``).

    >>> logsoftmax(np.array([100.0, 0.0, 100.0]))
    array([  -0.693, -100.693,   -0.693])
    """
    shifted = x - np.max(x, axis=axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


rule(logsoftmax, lambda g, out, x, axis=-1: g - np.exp(out) * np.sum(g, axis=axis, keepdims=True))
