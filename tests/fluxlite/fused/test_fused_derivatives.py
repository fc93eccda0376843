"""The way back through a fused function: right, and one launch."""

import sys

import numpy as np
import pytest
from fused_runs import BOTH, launched, numbers
from gradcheck import check_gradient
from inside import _BY_ELEMENT

import fluxlite as fl
from fluxlite import receipt
from fluxlite.cuda import fuse

PROGRAMS = {
    "tanh": lambda x, y: np.tanh(x + y) * 2,
    "power": lambda x, y: np.abs(x) ** 3 * np.exp(y),
    "where": lambda x, y: np.where(x > y, x * y, np.sin(x) - y),
    "clip": lambda x, y: np.clip(x, -1, 1) + np.maximum(y, x),
    "twice": lambda x, y: x * x + fl.sigmoid(x) * y,
    "one of two": lambda x, y: np.tanh(x) + 0 * y,
    "astype": lambda x, y: fl.astype(x, np.float64) * y,
    "steps": lambda x, y: np.floor(x) * y,
}


def of(function, x, y):
    return fl.gradient(lambda x, y: np.sum(function(x, y) * np.cos(x + y)), x, y)


def of_gradient(function, x, y):
    """The gradient of a gradient."""
    return fl.gradient(lambda x, y: sum(np.sum(g * g) for g in of(function, x, y)), x, y)


@BOTH
@pytest.mark.parametrize("shapes", [((4, 3), (4, 3)), ((4, 3), (3,)), ((4, 1), (1, 3)), ((), (2,))])
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_those_of_the_plain_calls(device, name, shapes):
    function = PROGRAMS[name]
    x, y = (numbers(*shape, dtype=np.float64, seed=i) for i, shape in enumerate(shapes))
    there = [device.upload(z) for z in (x, y)]
    for differentiate in (of, of_gradient):
        found = differentiate(fuse(function, kernel_name="f"), *there)
        for g, right in zip(found, differentiate(function, x, y)):
            assert g.shape == right.shape and g.dtype == right.dtype
            np.testing.assert_allclose(fl.cpu(g), right, rtol=1e-9, atol=1e-9)


def test_gradients_agree_with_differences(simulated):
    def fused_there(x, y):
        fused = fuse(PROGRAMS["twice"], kernel_name="f")
        return fl.move(fused(fl.move(x, simulated), fl.move(y, simulated)), fl.get_device("CPU"))

    check_gradient(fused_there, numbers(3, 2, dtype=np.float64), numbers(2, dtype=np.float64, seed=1))
    slope = lambda x, y: fl.gradient(lambda x: np.sum(fused_there(x, y) ** 2), x)[0]  # noqa: E731
    check_gradient(slope, numbers(3, 2, dtype=np.float64), numbers(2, dtype=np.float64, seed=1), tolerance=1e-5)


@BOTH
@pytest.mark.parametrize("activation", sorted(_BY_ELEMENT, key=lambda f: f.__name__), ids=lambda f: f.__name__)
def test_each_activation_that_we_know(device, activation):
    x = numbers(50) * 4
    there = fl.move(x, device)
    fused = fuse(activation)
    np.testing.assert_allclose(fl.cpu(fused(there)), activation(x), rtol=1e-5, atol=1e-6)
    (g,) = fl.gradient(lambda x: np.sum(fused(x) ** 2), there)
    np.testing.assert_allclose(fl.cpu(g), fl.gradient(lambda x: np.sum(activation(x) ** 2), x)[0], rtol=1e-4, atol=1e-5)


@BOTH
def test_the_way_back_is_one_launch_and_a_sum_for_what_was_stretched(device):
    fused = fuse(lambda x, y: np.tanh(x + y) * fl.sigmoid(x), kernel_name="both")
    x, y = fl.move(numbers(4, 3), device), fl.move(numbers(3), device)

    def back(x, y):
        x, y = fl.param(x), fl.param(y)
        z = fused(x, y)
        return launched(lambda g, x, y: fl.back(np.sum(z)), None, x.data, y.data)[1]

    back(x, y)
    names = back(x, y)
    if "rehearsal" in sys.modules:
        names = [name for name in names if "ones" not in name]
    assert sum("both_back" in name for name in names) == 1 and sum("sum" in name for name in names) <= 2
    assert len(names) <= 5  # ones for the loss, its sum, the way back, the sum over rows


@BOTH
def test_several_results_have_a_way_back_each(device):
    def both(x, y):
        return np.tanh(x * y), x - y

    def loss(f):
        return lambda x, y: np.sum(f(x, y)[0] * f(x, y)[1] ** 2)

    x, y = numbers(4, 3), numbers(3, seed=1)
    found = fl.gradient(loss(fuse(both)), fl.move(x, device), fl.move(y, device))
    for g, right in zip(found, fl.gradient(loss(both), x, y)):
        np.testing.assert_allclose(fl.cpu(g), right, rtol=1e-4, atol=1e-5)


def test_a_number_can_be_differentiated_and_leaves_the_type(simulated):
    fused = fuse(lambda x, s: x * s * s, kernel_name="scaled")
    x = simulated(numbers(4))
    value, (g,) = fl.withgradient(lambda s: np.sum(fused(x, s)), 3.0)
    assert value.dtype == np.float32
    np.testing.assert_allclose(float(g), 6 * float(np.sum(x)), rtol=1e-5)


def test_what_changes_in_place_has_no_derivative(simulated):
    @fuse
    def changed(x, y):
        x += y
        return x * 2

    x, y = simulated(numbers(3)), simulated(numbers(3, seed=1))
    before = fl.cpu(x)
    for call in (lambda: fl.gradient(lambda x: np.sum(changed(x, y)), x), lambda: changed(fl.param(x), y)):
        with pytest.raises(TypeError, match="a change in place, which would lose the gradient,"):
            call()
    np.testing.assert_array_equal(fl.cpu(x), before)


def test_what_has_no_rule_or_cannot_be_fused_says_so(simulated):
    fused = fuse(lambda x: np.ldexp(x, 2), kernel_name="shifted")
    with pytest.raises(TypeError, match="np.ldexp has no derivative rule"):
        fl.gradient(lambda x: np.sum(fused(x)), simulated(numbers(3)))
    with pytest.raises(TypeError, match=r"np\.sum\(…\) can't be part"):
        fl.gradient(lambda x: fuse(lambda x: x - np.sum(x))(x)[0], simulated(numbers(3)))


def test_what_lies_between_is_not_kept_for_the_way_back(simulated):
    x, y = simulated(numbers(500, 500)), simulated(numbers(500))
    function = lambda x, y: np.tanh(np.exp(np.sin(x + y) * 2) - 1) * x  # noqa: E731

    def peak(f):
        with receipt() as r:
            fl.gradient(lambda x, y: np.sum(f(x, y)), x, y)
        return r.peak_memory

    assert peak(function) - peak(fuse(function)) > 3 * x.nbytes
