"""accuracy, confusion_matrix, normalise; casts; stop_gradient."""

import numpy as np
import pytest
from kinds import EVERYWHERE

import fluxlite as fl

SCORES = np.array([[0.1, 0.7, 0.2], [0.5, 0.3, 0.2], [0.2, 0.2, 0.6], [0.9, 0.05, 0.05]], np.float32)
LABELS = np.array([1, 0, 1, 0])


@pytest.mark.on(*EVERYWHERE)
def test_how_often_it_is_right(device):
    scores = device(SCORES)
    for target in (LABELS, np.eye(3, dtype=np.float32)[LABELS]):
        assert fl.accuracy(scores, device(target)) == fl.accuracy(scores, device(target), axis=1) == 0.75
        table = fl.confusion_matrix(scores, device(target))
        assert type(table) is np.ndarray
        np.testing.assert_array_equal(table, [[2, 0, 0], [0, 1, 1], [0, 0, 0]])
    assert fl.accuracy(device(SCORES.T), device(LABELS), axis=0) == 0.75


@pytest.mark.parametrize("function", [fl.accuracy, fl.confusion_matrix], ids=lambda f: f.__name__)
def test_what_does_not_fit(function):
    for target, words in [
        (LABELS[:, None], r"whole numbers of shape \(4,\).* int64 of shape \(4, 1\)"),
        (LABELS + 0.5, r"Got float64 of shape \(4,\)"),
        (LABELS[:3], r"shape \(3,\)"),
    ]:
        with pytest.raises(ValueError, match=words):
            function(SCORES, target)
    for prediction, axis in (({0, 1}, -1), (np.array(1.0), -1), (SCORES, 2), (SCORES, "classes")):
        with pytest.raises(Exception, match=rf"in {function.__name__}\(prediction="):
            function(prediction, LABELS, axis)
    with fl.simulate_gpu() as device, pytest.raises(TypeError, match=rf"{device}.*CPU"):
        function(device(SCORES), LABELS)
    for prediction, target, words in [(SCORES, [0, 0, 0, 3], "3 isn't a class, .* 2"), ([0, -1], [0, 1], "-1 isn't")]:
        with pytest.raises(ValueError, match=words):
            fl.confusion_matrix(prediction, target)


@pytest.mark.on(*EVERYWHERE)
@pytest.mark.parametrize("kind", [int, np.float32, np.int8])
def test_class_numbers_are_counted_one_by_one(device, kind):
    for guess, truth, share, table in [
        ([0, 1, 1, 0], [1, 1, 0, 0], 0.5, [[1, 1], [1, 1]]),
        ([0, 1, 1, 0, 2, 2], [0, 1, 0, 0, 2, 1], 4 / 6, [[2, 1, 0], [0, 1, 1], [0, 0, 1]]),
        ([1], [1], 1.0, [[0, 0], [0, 1]]),
    ]:
        for x, y in [(guess, truth), (device(np.array(guess, kind)), device(np.array(truth)))]:
            assert fl.accuracy(x, y) == pytest.approx(share)
            np.testing.assert_array_equal(fl.confusion_matrix(x, y), table)
    decided = device(np.array([[-9.0], [9.0], [2.0]], np.float32))[:, 0] > 0
    assert fl.accuracy(decided, device(np.array([0, 1, 1]))) == 1.0
    scores = device(SCORES)
    assert fl.accuracy(fl.onecold(scores), device(LABELS)) == fl.accuracy(scores, device(LABELS.astype(np.float32)))


def test_normalised():
    x = np.random.default_rng(0).normal(3, 2, (4, 50))
    y = fl.normalise(x)
    np.testing.assert_allclose([y.mean(-1), y.std(-1)], [[0] * 4, [1] * 4], atol=1e-4)
    for number in (1.0, 0.1, 1000.1):  # whose mean is rounded
        for axis in (-1, 0, None):
            assert not fl.normalise(np.full((7, 7), number, np.float32), axis).any()


