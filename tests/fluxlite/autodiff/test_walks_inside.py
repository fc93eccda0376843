"""Inside `gradient`, walks see tracked arrays as arrays: what you compute from them counts in loss and gradient."""

import numpy as np
import pytest

import fluxlite as fl
from fluxlite import functor


def model():
    return fl.Chain(fl.Dense.of(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0.5, -1.0]), np.tanh),
                    fl.Dense.of(np.array([[1.0, -1.0]])))  # fmt: skip


X = np.array([[0.1, 0.2], [0.3, -0.4], [1.0, 0.0]])


def data_loss(m):
    return np.mean(m(X) ** 2)


PENALTIES = {
    "trainables": lambda m: sum(np.sum(a**2) for _, a in fl.trainables(m)),
    "leaves": lambda m: sum(np.sum(a**2) for a in fl.leaves(m) if hasattr(a, "shape")),
    "fcollect": lambda m: sum(np.sum(a**2) for a in fl.fcollect(m) if hasattr(a, "shape")),
    "destructure": lambda m: np.sum(fl.destructure(m)[0] ** 2),
    "fmap": lambda m: sum(
        np.sum(a) for _, a in fl.trainables(fl.fmap(lambda a: a**2 if hasattr(a, "shape") else a, m))
    ),
    "restructure": lambda m: (lambda v, re: sum(np.sum(a**2) for _, a in fl.trainables(re(v))))(*fl.destructure(m)),
}


@pytest.mark.parametrize("how", PENALTIES)
def test_a_penalty_counts_in_the_loss_and_in_the_gradient(how):
    m = model()
    penalty = PENALTIES[how]
    outside = data_loss(m) + 0.1 * penalty(m)
    value, (grads,) = fl.withgradient(lambda m: data_loss(m) + 0.1 * penalty(m), m)
    plain = fl.gradient(data_loss, m)[0]
    np.testing.assert_allclose(value, outside, rtol=1e-12)
    for i in (0, 1):
        np.testing.assert_allclose(grads[i].weight, plain[i].weight + 0.2 * m[i].weight, rtol=1e-12)
    np.testing.assert_allclose(grads[0].bias, plain[0].bias + 0.2 * m[0].bias, rtol=1e-12)


@pytest.mark.parametrize("how", PENALTIES)
def test_a_tied_weight_is_penalized_once(how):
    """As outside: W and W.T are one parameter."""
    W = np.array([[1.0, 2.0], [3.0, 4.0]])
    m = fl.Chain(fl.Dense.of(W), fl.Dense.of(W.T))
    outside = PENALTIES[how](m)
    value, (grads,) = fl.withgradient(PENALTIES[how], m)
    assert float(value) == float(outside) == 30
    assert grads[0].weight.tolist() == (2 * W).tolist() and grads[1].weight is None


def test_what_is_frozen_by_declaration_is_not_penalized():
    @functor(trainable=("w",))
    class Layer:
        def __init__(self):
            self.w, self.mean, self.steps = np.ones(2), np.full(2, 5.0), np.arange(2)

    assert float(fl.withgradient(lambda m: sum(np.sum(a**2) for _, a in fl.trainables(m)), Layer())[0]) == 2
    assert fl.withgradient(lambda m: fl.destructure(m)[0].size + 0 * np.sum(m.w), Layer())[0] == 2


def test_what_updated_names_for_a_step_inside_is_differentiated():
    """As in meta-learning: a loss after a step. `updated` promises to change nothing, but its rules do."""
    model = {"w": np.array([1.0, 2.0]), "deep": [np.array(3.0)]}
    state, rate = fl.setup(fl.Descent(0.1), model), 0.1

    def cubes(m):
        return np.sum(m["w"] ** 3) + m["deep"][0] ** 3

    def after(m, step):
        return cubes(step(m, fl.gradient(cubes, m)[0]))

    with pytest.raises(ValueError, match=r"a step there is written by hand: fl\.fmap\(") as caught:
        fl.gradient(lambda m: after(m, lambda m, grads: fl.updated(state, m, grads)[1]), model)
    call = str(caught.value).partition("by hand: ")[2]
    (g,) = fl.gradient(
        lambda m: after(m, lambda m, grads: eval(call, {"fl": fl, "rate": rate, "model": m, "grads": grads})), model
    )
    for x, found in ((model["w"], g["w"]), (model["deep"][0], g["deep"][0])):
        np.testing.assert_allclose(found, 3 * (x - rate * 3 * x**2) ** 2 * (1 - rate * 6 * x), rtol=1e-12)
