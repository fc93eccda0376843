"""Losses: values by hand and by PyTorch, gradients, float32, and shapes that do not fit."""

import math

import numpy as np
import pytest
from gradcheck import Call, check_against_torch, check_call, check_float32, check_gradient, check_second
from kinds import EVERYWHERE, GPUS

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
    fortran = np.asfortranarray(prediction), np.asfortranarray(ONE_HOT)
    for p, target in [(prediction, PROBABLE), fortran, (prediction[0], ONE_HOT[0])]:
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
        ((4, 3), (4,), {fl.mse: "; classes as numbers need one-hot rows"}),
        ((4,), (4, 1), ""),
        ((2, 4, 3), (4, 3), ""),
        ((4, 3), (), ""),
    ],
)
def test_shapes_that_would_only_broadcast(loss, got, wanted, hint):
    if isinstance(hint, dict):
        hint = hint.get(loss, "; classes as numbers are whole numbers, y.astype(int)")
    message = f"{loss.__name__}(prediction, target) takes two of the same shape, got {got} and {wanted}{hint}"
    prediction, target = np.ones(got), np.ones(wanted)
    with pytest.raises(ValueError) as error:
        loss(prediction, target)
    assert str(error.value) == message
    with pytest.raises(ValueError) as error:
        fl.gradient(lambda p: loss(p, target), prediction)
    assert str(error.value) == message


def test_a_list_is_no_target():
    with pytest.raises(ValueError, match=r"; the target is a list, np\.array\(target\) makes an array"):
        fl.logitcrossentropy(SCORES, [0, 2, 1, 2])


# -- numbers of classes --------------------------------------------------------------------------------------


CLASSES = [(fl.logitcrossentropy, SCORES), (fl.crossentropy, PROBABLE)]
of_classes = pytest.mark.parametrize(("loss", "prediction"), CLASSES, ids=["logitcrossentropy", "crossentropy"])


@of_classes
def test_numbers_of_classes_are_one_hot_rows(loss, prediction):
    wanted = loss(prediction, ONE_HOT)
    for dtype in (np.int64, np.int32, np.uint8):
        assert loss(prediction, LABELS.astype(dtype)) == pytest.approx(wanted)
    assert loss(prediction.T, LABELS, axis=0) == pytest.approx(wanted)
    assert loss(prediction, LABELS, agg=np.sum) == pytest.approx(4 * wanted)
    each = loss(prediction, LABELS, -1, lambda losses: losses)
    np.testing.assert_allclose(each, loss(prediction, ONE_HOT, -1, lambda losses: losses))
    for label in (2, np.int64(2), np.array(2)):
        assert loss(prediction[1], label) == pytest.approx(each[1])
    sequences = np.stack([prediction, prediction[::-1]])
    assert loss(sequences, np.stack([LABELS, LABELS[::-1]])) == pytest.approx(wanted)
    assert loss(np.moveaxis(sequences, -1, 1), np.stack([LABELS, LABELS[::-1]]), axis=1) == pytest.approx(wanted)
    assert loss(prediction.astype(np.float32), LABELS).dtype == np.float32


@of_classes
def test_derivatives_with_numbers_of_classes(loss, prediction):
    check_call(Call(lambda p: loss(p, LABELS), prediction), tolerance=1e-5)
    check_call(Call(lambda p: loss(p, LABELS, 0, np.sum), np.asfortranarray(prediction.T)), tolerance=1e-5)
    check_call(Call(lambda p: loss(p, 1), prediction[0]), tolerance=1e-5)
    np.testing.assert_allclose(
        fl.gradient(lambda p: loss(p, LABELS), prediction)[0], fl.gradient(lambda p: loss(p, ONE_HOT), prediction)[0]
    )


def test_numbers_of_classes_against_torch():
    torch = pytest.importorskip("torch")
    functional = torch.nn.functional
    check_against_torch(fl.logitcrossentropy, functional.cross_entropy, SCORES, LABELS)
    sequences, labels = RNG.normal(size=(2, 3, 5)), RNG.integers(0, 3, (2, 5))
    check_against_torch(lambda s, y: fl.logitcrossentropy(s, y, axis=1), functional.cross_entropy, sequences, labels)
    check_against_torch(
        lambda p, y: fl.crossentropy(p, y, eps=0), lambda p, y: functional.nll_loss(p.log(), y), PROBABLE, LABELS
    )


