"""Losses: beside PyTorch's functions or the formula, their derivatives, on every device, and what they refuse."""

import inspect
import math

import numpy as np
import pytest
from gradcheck import check_float32, check_gradient, check_second
from kinds import EVERYWHERE

import fluxlite as fl

RNG = np.random.default_rng(1)
SCORES, OTHERS = RNG.normal(size=(4, 3)), RNG.normal(size=(4, 3)) * 2
COUNTS = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 1.0]])
RATES = RNG.uniform(0.5, 3, size=(2, 3))
CHANCES, YES = RNG.uniform(0.1, 0.9, size=(4, 3)), RNG.integers(0, 2, size=(4, 3)).astype(float)
SIGNS = np.where(RNG.normal(size=(4, 3)) > 0, 1.0, -1.0)
PROBABLE, TARGETS = fl.softmax(SCORES), fl.softmax(OTHERS)
LABELS = np.array([0, 2, 1, 2])
ONE_HOT = np.eye(3)[LABELS]
E = float(np.finfo(float).eps)

# name: (the loss, prediction, target, the same by PyTorch's functions or its operators)
TABLE = {
    "mse": (fl.mse, SCORES, OTHERS, lambda t, p, y: t.nn.functional.mse_loss(p, y)),
    "mse, agg": (lambda p, y: fl.mse(p, y, agg=np.sum), SCORES, OTHERS, lambda t, p, y: ((p - y) ** 2).sum()),
    "crossentropy": (fl.crossentropy, PROBABLE, TARGETS, lambda t, p, y: -(y * t.log(p)).sum(-1).mean()),
    "crossentropy, axis and agg": (
        lambda p, y: fl.crossentropy(p, y, axis=0, agg=np.sum), PROBABLE.T, ONE_HOT.T,
        lambda t, p, y: -(y * t.log(p)).sum(),
    ),
    "crossentropy, numbers": (
        fl.crossentropy, PROBABLE, LABELS, lambda t, p, y: t.nn.functional.nll_loss(t.log(p), y),
    ),
    "logitcrossentropy": (fl.logitcrossentropy, SCORES, TARGETS, lambda t, p, y: t.nn.functional.cross_entropy(p, y)),
    "logitcrossentropy, axis and agg": (
        lambda p, y: fl.logitcrossentropy(p, y, axis=0, agg=np.sum), SCORES.T, TARGETS.T,
        lambda t, p, y: t.nn.functional.cross_entropy(p.T, y.T, reduction="sum"),
    ),
    "logitcrossentropy, numbers": (
        fl.logitcrossentropy, SCORES, LABELS, lambda t, p, y: t.nn.functional.cross_entropy(p, y),
    ),
    "logitcrossentropy, numbers of sequences": (
        lambda p, y: fl.logitcrossentropy(p, y, axis=1), RNG.normal(size=(2, 3, 5)), RNG.integers(0, 3, (2, 5)),
        lambda t, p, y: t.nn.functional.cross_entropy(p, y),
    ),
    "mae": (fl.mae, SCORES, OTHERS, lambda t, p, y: t.nn.functional.l1_loss(p, y)),
    "msle": (fl.msle, RATES, COUNTS + 1, lambda t, p, y: ((t.log(p + E) - t.log(y + E)) ** 2).mean()),
    "huber_loss": (fl.huber_loss, SCORES, OTHERS, lambda t, p, y: t.nn.functional.huber_loss(p, y)),
    "huber_loss, delta": (
        lambda p, y: fl.huber_loss(p, y, delta=0.5), SCORES, OTHERS,
        lambda t, p, y: t.nn.functional.huber_loss(p, y, delta=0.5),
    ),
    "poisson_loss": (
        fl.poisson_loss, RATES, COUNTS,
        lambda t, p, y: t.nn.functional.poisson_nll_loss(p, y, log_input=False, eps=0),
    ),
    "hinge_loss": (fl.hinge_loss, SCORES, SIGNS, lambda t, p, y: t.relu(1 - p * y).mean()),
    "squared_hinge_loss": (fl.squared_hinge_loss, SCORES, SIGNS, lambda t, p, y: (t.relu(1 - p * y) ** 2).mean()),
    "siamese_contrastive_loss": (
        fl.siamese_contrastive_loss, RATES, (COUNTS > 0) * 1.0,
        lambda t, p, y: ((1 - y) * p**2 + y * t.relu(1 - p) ** 2).mean(),
    ),
    "binarycrossentropy": (
        fl.binarycrossentropy, CHANCES, YES, lambda t, p, y: t.nn.functional.binary_cross_entropy(p, y),
    ),
    "logitbinarycrossentropy": (
        fl.logitbinarycrossentropy, SCORES, YES,
        lambda t, p, y: t.nn.functional.binary_cross_entropy_with_logits(p, y),
    ),
    "kldivergence": (
        fl.kldivergence, PROBABLE, TARGETS,
        lambda t, p, y: t.nn.functional.kl_div(t.log(p), y, reduction="batchmean"),
    ),
    "focal_loss": (
        fl.focal_loss, PROBABLE, TARGETS, lambda t, p, y: (-y * (1 - p) ** 2 * t.log(p)).sum(-1).mean(),
    ),
    "binary_focal_loss": (
        fl.binary_focal_loss, CHANCES, YES,
        lambda t, p, y: (-((1 - (y * p + (1 - y) * (1 - p))) ** 2) * t.log(y * p + (1 - y) * (1 - p))).mean(),
    ),
    "dice_coeff_loss": (
        fl.dice_coeff_loss, CHANCES, YES,
        lambda t, p, y: 1 - (2 * (p * y).sum() + 1) / ((p * p).sum() + (y * y).sum() + 1),
    ),
    "tversky_loss": (
        fl.tversky_loss, CHANCES, YES,
        lambda t, p, y: 1 - ((p * y).sum() + 1) / ((p * y + 0.7 * (1 - y) * p + 0.3 * y * (1 - p)).sum() + 1),
    ),
}  # fmt: skip
each_loss = pytest.mark.parametrize("name", TABLE)
CLASSES = [(fl.logitcrossentropy, SCORES), (fl.crossentropy, PROBABLE)]
of_classes = pytest.mark.parametrize(("loss", "prediction"), CLASSES, ids=["logitcrossentropy", "crossentropy"])
as_numbers_and_rows = pytest.mark.parametrize("rows", [False, True], ids=["numbers", "rows"])


