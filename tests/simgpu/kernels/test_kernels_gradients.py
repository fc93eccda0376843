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


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_against_finite_differences(dtype):
    x = np.linspace(-3, 3, 100).astype(dtype)
    (got,) = fl.gradient(lambda x: np.sum(swish_by_hand(x) * np.cos(x)), fl.gpu(x, dtype=None))
    step = 1e-6

    def f(x):
        return x / (1 + np.exp(-x)) * np.cos(x)

    exact = x.astype(np.float64)
    wanted = (f(exact + step) - f(exact - step)) / (2 * step)
    tolerance = 1e-8 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(fl.cpu(got), wanted, rtol=0, atol=tolerance)


def test_in_a_model_that_is_trained():
    fl.seed(1)
    model = fl.gpu(fl.Chain(fl.Dense(4, 8), lambda x: swish_by_hand(x.reshape(-1)).reshape(x.shape), fl.Dense(8, 1)))
    same = fl.cpu(model)
    x = np.random.default_rng(0).standard_normal((16, 4)).astype(np.float32)
    (got,) = fl.gradient(lambda m: np.mean(m(fl.gpu(x)) ** 2), model)
    (wanted,) = fl.gradient(lambda m: np.mean(m[2](fl.swish(m[0](x))) ** 2), same)
    np.testing.assert_allclose(fl.cpu(got.layers[0].weight), wanted.layers[0].weight, rtol=1e-4, atol=1e-6)


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