@of_classes
@pytest.mark.on(*EVERYWHERE)
def test_numbers_of_classes_on_every_device(device, loss, prediction):
    p, labels = device(prediction.astype(np.float32)), device(LABELS)
    value, (g,) = fl.withgradient(lambda p: loss(p, labels), p)
    wanted, (wanted_g,) = fl.withgradient(lambda p: loss(p, ONE_HOT), prediction)
    assert fl.device_of(g) == device and float(fl.cpu(value)) == pytest.approx(wanted, rel=1e-5)
    np.testing.assert_allclose(fl.cpu(g), wanted_g, rtol=1e-4, atol=1e-6)


@of_classes
@pytest.mark.on(*GPUS)
def test_numbers_of_classes_elsewhere(device, loss, prediction):
    with pytest.raises(TypeError, match=rf"^{loss.__name__}: prediction is on {device}, target is on CPU; move one"):
        loss(device(prediction), LABELS)


@of_classes
@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.array([0, 2, 1, 3]), "numbers of 3 classes are 0 to 2, got 3$"),
        (np.array([0, 2, -1, 2]), "numbers of 3 classes are 0 to 2, got -1$"),
        (np.array([0, 2]), r"for a prediction of shape \(4, 3\), numbers of classes have shape \(4,\), got \(2,\)"),
        (LABELS[:, None], r"got \(4, 3\) and \(4, 1\); classes as numbers have one axis less, y\[:, 0\]"),
        (LABELS.astype(float), r"got \(4, 3\) and \(4,\); classes as numbers are whole numbers, y\.astype\(int\)"),
        (LABELS == 1, r"classes as numbers are whole numbers"),
    ],
)  # fmt: skip
def test_wrong_numbers_of_classes(loss, prediction, labels, message):
    with pytest.raises(ValueError, match=message):
        loss(prediction, labels)
    with pytest.raises(ValueError, match=message):
        fl.gradient(lambda p: loss(p, labels), prediction)


def test_no_classes_and_no_observations():
    assert fl.logitcrossentropy(np.zeros((0, 3)), np.zeros(0, int), agg=np.sum) == 0
    with pytest.raises(ValueError, match="numbers of 3 classes"):
        fl.logitcrossentropy(SCORES[0], 3)


# -- swapped, and not what a crossentropy takes -----------------------------------------------------------------


@of_classes
def test_swapped_arguments_inside_a_gradient(loss, prediction):
    message = (
        f"{loss.__name__}(prediction, target): the target is tracked for a gradient, the prediction isn't: the two "
        f"are swapped. Write {loss.__name__}(model(x), y)"
    )
    for target in (ONE_HOT, LABELS):
        with pytest.raises(TypeError) as error:
            fl.gradient(lambda p: loss(target, p), prediction)  # noqa: B023
        assert str(error.value) == message
    with fl.simulate_gpu() as device, pytest.raises(TypeError, match="swapped"):
        fl.gradient(lambda p: loss(device(ONE_HOT), p), device(prediction))


def test_swapped_arguments_are_no_matter_where_a_loss_is_symmetric():
    assert (fl.gradient(lambda p: fl.mse(ONE_HOT, p), SCORES)[0] == fl.gradient(fl.mse, SCORES, ONE_HOT)[0]).all()


def test_scores_as_target():
    """What swapped arguments look like outside a gradient. Such a loss was negative, and nothing said why."""
    for scores, got in ((np.array([[2.0, -1.0, 0.0]]), "-1"), (np.array([[2.0, 0.5, 0.0]]), "a sum of 2.5")):
        with pytest.raises(ValueError) as error:
            fl.logitcrossentropy(np.array([[1.0, 0.0, 0.0]]), scores)
        assert str(error.value) == (
            "logitcrossentropy(prediction, target): the target holds probabilities, which aren't negative and have the "
            f"sum 1 along axis -1; got {got}. The prediction comes first: logitcrossentropy(model(x), y)"
        )


@of_classes
def test_what_counts_as_probabilities(loss, prediction):
    smooth = 0.9 * ONE_HOT + 0.1 / 3
    for target in (ONE_HOT.astype(int), ONE_HOT > 0, PROBABLE.astype(np.float16), np.full((4, 3), 0.33), smooth):
        loss(prediction, target)
        loss(prediction.T, target.T, axis=0)
    for target in (np.zeros((4, 3)), ONE_HOT * 2, ONE_HOT.T.reshape(4, 3), np.full((4, 3), np.inf)):
        with pytest.raises(ValueError, match="sum 1 along axis -1; got a sum of"):
            loss(prediction, target)
    with pytest.raises(ValueError, match="sum 1 along axis 0"):
        loss(PROBABLE[:3], np.eye(3)[[0, 0, 1]], 0)
    assert np.isnan(loss(prediction, np.full((4, 3), np.nan))), "as everywhere, a NaN shows in what comes out"