def in_type(target, dtype):
    return target.astype(dtype) if target.dtype.kind == "f" else target


@each_loss
def test_value_and_gradient_by_pytorch(name):
    torch = pytest.importorskip("torch")
    loss, prediction, target, theirs = TABLE[name]
    value, (g,) = fl.withgradient(lambda p: loss(p, target), prediction)
    p = torch.tensor(prediction, requires_grad=True)
    expected = theirs(torch, p, torch.tensor(target))
    expected.backward()
    np.testing.assert_allclose(value, expected.item(), rtol=1e-10)
    np.testing.assert_allclose(g, p.grad.numpy(), rtol=1e-9, atol=1e-12)


@each_loss
def test_derivatives(name):
    loss, prediction, target, _ = TABLE[name]
    check_gradient(lambda p: loss(p, target), prediction)
    check_second(lambda p: loss(p, target), prediction)
    check_float32(lambda p: loss(p, in_type(target, p.dtype)), prediction)


@pytest.mark.parametrize("loss", [fl.mse, fl.crossentropy, fl.logitcrossentropy], ids=lambda f: f.__name__)
def test_derivatives_for_the_target_too(loss):
    prediction = PROBABLE if loss is fl.crossentropy else SCORES
    for p, target in [(np.asfortranarray(prediction), np.asfortranarray(ONE_HOT)), (prediction[0], TARGETS[0])]:
        check_gradient(loss, p, target)
        check_second(loss, p, target)
        check_float32(loss, p, target)
    check_gradient(lambda p: loss(p, ONE_HOT, agg=np.max), prediction)


@each_loss
@pytest.mark.on(*EVERYWHERE)
def test_every_device_gives_the_same(device, name):
    loss, prediction, target, _ = TABLE[name]
    p, y = device(prediction.astype(np.float32)), device(in_type(target, np.float32))
    with fl.receipt() as r:
        value, (g,) = fl.withgradient(lambda p: loss(p, y), p)
    assert r.device_to_host.count == 0 and fl.device_of(g) == device
    wanted, (wanted_g,) = fl.withgradient(lambda p: loss(p, target), prediction)
    assert float(fl.cpu(value)) == pytest.approx(float(wanted), rel=1e-4)
    np.testing.assert_allclose(fl.cpu(g), wanted_g, rtol=1e-3, atol=1e-5)


