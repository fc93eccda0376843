"""Losses: values by hand and by PyTorch, gradients, float32, and shapes that do not fit."""

import math

import numpy as np
import pytest
from gradcheck import check_against_torch, check_float32, check_gradient, check_second

import fluxlite as fl

RNG = np.random.default_rng(0)
SCORES = RNG.normal(size=(4, 3))
LABELS = np.array([0, 2, 1, 2])
ONE_HOT = np.eye(3)[LABELS]
PROBABLE = fl.softmax(SCORES)

LOSSES = [fl.mse, fl.crossentropy, fl.logitcrossentropy]
each_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda f: f.__name__)


def test_values_by_hand():
    assert fl.mse(np.array([1.0, 2.0]), np.array([1.0, 4.0])) == 2
    assert fl.mse(np.array([[1.0], [2.0]]), np.array([[1.0], [4.0]]), agg=np.sum) == 4
    assert fl.crossentropy(np.array([[0.25, 0.75]]), np.array([[1.0, 0.0]])) == pytest.approx(math.log(4))
    assert fl.logitcrossentropy(np.array([[0.0, 0.0]]), np.array([[1.0, 0.0]])) == pytest.approx(math.log(2))
    assert fl.logitcrossentropy(np.array([[0.0], [0.0]]), np.array([[1.0], [0.0]]), axis=0) == pytest.approx(
        math.log(2)
    )


def test_crossentropy_of_a_softmax():
    assert fl.crossentropy(PROBABLE, ONE_HOT) == pytest.approx(fl.logitcrossentropy(SCORES, ONE_HOT))


@each_loss
def test_gradients(loss):
    prediction = PROBABLE if loss is fl.crossentropy else SCORES
    for p, target in [(prediction, PROBABLE), (prediction.T, ONE_HOT.T), (prediction[0], ONE_HOT[0])]:
        check_gradient(loss, p, target)
        check_second(loss, p, target)
        check_float32(loss, p, target)


def test_gradients_along_another_axis_and_with_another_agg():
    check_gradient(lambda p: fl.crossentropy(p, ONE_HOT.T, axis=0, agg=np.sum), PROBABLE.T)
    check_gradient(lambda p: fl.logitcrossentropy(p, ONE_HOT.T, axis=0, agg=np.max), SCORES.T)
    check_gradient(lambda p: fl.mse(p, ONE_HOT, agg=np.sum), SCORES)
    check_gradient(lambda p: fl.mse(p, ONE_HOT, agg=lambda losses: losses), SCORES)  # one for each number


def test_the_gradient_of_logitcrossentropy_is_the_difference():
    (g,) = fl.gradient(lambda s: fl.logitcrossentropy(s, ONE_HOT, agg=np.sum), SCORES)
    np.testing.assert_allclose(g, PROBABLE - ONE_HOT, atol=1e-15)


def test_against_torch():
    functional = pytest.importorskip("torch.nn.functional")
    check_against_torch(fl.mse, functional.mse_loss, SCORES, ONE_HOT)
    check_against_torch(fl.logitcrossentropy, functional.cross_entropy, SCORES, ONE_HOT)
    check_against_torch(fl.logitcrossentropy, functional.cross_entropy, SCORES, PROBABLE)
    check_against_torch(
        lambda p: fl.crossentropy(p, ONE_HOT, eps=0),
        lambda p: functional.nll_loss(p.log(), __import__("torch").tensor(LABELS)),
        PROBABLE,
    )
    check_against_torch(
        lambda p, t: fl.logitcrossentropy(p, t, axis=0, agg=np.sum),
        lambda p, t: functional.cross_entropy(p.T, t.T, reduction="sum"),
        SCORES.T.copy(),
        ONE_HOT.T.copy(),
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extremes_are_finite(dtype):
    scores = np.array([[1e4, -1e4, 0.0], [-1e4, 1e4, 1e4]], dtype)
    target = np.array([[0, 1, 0], [1, 0, 0]], dtype)
    value, (g,) = fl.withgradient(lambda s: fl.logitcrossentropy(s, target), scores)
    assert value.dtype == g.dtype == dtype
    assert value == pytest.approx(2e4 + math.log(2) / 2)
    assert g.tolist() == [[0.5, -0.5, 0.0], [-0.5, 0.25, 0.25]]
    probable = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], dtype)
    value, (g,) = fl.withgradient(lambda p: fl.crossentropy(p, target), probable)
    assert value.dtype == g.dtype == dtype
    assert np.isfinite(value) and np.isfinite(g).all()
    assert value == pytest.approx(-math.log(np.finfo(dtype).eps))


def test_eps_of_crossentropy():
    p, t = np.array([0.0, 1.0]), np.array([1.0, 0.0])
    assert fl.crossentropy(p, t, eps=0.01) == pytest.approx(-math.log(0.01))


def test_python_numbers():
    assert fl.mse(3.0, 1.0) == 4
    assert fl.gradient(lambda p: fl.mse(p, 1.0), 3.0) == (4.0,)
    assert fl.gradient(fl.mse, 3.0, 1.0) == (4.0, -4.0)


@each_loss
@pytest.mark.parametrize(
    "got, wanted, hint",
    [
        ((4, 3), (4, 1), ""),
        ((4, 1), (4,), "; give the target an axis, y[:, None]"),
        ((4, 3), (4,), "; classes as numbers need one-hot rows"),
        ((4,), (4, 1), ""),
        ((2, 4, 3), (4, 3), ""),
        ((4, 3), (), ""),
    ],
)
def test_shapes_that_would_only_broadcast(loss, got, wanted, hint):
    message = f"{loss.__name__}(prediction, target) takes two of the same shape, got {got} and {wanted}{hint}"
    prediction, target = np.ones(got), np.ones(wanted)
    with pytest.raises(ValueError) as error:
        loss(prediction, target)
    assert str(error.value) == message
    with pytest.raises(ValueError) as error:
        fl.gradient(lambda p: loss(p, target), prediction)
    assert str(error.value) == message
