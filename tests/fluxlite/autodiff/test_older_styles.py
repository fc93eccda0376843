"""`param` with `back`, and ``gradient(f, params(model))``: Flux's two older ways to a gradient."""

import contextlib

import numpy as np
import pytest

import fluxlite as fl
from fluxlite import TrackedArray, back, gradient, param, params, withgradient

# -- param and back ---------------------------------------------------------------------------------------


def test_grad_is_none_then_added_to():
    w = param(np.array([1.0, 2.0]))
    assert w.grad is None
    back((w * w).sum())
    assert w.grad.tolist() == [2, 4]
    back((3 * w).sum())
    assert w.grad.tolist() == [5, 7]
    w.grad[...] = 0
    back(w.sum())
    assert w.grad.tolist() == [1, 1]


def test_grad_is_an_ordinary_array_of_its_own():
    a, b = param(np.ones(2, np.float32)), param(np.ones((1, 2), order="F"))
    back((a * np.float64(2) + b).sum())
    assert a.grad.dtype == np.float32 and b.grad.shape == (1, 2)
    x, y = param(np.ones(2)), param(np.ones(2))
    back((x + y).sum())
    x.grad += 10
    assert y.grad.tolist() == [1, 1], "one array for both would change both"


def test_the_descent_step_of_the_blog():
    array = np.array([1.0, 2.0])
    w = param(array)
    back((w**2).sum())
    w.data -= 0.1 * w.grad
    np.testing.assert_allclose(w.data, [0.8, 1.6])
    assert w.data is array, "the array is not copied"
    w.data = w.data - 0.8
    np.testing.assert_allclose(w.data, [0, 0.8])


@pytest.mark.parametrize("bad", [np.array([1, 2]), np.ones(2, complex), [1.0], 3, param(np.ones(2))])
def test_param_takes_floating_point_arrays_only(bad):
    with pytest.raises(TypeError, match="param takes an array of floating-point numbers, got an? "):
        param(bad)


def test_data_is_assigned_plain_arrays_of_the_same_shape_only():
    w = param(np.ones(2))
    others = (np.ones(3), np.ones((1, 2)), np.float64(1), w * 2, w, [1.0, 2.0], np.array([1, 2]))
    for bad, got in zip(others, ["an array"] * 3 + ["a tracked one"] * 2 + ["a list", "an array of int64"]):
        with pytest.raises(TypeError, match=rf"a plain array of floats, of shape \(2,\); got {got}"):
            w.data = bad
    assert w.data.tolist() == [1, 1]
    with pytest.raises(TypeError, match="only the data of a param can be assigned"):
        (w * 2).data = np.ones(2)
    with pytest.raises(TypeError, match="only the data of a param can be assigned"):
        gradient(lambda x: setattr(x, "data", np.ones(2)), np.ones(2))


def test_back_after_an_assignment_raises():
    w = param(np.ones(2))
    loss = (w * w).sum()
    w.data -= 0.5
    with pytest.raises(RuntimeError, match="assigned after the loss was computed: compute the loss again"):
        back(loss)
    back((w * w).sum())
    assert w.grad.tolist() == [1, 1]


def test_a_state_that_was_walked_through_has_to_be_detached():
    w = param(np.ones(2))
    h = np.ones(2)
    for _ in range(2):
        h = h * w
        back(h.sum())
        h = h.data
    assert w.grad.tolist() == [2, 2]
    h = h * w
    back(h.sum())
    with pytest.raises(RuntimeError, match=r"h = h\.data"):
        back((h * w).sum())
    loss = w.sum()
    back(loss)
    for again in (loss, loss + w.sum()):
        with pytest.raises(RuntimeError, match="already walked through"):
            back(again)


def test_losses_that_back_refuses():
    w = param(np.ones(2))
    for bad, message in (
        (w * 2, r"of shape \(\), got shape \(2,\)"),
        (3.0, "got a plain float"),
        (np.ones(()), "got a plain ndarray"),
        ((w * 1j).sum(), "complex"),
    ):
        with pytest.raises(TypeError, match=message):
            back(bad)
    with pytest.raises(TypeError, match="belongs to a gradient call: return it from the function"):
        gradient(lambda x: back((w * x).sum()), np.ones(2))
    assert w.grad is None