@each_loss
def test_an_axis_too_few_is_an_error(name):
    loss, prediction, target, _ = TABLE[name]
    with pytest.raises(ValueError, match="takes two of the same shape|numbers of classes"):
        loss(prediction, target[..., 0])


def test_values_by_hand():
    assert fl.mse(np.array([[1.0], [2.0]]), np.array([[1.0], [4.0]]), agg=np.sum) == 4
    assert fl.mse(3.0, 1.0) == 4 and fl.gradient(fl.mse, 3.0, 1.0) == (4.0, -4.0)
    assert fl.crossentropy(np.array([[0.25, 0.75]]), np.array([[1.0, 0.0]])) == pytest.approx(math.log(4))
    assert fl.crossentropy(np.array([0.0, 1.0]), np.array([1.0, 0.0]), eps=0.01) == pytest.approx(-math.log(0.01))
    assert fl.logitcrossentropy(SCORES, ONE_HOT) == pytest.approx(fl.crossentropy(PROBABLE, ONE_HOT))


with_agg = [name for name in TABLE if "agg" in inspect.signature(TABLE[name][0]).parameters]


@pytest.mark.parametrize("name", with_agg)
def test_agg_gets_each_loss_once(name):
    """A median, a maximum or a root mean square of parts isn't that of their sums."""
    loss, prediction, target, _ = TABLE[name]
    each = loss(prediction, target, agg=lambda losses: losses)
    for agg in (np.max, np.median, lambda losses: np.sqrt(np.mean(losses**2))):
        assert loss(prediction, target, agg=agg) == pytest.approx(agg(each))


def test_equal_distributions_have_no_divergence():
    assert fl.kldivergence(PROBABLE, PROBABLE, agg=np.max) == pytest.approx(0, abs=1e-9)


# -- numbers of classes --------------------------------------------------------------------------------------


@of_classes
def test_numbers_of_classes_are_one_hot_rows(loss, prediction):
    wanted = loss(prediction, ONE_HOT)
    for dtype in (np.int32, np.uint8):
        assert loss(prediction, LABELS.astype(dtype)) == pytest.approx(wanted)
    assert loss(prediction.T, LABELS, axis=0) == pytest.approx(wanted)
    each = loss(prediction, LABELS, -1, lambda losses: losses)
    np.testing.assert_allclose(each, loss(prediction, ONE_HOT, -1, lambda losses: losses))
    for label in (2, np.int64(2), np.array(2)):
        assert loss(prediction[1], label) == pytest.approx(each[1])
    assert loss(np.stack([prediction, prediction[::-1]]), np.stack([LABELS, LABELS[::-1]])) == pytest.approx(wanted)
    check_second(lambda p: loss(p, 1), prediction[0])
    assert fl.logitcrossentropy(np.zeros((0, 3)), np.zeros(0, int), agg=np.sum) == 0
    for other in (fl.focal_loss, fl.kldivergence):
        assert other(PROBABLE, LABELS) == pytest.approx(other(PROBABLE, ONE_HOT))


@of_classes
def test_on_a_gpu_nothing_waits_for_values(simulated, loss, prediction):
    p, y, labels = simulated((prediction, ONE_HOT, LABELS))
    with fl.receipt() as r:
        loss(p, y)
        loss(p, labels)
        loss(p, y * 2)  # not seen there
    assert r.synchronizations == 0 and r.host_to_device.count == r.device_to_host.count == 0


# -- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [fl.mse, fl.crossentropy, fl.logitcrossentropy], ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    "got, wanted, hint",
    [
        ((4, 3), (4, 1), ""),
        ((4, 1), (4,), "; give the target an axis, y[:, None]"),
        ((4, 3), (4,), "; for classes, write one-hot rows"),
        ((4, 3), (), ""),
    ],
)
def test_shapes_that_would_only_broadcast(loss, got, wanted, hint):
    message = f"{loss.__name__}(prediction, target) takes two of the same shape, got {got} and {wanted}{hint}"
    prediction, target = np.ones(got), np.ones(wanted)
    for call in (loss, lambda p, y: fl.gradient(lambda p: loss(p, y), p)):
        with pytest.raises(ValueError) as error:
            call(prediction, target)
        assert str(error.value) == message


