"""Activations, writing and moving while a gradient is taken, on MLX's arrays: all as on the CPU."""

import inspect

import inside
import numpy as np
import pytest
from inside import activations

import fluxlite as fl

pytest.importorskip("mlx.core")
MetalArray = inside.MetalArray

device = inside.MetalDevice()
ACTIVATIONS = [
    function
    for name, function in vars(activations).items()
    if getattr(function, "__module__", "") == activations.__name__
    and list(inspect.signature(function).parameters)[:1] == ["x"]
    and name != "rrelu"
]


def there(x):
    return device(x, dtype=None)


@pytest.mark.parametrize("function", ACTIVATIONS, ids=lambda function: function.__name__)
def test_activations_and_their_derivatives(function):
    h = np.array([[-30.0, -2.5, -0.4, 0.3], [0.7, 1.5, 4.0, 30.0]])
    weights = np.linspace(-1, 2, 8).reshape(2, 4)
    x, w = there(h), there(weights)
    np.testing.assert_allclose(fl.cpu(function(x)), function(h), rtol=5e-7, atol=1e-12)  # MLX's exp has 7 digits
    got, wanted = (fl.gradient(lambda x, w=w: np.sum(function(x) * w), x)[0] for x, w in ((x, w), (h, weights)))
    np.testing.assert_allclose(fl.cpu(got), wanted, rtol=5e-7, atol=1e-12)  # MLX's exp has 7 digits


def test_while_a_gradient_is_taken_what_it_computes_with_cannot_be_changed():
    w, x = device(np.ones(3, np.float32)), device(np.ones(3, np.float32))

    def changes(change):
        def f(w):
            y = w * x
            change()
            return y.sum()

        return f

    view = x[:2]
    for change in (lambda: x.__iadd__(1), lambda: w.fill(0), lambda: view.fill(0), lambda: x.__setitem__(0, 5)):
        with pytest.raises(ValueError, match="read-only"):
            fl.gradient(changes(change), w)
    x += 1
    w[0] = 2
    (g,) = fl.gradient(changes(lambda: None), w)
    assert fl.cpu(g).tolist() == [2, 2, 2] and g.flags.writeable
    g += 1


def test_gradients_flow_through_moves():
    x = np.ones(3)
    (g,) = fl.gradient(lambda x: fl.cpu(device(x) * device(np.arange(3.0))).sum(), x)
    assert type(g) is np.ndarray and g.dtype == np.float64 and g.tolist() == [0, 1, 2]
    (g,) = fl.gradient(lambda x: np.sum(fl.cpu(x) * np.arange(3)), device(x))
    assert type(g) is MetalArray and g.dtype == np.float32 and fl.cpu(g).tolist() == [0, 1, 2]