def test_layers_of_params():
    layer = fl.Dense.of(param(np.ones((2, 3))), param(np.zeros(2)))
    back(layer(np.ones(3)).sum())
    assert layer.weight.grad.tolist() == [[1] * 3] * 2 and layer.bias.grad.tolist() == [1, 1]
    assert repr(layer) == "Dense(3 => 2)      # 8 parameters"


# -- params(model) ----------------------------------------------------------------------------------------


def chain():
    rng = np.random.default_rng(0)
    return fl.Chain(fl.Dense(3, 4, np.tanh, rng=rng), fl.Chain(fl.Dense(4, 2, rng=rng)))


X = np.random.default_rng(1).normal(size=(5, 3)).astype(np.float32)


def test_the_implicit_style_gives_what_the_explicit_one_gives():
    model = chain()
    (explicit,) = gradient(lambda m: (m(X) ** 2).sum(), model)
    implicit = gradient(lambda: (model(X) ** 2).sum(), params(model))
    for layer, g in ((model[0], explicit[0]), (model[1][0], explicit[1][0])):
        np.testing.assert_array_equal(implicit[layer.weight], g.weight)
        np.testing.assert_array_equal(implicit[layer.bias], g.bias)
        assert implicit[layer.weight].dtype == np.float32 and implicit[layer.weight].flags.writeable
    assert [g.shape for g in implicit] == [array.shape for array in params(model)]
    assert len(params(model)) == 4 and repr(params(model)) == "Params of shapes (4, 3), (4,), (2, 4), (2,)"


def test_gradients_are_looked_up_by_the_array_itself():
    model = chain()
    grads = gradient(lambda: model[0](X).sum(), params(model))
    assert grads[model[1][0].weight] is None
    for stranger in (model[0].weight.copy(), np.ones(2), 3):
        with pytest.raises(KeyError, match="n.t one of the params"):
            grads[stranger]


def test_values_and_extras_come_out_plain():
    model = {"w": np.ones(2)}
    (loss, w, text), grads = withgradient(lambda: ((model["w"] * 3).sum(), model["w"], "text"), params(model))
    assert loss == 6 and type(w) is np.ndarray and not np.shares_memory(w, model["w"]) and text == "text"
    assert grads[model["w"]].tolist() == [3, 3]


def test_fields_hold_their_arrays_again_also_after_an_exception():
    model = chain()
    before = [model[0].weight, model[0].bias, model[1][0].weight, model[1][0].bias]

    def fails():
        assert type(model[0].weight) is TrackedArray
        raise KeyError("inside")

    for f in (lambda: model(X).sum(), lambda: model(X), fails):
        with contextlib.suppress(KeyError, TypeError):
            gradient(f, params(model))
        after = [model[0].weight, model[0].bias, model[1][0].weight, model[1][0].bias]
        assert all(x is y and x.flags.writeable for x, y in zip(before, after, strict=True))


def test_ties_in_the_implicit_style():
    W = np.ones((2, 3))
    model = {"encoder": W, "decoder": W.T, "again": [W]}

    def f():
        return (
            model["encoder"].sum()
            + (model["decoder"] * np.array([[1.0], [2.0], [3.0]])).sum()
            + model["again"][0].sum()
        )

    grads = gradient(f, params(model))
    assert grads[W].tolist() == [[3, 4, 5]] * 2 and len(params(model)) == 1
    assert model["encoder"] is W and model["again"][0] is W and model["decoder"].base is W


def test_update_takes_params_and_their_gradients():
    model = {"W": np.ones((2, 2)), "b": [np.ones(2)], "unused": np.ones(1)}
    ps = params(model)
    state = fl.setup(fl.Descent(1.0), ps)
    for _ in range(2):
        grads = gradient(lambda: (model["W"] * 2).sum() + model["b"][0].sum(), ps)
        fl.update(state, ps, grads)
    assert model["W"].tolist() == [[-3, -3]] * 2 and model["b"][0].tolist() == [-1, -1] and model["unused"][0] == 1
    with pytest.raises(ValueError, match="its gradient, a ImplicitGradients"):
        fl.update(fl.setup(fl.Descent(1.0), model), model, grads)