ROW, SCORE = np.array([[1.0, 0.0, 0.0]]), np.array([[2.0, -1.0, 0.0]])
REFUSED = [
    (fl.logitcrossentropy, SCORES, np.array([0, 2, 1, 3]), "numbers of 3 classes are 0 to 2, got 3"),
    (fl.crossentropy, PROBABLE, np.array([0, 2, -1, 2]), "numbers of 3 classes are 0 to 2, got -1"),
    (fl.logitcrossentropy, SCORES[0], 3, "numbers of 3 classes"),
    (fl.logitcrossentropy, SCORES, np.array([0, 2]), r"axes, \(4,\), got \(2,\)"),
    (fl.crossentropy, PROBABLE, LABELS[:, None], r"two of the same shape, .* \(4, 1\)"),
    (fl.logitcrossentropy, SCORES, 0.5, r"got \(4, 3\) and 0.5"),
    (fl.logitcrossentropy, SCORES, LABELS == 1, r"for classes, write one-hot rows"),
    (fl.logitcrossentropy, SCORES, [0, 2, 1, 2], r"got \(4, 3\) and a list"),
    # What swapped arguments look like outside a gradient.
    (fl.logitcrossentropy, ROW, SCORE, r"target holds prob.* got -1\. .* first: logitcrossentropy\(model\(x\), y\)"),
    (fl.logitcrossentropy, ROW, abs(SCORE), r"sum 1 along axis -1; got a sum of 3\. The prediction comes first"),
    (fl.crossentropy, PROBABLE, np.zeros((4, 3)), "sum 1 along axis -1; got a sum of 0"),
    (fl.crossentropy, PROBABLE, np.full((4, 3), np.inf), "sum 1 along axis -1; got a sum of"),
    (lambda p, y: fl.crossentropy(p, y, 0), PROBABLE[:3], np.eye(3)[[0, 0, 1]], "sum 1 along axis 0"),
    (fl.crossentropy, np.array([[-0.5, 0.5]]), np.array([[1.0, 0]]), "from 0 to 1, .* got -0.5. .*logitcrossentropy"),
    (fl.crossentropy, np.array([[0.5, 3.0]]), np.array([[1.0, 0.0]]), "the prediction holds probabilities.* got 3"),
    (fl.kldivergence, SCORES, PROBABLE, "the prediction holds probabilities"),
    (fl.logitbinarycrossentropy, SCORES, np.ones(1), "two of the same shape"),
    (lambda p, y: fl.label_smoothing(p, 0), SCORES, None, "alpha"),
    (lambda p, y: fl.label_smoothing(p, 1), SCORES, None, "alpha"),
]  # fmt: skip


@pytest.mark.parametrize("loss, prediction, target, words", REFUSED)
def test_what_can_be_checked_is(loss, prediction, target, words):
    for call in (loss, lambda p, y: fl.gradient(lambda p: np.sum(loss(p, y)), p)):
        with pytest.raises(ValueError, match=words):
            call(prediction, target)


# -- corners -----------------------------------------------------------------------------------------------------


def test_smoothed_targets():
    np.testing.assert_allclose(fl.label_smoothing(np.eye(4, dtype=np.float32), 0.2).sum(axis=-1), 1, rtol=1e-6)
    np.testing.assert_allclose(fl.label_smoothing(np.array([1.0, 0.0]), 0.2, axis=None), [0.9, 0.1])


def test_no_log_is_of_zero():
    sure, wrong = np.array([[1.0, 0.0]], np.float32), np.array([[0.0, 1.0]], np.float32)
    for loss in (fl.binarycrossentropy, fl.kldivergence, fl.focal_loss, fl.binary_focal_loss):
        value, (g,) = fl.withgradient(lambda p, loss=loss: loss(p, wrong), sure)
        assert np.isfinite(value) and np.isfinite(g).all(), loss.__name__
    assert fl.kldivergence(sure, sure) == pytest.approx(0, abs=1e-6)
    assert fl.poisson_loss(np.zeros(2), np.zeros(2)) == 0 and fl.msle(np.zeros(2), np.zeros(2)) == 0
    score = np.array([1e4, -1e4], np.float32)
    value, (g,) = fl.withgradient(lambda s: fl.logitbinarycrossentropy(s, np.array([0, 1])), score)
    assert value == 1e4
    np.testing.assert_allclose(g, [0.5, -0.5])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@as_numbers_and_rows
