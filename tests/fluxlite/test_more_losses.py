"""Flux's other losses: by PyTorch's functions or the formula, their derivatives, every device, and what they refuse."""

import numpy as np
import pytest
from gradcheck import check_float32, check_gradient, check_second
from kinds import EVERYWHERE

import fluxlite as fl

RNG = np.random.default_rng(1)
NUMBERS, OTHERS = RNG.normal(size=(4, 3)), RNG.normal(size=(4, 3)) * 2
COUNTS = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 1.0]])
RATES = RNG.uniform(0.5, 3, size=(2, 3))
CHANCES, YES = RNG.uniform(0.1, 0.9, size=(4, 3)), RNG.integers(0, 2, size=(4, 3)).astype(float)
SIGNS = np.where(RNG.normal(size=(4, 3)) > 0, 1.0, -1.0)
PROBABLE, TARGETS = fl.softmax(NUMBERS), fl.softmax(OTHERS)

# name: (the loss, prediction, target, the same by PyTorch's functions or its operators)
TABLE = {
    "mae": (fl.mae, NUMBERS, OTHERS, lambda t, p, y: t.nn.functional.l1_loss(p, y)),
    "msle": (fl.msle, RATES, COUNTS + 1, lambda t, p, y: ((t.log(p + E) - t.log(y + E)) ** 2).mean()),
    "huber_loss": (fl.huber_loss, NUMBERS, OTHERS, lambda t, p, y: t.nn.functional.huber_loss(p, y)),
    "huber_loss, delta": (
        lambda p, y: fl.huber_loss(p, y, delta=0.5), NUMBERS, OTHERS,
        lambda t, p, y: t.nn.functional.huber_loss(p, y, delta=0.5),
    ),
    "poisson_loss": (
        fl.poisson_loss, RATES, COUNTS,
        lambda t, p, y: t.nn.functional.poisson_nll_loss(p, y, log_input=False, eps=0),
    ),
    "hinge_loss": (fl.hinge_loss, NUMBERS, SIGNS, lambda t, p, y: t.relu(1 - p * y).mean()),
    "squared_hinge_loss": (fl.squared_hinge_loss, NUMBERS, SIGNS, lambda t, p, y: (t.relu(1 - p * y) ** 2).mean()),
    "siamese_contrastive_loss": (
        fl.siamese_contrastive_loss, RATES, (COUNTS > 0) * 1.0,
        lambda t, p, y: ((1 - y) * p**2 + y * t.relu(1 - p) ** 2).mean(),
    ),
    "binarycrossentropy": (
        fl.binarycrossentropy, CHANCES, YES, lambda t, p, y: t.nn.functional.binary_cross_entropy(p, y),
    ),
    "logitbinarycrossentropy": (
        fl.logitbinarycrossentropy, NUMBERS, YES,
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
E = float(np.finfo(float).eps)
each_loss = pytest.mark.parametrize("name", TABLE)


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
    check_float32(lambda p: loss(p, target.astype(p.dtype)), prediction)


@each_loss
@pytest.mark.on(*EVERYWHERE)
def test_every_device_gives_the_same(device, name):
    loss, prediction, target, _ = TABLE[name]
    p, y = device(prediction.astype(np.float32)), device(target.astype(np.float32))
    with fl.receipt() as r:
        value, (g,) = fl.withgradient(lambda p: loss(p, y), p)
    assert r.device_to_host.count == 0 and fl.device_of(g) == device
    wanted, (wanted_g,) = fl.withgradient(lambda p: loss(p, target), prediction)
    assert float(fl.cpu(value)) == pytest.approx(float(wanted), rel=1e-4)
    np.testing.assert_allclose(fl.cpu(g), wanted_g, rtol=1e-3, atol=1e-5)


@each_loss
def test_an_axis_too_few_is_an_error(name):
    loss, prediction, target, _ = TABLE[name]
    with pytest.raises(ValueError, match="takes two of the same shape|lies between|isn't negative|numbers of classes"):
        loss(prediction, target[:, 0])


@pytest.mark.parametrize("loss", [fl.binarycrossentropy, fl.logitbinarycrossentropy, fl.mse], ids=lambda f: f.__name__)
def test_yes_and_no_as_booleans_and_whole_numbers(loss):
    p = CHANCES.astype(np.float32)
    for target in (YES > 0, YES.astype(int), YES.astype(np.uint8)):
        value = loss(p, target)
        assert value.dtype == np.float32 and value == pytest.approx(loss(p, YES.astype(np.float32)))


BINARY = (
    fl.binarycrossentropy, fl.logitbinarycrossentropy, fl.binary_focal_loss, fl.dice_coeff_loss, fl.tversky_loss,
    fl.siamese_contrastive_loss,
)  # fmt: skip


@pytest.mark.parametrize("loss", BINARY, ids=lambda f: f.__name__)
@pytest.mark.parametrize("number", [0, 1, 0.9, True])
@pytest.mark.on(*EVERYWHERE)
def test_yes_or_no_for_all_as_a_plain_number(device, loss, number):
    p = device(CHANCES.astype(np.float32))
    value, (g,) = fl.withgradient(lambda p: loss(p, number), p)
    same, (same_g,) = fl.withgradient(lambda p: loss(p, np.full_like(p, number)), p)
    assert value.dtype == np.float32 and float(fl.cpu(value)) == pytest.approx(float(fl.cpu(same)), rel=1e-5)
    np.testing.assert_allclose(fl.cpu(g), fl.cpu(same_g), rtol=1e-4, atol=1e-6)


def test_another_number_for_all_is_an_error():
    with pytest.raises(ValueError, match="the target lies between 0 and 1; got 2"):
        fl.logitbinarycrossentropy(NUMBERS, 2.0)
    with pytest.raises(ValueError, match="two of the same shape"):
        fl.logitbinarycrossentropy(NUMBERS, np.ones(1))


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


def test_numbers_of_classes():
    labels = np.array([0, 2, 1, 2])
    for loss in (fl.focal_loss, fl.kldivergence):
        assert loss(PROBABLE, labels) == pytest.approx(loss(PROBABLE, np.eye(3)[labels]))


def test_smoothed_targets():
    np.testing.assert_allclose(fl.label_smoothing(np.eye(4, dtype=np.float32), 0.2).sum(axis=-1), 1, rtol=1e-6)
    np.testing.assert_allclose(fl.label_smoothing(np.array([1.0, 0.0]), 0.2, axis=None), [0.9, 0.1])
    for alpha in (0, 1, 1.5):
        with pytest.raises(ValueError, match="alpha"):
            fl.label_smoothing(np.eye(2), alpha)
    smoothed = fl.label_smoothing(np.eye(3)[[0, 1, 2, 0]], 0.1)
    assert fl.logitcrossentropy(NUMBERS, smoothed) > 0


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: fl.binarycrossentropy(NUMBERS * 9, YES), "the prediction lies between 0 and 1; got .*logitbinary"),
        (lambda: fl.binarycrossentropy(CHANCES, SIGNS), "the target lies between 0 and 1; got -1"),
        (lambda: fl.logitbinarycrossentropy(YES, NUMBERS), "the target lies between 0 and 1; .*prediction comes first"),
        (lambda: fl.hinge_loss(NUMBERS, YES), r"the target is -1 or 1; got 0\. 2 \* y - 1"),
        (lambda: fl.poisson_loss(-RATES, COUNTS), "the prediction isn't negative; got -"),
        (lambda: fl.msle(RATES, -COUNTS), "the target isn't negative; got -3"),
        (lambda: fl.huber_loss(NUMBERS, OTHERS, delta=-1), "delta is at least 0"),
        (lambda: fl.kldivergence(NUMBERS, PROBABLE), "the prediction holds probabilities"),
    ],
)
def test_what_can_be_checked_is(call, words):
    with pytest.raises(ValueError, match=words):
        call()
