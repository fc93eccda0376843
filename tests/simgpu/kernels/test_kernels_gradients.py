"""A kernel by hand in a gradient: a primitive around it, with a rule."""

import numpy as np
import pytest

import fluxlite as fl
from fluxlite.cuda import jit

pytestmark = pytest.mark.usefixtures("simulated")


@jit.rawkernel()
def swish_kernel(x, out):
    i = jit.grid(1)
    if i < x.size:
        out[i] = x[i] / (1.0 + np.exp(-x[i]))


@jit.rawkernel()
def swish_slope_kernel(g, x, slope):
    i = jit.grid(1)
    if i < x.size:
        s = 1.0 / (1.0 + np.exp(-x[i]))
        slope[i] = g[i] * s * (1.0 + x[i] * (1.0 - s))


def blocks(x):
    return -(-x.size // 64)


@fl.primitive
def swish_by_hand(x):
    out = np.empty_like(x)
    swish_kernel[blocks(x), 64](x, out)
    return out


def _back(g, out, x):
    slope = np.empty_like(x)
    swish_slope_kernel[blocks(x), 64](g * 1.0, x, slope)
    return slope


fl.rule(swish_by_hand, _back)


def test_against_finite_differences():
    def f(x):
        return x / (1 + np.exp(-x)) * np.cos(x)

    x, step = np.linspace(-3, 3, 100), 1e-6
    (got,) = fl.gradient(lambda x: np.sum(swish_by_hand(x) * np.cos(x)), fl.gpu(x, dtype=None))
    np.testing.assert_allclose(fl.cpu(got), (f(x + step) - f(x - step)) / (2 * step), rtol=0, atol=1e-8)


def test_a_kernel_on_a_tracked_array_says_what_to_do():
    x = fl.gpu(np.ones(4, np.float32))
    with pytest.raises(TypeError, match="x is tracked for a gradient, and a kernel has no derivative"):
        fl.gradient(lambda x: swish_kernel[1, 32](x, np.zeros_like(x)), x)


def test_what_a_gradient_needs_is_not_written_over():
    x = fl.gpu(np.ones(4, np.float32))

    @fl.primitive
    def in_place(x):
        swish_kernel[1, 32](x, x)
        return x

    fl.rule(in_place, lambda g, out, x: g)
    with pytest.raises(ValueError, match="kernel swish_kernel writes into out, which is read-only"):
        fl.gradient(lambda x: np.sum(in_place(x)), x)