def test_scores_where_probabilities_are_wanted():
    for scores, got in ((np.array([[-0.5, 0.5]]), "-0.5"), (np.array([[0.5, 3.0]]), "3")):
        with pytest.raises(ValueError) as error:
            fl.crossentropy(scores, np.array([[1.0, 0.0]]))
        assert str(error.value) == (
            "crossentropy(prediction, target): the prediction holds probabilities, from 0 to 1, as softmax gives; "
            f"got {got}. For scores there is logitcrossentropy"
        )


@of_classes
def test_on_a_gpu_nothing_waits_for_values(simulated, loss, prediction):
    p, y, labels = simulated((prediction, ONE_HOT, LABELS))
    with fl.receipt() as r:
        loss(p, y)
        loss(p, labels)
        loss(p, y * 2)  # not seen there
    assert r.synchronizations == 0 and r.host_to_device.count == r.device_to_host.count == 0


# -- corners -----------------------------------------------------------------------------------------------------


def test_a_class_that_is_ruled_out_takes_numbers():
    scores = np.array([[0.0, -np.inf, 1.0], [2.0, 1.0, -np.inf]])
    value, (g,) = fl.withgradient(lambda s: fl.logitcrossentropy(s, np.array([2, 0])), scores)
    wanted, (wanted_g,) = fl.withgradient(
        lambda s: fl.logitcrossentropy(s, np.array([1, 0])), np.array([[0.0, 1], [2, 1]])
    )
    assert value == pytest.approx(wanted)
    np.testing.assert_allclose(g[[0, 0, 1, 1], [0, 2, 0, 1]], wanted_g.ravel())
    assert (g[~np.isfinite(scores)] == 0).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("target", [np.array([0, 1]), np.array([[1, 0, 0], [0, 1, 0]])], ids=["numbers", "rows"])
def test_a_probability_of_0(dtype, target):
    """Flux's eps: the loss is -log(eps) at most, its slope -1/eps."""
    eps = np.finfo(dtype).eps
    p = np.array([[0, 0, 1], [0, 1, 0]], dtype)
    value, (g,) = fl.withgradient(lambda p: fl.crossentropy(p, target, agg=np.sum), p)
    assert value.dtype == g.dtype == dtype and value == pytest.approx(-math.log(eps), rel=2e-3)
    assert g[0].tolist() == [-1 / eps, 0, 0] and g[1, 1] == pytest.approx(-1, rel=2e-3) and not g[1, [0, 2]].any()


def test_without_eps_the_other_classes_may_be_0():
    value, (g,) = fl.withgradient(lambda p: fl.crossentropy(p, np.array([1]), eps=0), np.array([[0.0, 0.5, 0.5]]))
    assert value == pytest.approx(math.log(2)) and g.tolist() == [[0, -2, 0]]


@of_classes
@pytest.mark.parametrize("target", [LABELS, ONE_HOT.astype(np.float16)], ids=["numbers", "rows"])
def test_float16(loss, prediction, target):
    value, (g,) = fl.withgradient(lambda p: loss(p, target), prediction.astype(np.float16))
    wanted, (wanted_g,) = fl.withgradient(lambda p: loss(p, target), prediction)
    assert value.dtype == g.dtype == np.float16
    np.testing.assert_allclose(value, wanted, rtol=5e-3)
    np.testing.assert_allclose(g, wanted_g, rtol=2e-2, atol=2e-3)


@pytest.mark.parametrize("target", [np.array([1, 0]), np.array([[0, 1, 0], [1, 0, 0]])], ids=["numbers", "rows"])
def test_large_scores_in_float16(target):
    scores = np.array([[1e4, -1e4, 0.0], [-1e4, 1e4, 1e4]], np.float16)
    value, (g,) = fl.withgradient(lambda s: fl.logitcrossentropy(s, target), scores)
    assert value == 2e4 and g.tolist() == [[0.5, -0.5, 0.0], [-0.5, 0.25, 0.25]]