def test_a_probability_of_0(dtype, rows):
    """Flux's eps: the loss is -log(eps) at most, its slope -1/eps."""
    eps, target = np.finfo(dtype).eps, np.eye(3, dtype=int)[:2] if rows else np.array([0, 1])
    p = np.array([[0, 0, 1], [0, 1, 0]], dtype)
    value, (g,) = fl.withgradient(lambda p: fl.crossentropy(p, target, agg=np.sum), p)
    assert value.dtype == g.dtype == dtype and value == pytest.approx(-math.log(eps), rel=2e-3)
    assert g[0].tolist() == [-1 / eps, 0, 0] and g[1, 1] == pytest.approx(-1, rel=2e-3) and not g[1, [0, 2]].any()


BETWEEN_0_AND_1 = ["crossentropy", "binarycrossentropy", "kldivergence", "focal_loss", "binary_focal_loss"]
EACH_LOSS = [
    "mae", "mse", "msle", "huber_loss", "poisson_loss", "hinge_loss", "squared_hinge_loss", "siamese_contrastive_loss",
    "dice_coeff_loss", "tversky_loss", "logitcrossentropy", "logitbinarycrossentropy", *BETWEEN_0_AND_1,
]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, bool])
@pytest.mark.parametrize("name", EACH_LOSS)
def test_whole_numbers_are_computed_with_as_floats(name, dtype):
    """In eight bits, 1 - 2 would be 255, and the square of 50 would be 196."""
    loss, largest = getattr(fl, name), 1 if name in BETWEEN_0_AND_1 or dtype is bool else 127
    prediction, target = np.array([[largest, 0], [1, largest - 1]], dtype), np.eye(2, dtype=dtype)[[0, 0]]
    wanted = loss(prediction.astype(float), target.astype(float))
    np.testing.assert_allclose(loss(prediction, target), wanted, rtol=1e-6)
    assert fl.mse(np.array([3], np.uint8), np.array([253], np.uint8)) == 62_500


@pytest.mark.parametrize("gamma", [0.5, 1.5, 2])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_what_is_certainly_right_has_no_focal_slope(dtype, gamma):
    """A root is infinitely steep at 0. Rounding may leave a probability above 1, whose root would be NaN."""
    for certain in (np.array([[1, 0]], dtype), np.array([[1.01, 0]], dtype)):
        loss, (g,) = fl.withgradient(lambda p: fl.focal_loss(p, np.array([0]), gamma=gamma), certain)
        assert abs(loss) < 1e-3 and np.max(np.abs(g)) < 0.03
    each = np.array([gamma, 2], dtype)  # `gamma` may be an array
    loss, (g,) = fl.withgradient(lambda p: fl.binary_focal_loss(p, p * 0 + 1, gamma=each), np.ones(2, dtype))
    assert abs(loss) < 1e-6 and np.max(np.abs(g)) < 0.03
    yes = np.array([1, 0, 0], dtype)
    loss, (g,) = fl.withgradient(lambda p: fl.binary_focal_loss(p, yes, gamma=gamma), np.array([1, 0, 0.25], dtype))
    slope = gamma * 0.25 ** (gamma - 1) * -math.log(0.75) + 0.25**gamma / 0.75
    np.testing.assert_allclose(loss, 0.25**gamma * -math.log(0.75) / 3, rtol=5e-3)
    np.testing.assert_allclose(g, [0, 0, slope / 3], rtol=5e-3)


@of_classes
@as_numbers_and_rows
def test_float16(loss, prediction, rows):
    target = ONE_HOT.astype(np.float16) if rows else LABELS
    value, (g,) = fl.withgradient(lambda p: loss(p, target), prediction.astype(np.float16))
    wanted, (wanted_g,) = fl.withgradient(lambda p: loss(p, target), prediction)
    assert value.dtype == g.dtype == np.float16
    np.testing.assert_allclose(value, wanted, rtol=5e-3)
    np.testing.assert_allclose(g, wanted_g, rtol=2e-2, atol=2e-3)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@as_numbers_and_rows
def test_large_scores(dtype, rows):
    scores = np.array([[1e4, -1e4, 0.0], [-1e4, 1e4, 1e4]], dtype)
    target = np.eye(3, dtype=int)[[1, 0]] if rows else np.array([1, 0])
    value, (g,) = fl.withgradient(lambda s: fl.logitcrossentropy(s, target), scores)
    assert value.dtype == g.dtype == dtype
    assert float(value) == pytest.approx(2e4 + math.log(2) / 2, rel=2 * float(np.finfo(dtype).eps))
    assert g.tolist() == [[0.5, -0.5, 0.0], [-0.5, 0.25, 0.25]]
