"""accuracy, confusion_matrix, normalise; casts; stop_gradient."""

import numpy as np
import pytest
from kinds import EVERYWHERE, GPUS

import fluxlite as fl

SCORES = np.array([[0.1, 0.7, 0.2], [0.5, 0.3, 0.2], [0.2, 0.2, 0.6], [0.9, 0.05, 0.05]], np.float32)
LABELS = np.array([1, 0, 1, 0])


@pytest.mark.on(*EVERYWHERE)
def test_how_often_it_is_right(device):
    scores = device(SCORES)
    for target in (LABELS, np.eye(3, dtype=np.float32)[LABELS]):
        assert fl.accuracy(scores, device(target)) == 0.75
        table = fl.confusion_matrix(scores, device(target))
        assert type(table) is np.ndarray
        np.testing.assert_array_equal(table, [[2, 0, 0], [0, 1, 1], [0, 0, 0]])
    assert fl.accuracy(device(SCORES.T), device(LABELS), axis=0) == 0.75


@pytest.mark.parametrize("function", [fl.accuracy, fl.confusion_matrix], ids=lambda f: f.__name__)
def test_what_does_not_fit(function):
    for target, words in [
        (LABELS[:, None], r"whole numbers of shape \(4,\); got int64 of shape \(4, 1\)"),
        (LABELS.astype(float), r"got float64 of shape \(4,\)"),
        (LABELS[:3], r"shape \(3,\)"),
    ]:
        with pytest.raises(ValueError, match=words):
            function(SCORES, target)
    with pytest.raises(TypeError, match="the prediction is an array, got a list"):
        function([[0.1, 0.9]], LABELS)
    with pytest.raises(ValueError, match="got one number"):
        function(np.array(1.0), LABELS)
    for axis in (-3, 2, "classes"):
        with pytest.raises(ValueError, match=r"axis=…\): a prediction of shape \(4, 3\) has no axis"):
            function(SCORES, LABELS, axis)


@pytest.mark.on(*GPUS)
def test_two_places(device):
    with pytest.raises(TypeError, match=rf"the prediction is on {device}, the target on CPU"):
        fl.accuracy(device(SCORES), LABELS)


def test_inside_a_gradient_it_is_a_plain_number():
    def f(s):
        assert type(fl.accuracy(s, LABELS)) is float
        return s.sum()

    fl.gradient(f, SCORES)
    with pytest.raises(ValueError, match="at least one observation"):
        fl.accuracy(SCORES[:0], LABELS[:0])


def test_normalised():
    x = np.random.default_rng(0).normal(3, 2, (4, 50))
    y = fl.normalise(x)
    np.testing.assert_allclose([y.mean(-1), y.std(-1)], [[0] * 4, [1] * 4], atol=1e-4)
    assert np.isfinite(fl.normalise(np.ones((2, 3)))).all()


@pytest.mark.on(*EVERYWHERE)
def test_casts_keep_ties_and_integers(device):
    w = np.ones((2, 3), np.float32)
    model = device({"a": w, "b": w.T, "n": np.arange(3), "name": "x"})
    half = fl.f16(model)
    assert half["a"].dtype == half["b"].dtype == np.float16 and half["n"].dtype.kind == "i" and half["name"] == "x"
    assert len(list(fl.trainables(half))) == 1 and fl.device_of(half["a"]) == device
    assert fl.f32(half)["a"].dtype == np.float32


def test_a_cast_inside_a_gradient_is_differentiated():
    (g,) = fl.gradient(lambda m: np.sum(fl.f64(m)["w"] ** 2), {"w": np.ones(2, np.float32)})
    assert g["w"].dtype == np.float32 and (g["w"] == 2).all()


def test_nothing_flows_through_a_stopped_gradient():
    x = np.array([2.0, 3.0])
    np.testing.assert_array_equal(fl.gradient(lambda x: np.sum(x * fl.stop_gradient(x**2)), x)[0], x**2)
    model = fl.Chain(fl.Dense(2, 1))
    (g,) = fl.gradient(lambda m: np.sum(fl.stop_gradient(m)(m[0].weight)), model)
    np.testing.assert_allclose(g[0].weight, model[0].weight, rtol=1e-6)
    assert fl.gradient(lambda x: fl.gradient(lambda y: np.sum(y * fl.stop_gradient(x)), x)[0].sum(), x)[0] is None
