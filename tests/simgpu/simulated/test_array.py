"""Methods of a simulated array that give what NumPy's give."""

import re

import numpy as np
import pytest

from fluxlite import simulate_gpu
from fluxlite.devices import cpu, devices, gpu

X = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize("axes", [(), (None,), ((2, 0, 1),), (2, 0, 1), ([1, 2, -3],)], ids=str)
def test_transpose_takes_axes_in_all_forms(simulated, axes):
    x = gpu(X)
    y = x.transpose(*axes)
    assert y.base is x
    np.testing.assert_array_equal(cpu(y), X.transpose(*axes))


def test_a_view_of_another_type_is_of_the_same_memory(simulated):
    x = gpu(X)
    bits, again = x.view(np.uint32), x.view()
    assert bits.dtype == np.uint32 and again.dtype == np.float32
    np.testing.assert_array_equal(cpu(bits), X.view(np.uint32))
    again[...] = 1
    assert cpu(x).min() == 1 and cpu(bits).min() == np.float32(1).view(np.uint32)


@pytest.mark.parametrize("name", ["sum", "mean", "std", "max", "all"])
@pytest.mark.parametrize("axis", [None, 1, (0, 2)])
def test_a_reduction_writes_into_out(simulated, name, axis):
    host, dtype = X / 8, bool if name in ("all", "any") else np.float32
    expected = getattr(host, name)(axis=axis)
    out = gpu(np.zeros(expected.shape, dtype))
    assert getattr(gpu(host), name)(axis=axis, out=out) is out
    np.testing.assert_allclose(cpu(out), expected, rtol=1e-5)
    kept = getattr(gpu(host), name)(axis=axis, keepdims=True)
    assert kept.shape == getattr(host, name)(axis=axis, keepdims=True).shape


@pytest.mark.parametrize("other", [None, object(), ...], ids=["None", "object", "Ellipsis"])
def test_what_has_no_equality_equals_no_number(simulated, other):
    x = gpu(np.zeros(3, np.float32))
    assert cpu(x == other).tolist() == [False] * 3
    assert cpu(x != other).tolist() == [True] * 3
    assert (x == other).dtype == (x != other).dtype == bool


@pytest.mark.parametrize("n", [0, 2, 3, -1, 0.5, True, np.float32(3)], ids=repr)
def test_powers(simulated, n):
    x = X[0] + 1
    np.testing.assert_allclose(cpu(gpu(x) ** n), x**n, rtol=1e-6)
    np.testing.assert_allclose(cpu(gpu(x) ** gpu(np.full(4, n, np.float32))), x ** np.float32(n), rtol=1e-6)


def test_two_devices_are_told_apart_by_number_or_else_by_card():
    simulate_gpu(2)
    x, y = (device(np.ones(2, np.float32)) for device in devices())
    simulate_gpu(like="A100")
    z = gpu(np.ones(2, np.float32))
    for one, other, names in (
        (x, y, "is on Simulated:0, another, of shape (2,), on Simulated:1. A GPU"),
        (y, x, "is on Simulated:1, another, of shape (2,), on Simulated:0. A GPU"),
        (x, z, "is on Simulated:0 (simulated NVIDIA T4), another, of shape (2,), on Simulated:0 (simulated A100). A"),
    ):
        with pytest.raises(ValueError, match=re.escape(names)):
            one + other