@pytest.mark.on(*EVERYWHERE)
def test_casts_keep_ties_and_integers(device):
    w = np.ones((2, 3), np.float32)
    model = device({"a": w, "b": w.T, "n": np.arange(3), "name": "x"})
    half = fl.f16(model)
    assert half["a"].dtype == half["b"].dtype == np.float16 and half["n"].dtype.kind == "i" and half["name"] == "x"
    assert len(list(fl.trainables(half))) == 1 and fl.device_of(half["a"]) == device
    assert fl.f32(half)["a"].dtype == np.float32


@pytest.mark.on(*EVERYWHERE)
@pytest.mark.parametrize(("cast", "dtype"), [(fl.f16, np.float16), (fl.f32, np.float32)])
def test_a_cast_inside_a_gradient_casts_and_is_differentiated(device, cast, dtype):
    host, met = np.array([0.1, 0.7, -0.3], np.float16 if dtype == np.float32 else np.float32), []

    def loss(m):
        low = cast(m)
        met.append((low["w"].dtype, low["n"].dtype.kind, fl.cpu(fl.stop_gradient(low["w"]))))
        return np.sum(cast(low["w"] * low["w"].T) * 3)

    (g,) = fl.gradient(loss, device({"w": host, "n": np.arange(3)}))
    assert met[0][:2] == (dtype, "i") and (met[0][2] == host.astype(dtype)).all()
    step, w = np.float32(0.5), host.astype(np.float32)  # of a parabola, the difference is the derivative
    wanted = (3 * (w + step) ** 2 - 3 * (w - step) ** 2) / (2 * step)
    assert g["w"].dtype == host.dtype and g["n"] is None
    np.testing.assert_allclose(fl.cpu(g["w"]).astype(np.float32), wanted, rtol=3e-3)


def test_a_step_in_mixed_precision():
    """float32 weights, computed with in float16: as by hand, cast by cast."""
    rng, results = np.random.default_rng(0), []
    x, y = rng.normal(size=(8, 3)).astype(np.float32), rng.normal(size=(8, 1)).astype(np.float32)

    def by_hand(m):
        return fl.fmap(lambda w: w.astype(np.float16) if hasattr(w, "astype") else w, m)

    for low in (fl.f16, by_hand):
        model = fl.f32(fl.Chain(fl.Dense(3, 4, np.tanh, rng=np.random.default_rng(1)), fl.Dense.of(np.ones((1, 4)))))
        loss, (g,) = fl.withgradient(lambda m, low=low: fl.mse(low(m)(low(x)), low(y)) * 128, model)
        fl.update(fl.setup(fl.Descent(0.001), model), model, g)
        assert loss.dtype == np.float16 and {w.dtype.name for _, w in fl.trainables(g)} == {"float32"}
        results.append(fl.destructure(model)[0])
    np.testing.assert_array_equal(*results)


def test_nothing_flows_through_a_stopped_gradient():
    x = np.array([2.0, 3.0])
    np.testing.assert_array_equal(fl.gradient(lambda x: np.sum(x * fl.stop_gradient(x**2)), x)[0], x**2)
    model = fl.Chain(fl.Dense(2, 1))
    (g,) = fl.gradient(lambda m: np.sum(fl.stop_gradient(m)(m[0].weight)), model)
    np.testing.assert_allclose(g[0].weight, model[0].weight, rtol=1e-6)
    assert fl.gradient(lambda x: fl.gradient(lambda y: np.sum(y * fl.stop_gradient(x)), x)[0].sum(), x)[0] is None


def test_pixels_are_normalised_like_other_numbers():
    """As they come from a file: in eight bits, a pixel minus a lighter one would be a light one."""
    pixels = np.array([[200, 100, 0], [0, 0, 255]], np.uint8)
    for axis in (-1, 0, None):
        np.testing.assert_allclose(fl.normalise(pixels, axis), fl.normalise(pixels.astype(float), axis))
    assert fl.normalise(pixels > 100).dtype == np.float64
