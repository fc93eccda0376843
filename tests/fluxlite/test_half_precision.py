"""Half precision: what's computed of float16 numbers is what float64 gives for them, rounded once.

A float16 is at most 65,504, at least 6e-8, and 2,048 + 1 is 2,048: so squares and sums inside a formula aren't float16.
"""

import inspect

import numpy as np
import pytest
from kinds import EVERYWHERE, GPUS
from layer_table import LAYERS
from optimizer_table import BEFORE_ANOTHER, OPTIMIZERS

import fluxlite as fl

HALF = np.float16
SIZES = [1e-7, 1e-4, 1, 300, 40_000]
MANY = 20_000  # rows: what's added up one by one in float16 stays at 2,048
NUMBERS = np.array([-300, -8.3, -4, -1, -0.3, -1e-4, 0, 1e-7, 1e-4, 0.02, 0.3, 0.999, 1, 4, 8.3, 300, 4e4], HALF)


def ulps(got, wanted):
    """How far off the worst number is, counted in steps from one float16 to the next; what isn't a float16 is inf."""
    with np.errstate(over="ignore"):
        rounded = np.asarray(wanted, np.float64).astype(HALF)
    got = np.asarray(got)
    assert got.dtype == HALF and got.shape == rounded.shape
    finite = np.isfinite(rounded)
    if not np.array_equal(np.isfinite(got), finite):
        return np.inf
    with np.errstate(over="ignore"):  # behind the largest
        step = np.spacing(np.abs(np.where(finite, rounded, 0))).astype(np.float64)
    return np.max(np.abs(np.where(finite, got - np.asarray(wanted, np.float64), 0)) / step, initial=0)


def of_the_largest(got, wanted):
    """`ulps`, but of the largest number: for sums in which most cancels out."""
    assert np.isfinite(got).all() and got.dtype == HALF
    largest = np.spacing(np.max(np.abs(wanted), initial=0).astype(HALF)).astype(np.float64)
    return np.max(np.abs(got - wanted), initial=0) / max(largest, 6e-8)


def exact(tree):
    """The same float16 numbers, in float64."""
    return fl.fmap(lambda x: x.astype(np.float64) if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x, tree)


def halves(tree):
    return fl.fmap(lambda x: x.astype(HALF) if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x, tree)


def floats(tree):
    return [x for x in fl.leaves(tree) if isinstance(x, np.ndarray) and x.dtype.kind == "f"]


def draw(size, n=4):
    return (np.random.default_rng(3).uniform(0.5, 1, n) * size).astype(HALF)


# -- losses ------------------------------------------------------------------------------------------------------------
OF_NUMBERS = [
    fl.mae, fl.mse, fl.msle, fl.huber_loss, fl.poisson_loss, fl.hinge_loss, fl.squared_hinge_loss,
    fl.siamese_contrastive_loss, fl.logitbinarycrossentropy, fl.dice_coeff_loss, fl.tversky_loss,
]  # fmt: skip
OF_ONE_PROBABILITY = [fl.binarycrossentropy, fl.binary_focal_loss]
OF_PROBABILITIES = [fl.crossentropy, fl.kldivergence, fl.focal_loss]
EPS = float(np.finfo(HALF).eps)  # what's added before a log is that of the prediction's type


def check_loss(loss, prediction, target, device):
    settings = {"eps": EPS} if "eps" in inspect.signature(loss).parameters else {}
    wanted, (slope,) = fl.withgradient(lambda x: loss(x, exact(target), **settings), exact(prediction))
    value, (g,) = fl.withgradient(lambda x: loss(x, device(target)), device(prediction))
    assert ulps(fl.cpu(value), wanted) <= 2, "value"
    assert ulps(fl.cpu(g), slope) <= 2, "gradient"


@pytest.mark.parametrize("loss", OF_NUMBERS, ids=lambda loss: loss.__name__)
@pytest.mark.on(*EVERYWHERE)
@pytest.mark.filterwarnings("ignore:overflow encountered in cast")  # where the right loss is too large
def test_losses_of_numbers(device, loss):
    for size in SIZES:
        for n in (4, MANY):
            prediction = draw(size, n)
            target = np.arange(n).astype(HALF) % 2
            for other in (target, np.zeros(n, HALF)):
                check_loss(loss, prediction, other, device)


@pytest.mark.parametrize("loss", OF_PROBABILITIES + OF_ONE_PROBABILITY, ids=lambda loss: loss.__name__)
@pytest.mark.parametrize("shape", [(3, 4), (2, MANY), (MANY, 2)], ids=str)
def test_losses_of_probabilities(loss, shape):
    p = fl.softmax(np.random.default_rng(3).normal(size=shape)).astype(HALF)
    labels = np.arange(shape[0]) % shape[1]
    if loss in OF_ONE_PROBABILITY:
        check_loss(loss, p[:, 0], (labels % 2).astype(HALF), lambda x: x)
    else:
        check_loss(loss, p, labels, lambda x: x)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.on(*EVERYWHERE)
@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_losses_of_scores(device, size):
    for shape in ((3, 4), (2, 70_000), (MANY, 2)):  # the sum of 70,000 ones isn't a float16
        scores = draw(size, shape) * np.where(np.arange(shape[1]) % 2, 1, -1).astype(HALF)
        labels = np.arange(shape[0]) % 2
        check_loss(fl.logitcrossentropy, scores, labels, device)
        assert ulps(fl.cpu(fl.softmax(device(scores))), fl.softmax(exact(scores))) <= 2
        assert ulps(fl.cpu(fl.logsoftmax(device(scores))), fl.logsoftmax(exact(scores))) <= 2


def test_an_agg_gets_numbers_that_are_not_rounded_yet():
    seen = []
    loss = fl.mse(np.array([300, 0, 0, 0], HALF), np.zeros(4, HALF), agg=lambda x: seen.append(x.dtype) or np.mean(x))
    assert seen == [np.float32] and loss == 22_500 and loss.dtype == HALF


# -- slopes ------------------------------------------------------------------------------------------------------------
CURVES = [
    fl.sigmoid, fl.tanh, fl.softsign, fl.softplus, fl.logsigmoid, fl.elu, fl.celu, fl.selu, fl.swish, fl.mish, fl.lisht,
    fl.tanhshrink, fl.logcosh, fl.relu, fl.leakyrelu, fl.hardsigmoid, fl.softshrink, np.tanh, np.arctan, np.arcsinh,
    np.expm1, np.square, np.cbrt, np.sinc,
]  # fmt: skip
TWO = {
    "x**2": lambda x: x**2, "x**3": lambda x: x**3, "x * x": lambda x: x * x, "1 / (x + 1.5)": lambda x: 1 / (x + 1.5),
    "hypot": lambda x: np.hypot(x, 2 * x / 4), "logaddexp": lambda x: np.logaddexp(x, 1),
}  # fmt: skip


@pytest.mark.parametrize("function", [*CURVES, *TWO.values()], ids=[f.__name__ for f in CURVES] + [*TWO])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # where a slope is infinite
def test_slopes(function):
    """For many of them, a small gradient from above makes a float16 of a slope that isn't one."""
    x = NUMBERS[np.isfinite(function(NUMBERS))]
    for g in (HALF(1), HALF(1e-3)):
        got, wanted = (
            fl.gradient(lambda x, g: np.sum(function(x) * g), *both)[0] for both in ((x, g), map(exact, (x, g)))
        )
        assert ulps(got, wanted) <= 3
    if function in CURVES[:17]:
        assert ulps(function(NUMBERS), function(exact(NUMBERS))) <= 2


def test_slopes_of_powers_that_vanish():
    """The power itself may be no float16 any more, and neither may x ** (y - 1)."""
    x, y, g = HALF(1e-4), HALF(2), HALF(3e4)
    got, wanted = (fl.gradient(lambda y, x, g: x**y * g, y, x, g)[0] for y, x, g in ((y, x, g), map(exact, (y, x, g))))
    assert ulps(got, wanted) <= 1
    x, y = HALF(1e-6), HALF(-1e-6)
    got, wanted = (fl.gradient(np.float_power, *both) for both in ((x, y), map(exact, (x, y))))
    assert ulps(got[0], wanted[0]) <= 1 and ulps(got[1], wanted[1]) <= 1


# -- sums of gradients -------------------------------------------------------------------------------------------------
ONES = np.ones((5000, 3), HALF)
SUMS = {
    "broadcast rows": (lambda w: ONES + w, 5000),
    "broadcast products": (lambda w: (ONES * HALF(1e-3)) * w, 5),
    "stretched": (lambda w: ONES.T + w[:, None], 5000),
    "small products": (lambda w: (ONES * HALF(1e-7)) / w, -5000 * float(HALF(1e-7))),
    "broadcast_to": (lambda w: np.broadcast_to(w, (5000, 3)), 5000),
    "repeat": (lambda w: np.repeat(w, 5000, 0), 5000),
    "chosen several times": (lambda w: w[np.zeros(5000, int)], [5000, 0, 0]),
    "take": (lambda w: np.take(w, np.zeros(5000, int)), [5000, 0, 0]),
    "slices": (lambda w: np.stack([w[:2]] * 4100), [4100, 4100, 0]),
    "used often": (lambda w: np.stack([w * 1.0 for _ in range(4100)]), 4100),
    "cumsum": (lambda w: np.cumsum(np.concatenate([w, ONES.ravel()])), [15003, 15002, 15001]),
    "einsum": (lambda w: np.einsum("ij,j->ij", ONES, w), 5000),
    "matmul": (lambda w: ONES @ w, 5000),
}


def check_sum(name, device):
    function, wanted = SUMS[name]
    (g,) = fl.gradient(lambda w: np.sum(function(w).astype(np.float32)), device(np.ones(3, HALF)))
    assert ulps(fl.cpu(g), np.broadcast_to(wanted, 3)) <= 2


@pytest.mark.parametrize("name", SUMS)
def test_gradients_are_added_up_in_full(name):
    check_sum(name, lambda x: x)


@pytest.mark.on(*GPUS)
def test_gradients_are_added_up_in_full_on_a_gpu(device):
    check_sum("chosen several times", device)
    check_sum("used often", device)


def test_statistics_neither_overflow_nor_vanish():
    x = np.array([300, -300, 300, -300], HALF)
    assert ulps(fl.normalise(x), x / 300.0) <= 1
    (g,) = fl.gradient(lambda x: np.sum(np.var(x * HALF(1e-3)) * HALF(4e4)), x)
    assert ulps(g, [6, -6, 6, -6]) <= 2
    many = (np.arange(70_000) % 2).astype(HALF)
    (g,) = fl.gradient(lambda x: np.std(x) * HALF(1e4), many)
    assert ulps(g, (exact(many) - 0.5) / 35_000 * 1e4) <= 1


# -- layers ------------------------------------------------------------------------------------------------------------
NOT_EXACT = {"Dropout", "flatten", "Maxout"}  # drawn, without numbers; and rounded numbers tie
LONG = {
    "Dense, wide": (lambda: fl.Dense(MANY, 2), (2, MANY)),
    "LayerNorm, wide": (lambda: fl.LayerNorm(MANY), (2, MANY)),
    "ConvTranspose, long": (lambda: fl.ConvTranspose((3000,), 1, 1), (1, 3000, 1)),
    "MaxPool, long": (lambda: fl.MaxPool((2500,), stride=1), (1, 6000, 1)),
    "MeanPool, long": (lambda: fl.MeanPool((2500,), stride=1), (1, 6000, 1)),
    "Upsample, long": (lambda: fl.Upsample("nearest", scale=5000), (1, 2, 1)),
    "RNN, long": (lambda: fl.RNN(2, 3), (1, 3000, 2)),
    "MultiHeadAttention, long": (lambda: fl.MultiHeadAttention(4, nheads=2), (1, 800, 4)),
    "Recurrence of softplus": (lambda: fl.Recurrence(fl.RNNCell(2, 3, fl.softplus)), (4, 20, 2)),
}


def check_layer(make, x, device, training=False):
    """The result, the gradients, and what the layer has become, beside the same in float64."""
    fl.seed(5)
    layer, x = halves(make()), halves(x)
    own, other = device(fl.trainmode(layer, training).model), fl.trainmode(exact(layer), training).model

    def outputs(layer, x):
        y = layer(x)
        y = y[0] if isinstance(y, tuple) else y
        weights = np.cos(np.arange(y.size)).reshape(y.shape).astype(HALF)
        weights = fl.device_of(y)(weights.astype(np.promote_types(y.dtype, np.float32)))
        return np.sum(y.astype(weights.dtype) * weights), y

    (_, y), g = fl.withgradient(outputs, own, device(x))
    (_, wanted), slopes = fl.withgradient(outputs, other, exact(x))
    for got, right in zip(floats(fl.cpu((y, g, own))), floats((wanted, slopes, other)), strict=True):
        # From layer to layer it's float16, of which attention's weights take differences.
        assert of_the_largest(got, right) <= (16 if isinstance(layer, fl.MultiHeadAttention) else 4)


def an_input(name, size=1.0, rows=None):
    shape = LAYERS[name][1] if rows is None else (rows, *LAYERS[name][1][1:])
    if name == "Embedding":
        return np.arange(shape[0]) % 2
    return np.random.default_rng(1).uniform(-1, 1, shape) * size + 0.5 * size


@pytest.mark.parametrize("name", [name for name in LAYERS if name not in NOT_EXACT])
@pytest.mark.on("CPU", "Simulated")
def test_layers(device, name):
    largest = 10_000 if name != "Conv, strided" else 1  # its tanh takes digits of a large number away
    for size in [size for size in (*SIZES, 10_000) if size <= largest]:
        check_layer(LAYERS[name][0], an_input(name, size), device, training="Norm" in name and size < 300)


@pytest.mark.parametrize("name", [name for name in LAYERS if name not in NOT_EXACT])
def test_layers_with_many_rows(name):
    check_layer(LAYERS[name][0], an_input(name, rows=MANY if len(LAYERS[name][1]) < 3 else 4100), lambda x: x)


@pytest.mark.parametrize("name", LONG)
def test_long_layers(name):
    make, shape = LONG[name]
    check_layer(make, np.random.default_rng(1).uniform(0, 1, shape), lambda x: x)


def test_scores_of_attention_and_means_may_be_large_inside():
    layer, x = fl.f16(fl.MultiHeadAttention(4, nheads=2)), halves(np.random.default_rng(1).normal(size=(1, 3, 4)) * 2e3)
    for got, wanted in zip(layer(x), exact(layer)(exact(x)), strict=True):
        assert of_the_largest(got, wanted) <= 2
    assert ulps(fl.MeanPool((2, 2))(np.full((1, 2, 2, 1), 40_000, HALF)), np.full((1, 1, 1, 1), 40_000)) == 0


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_a_running_variance_that_is_too_large_is_said():
    fl.reset_notices()
    layer, x = fl.f16(fl.BatchNorm(1)), np.array([[3000], [-3000]], HALF)
    fl.gradient(lambda m: np.sum(m(x)), layer)
    assert "a running variance of 1.8e+06 is too large for float16 and becomes inf" in fl.notices()[0]
    layer.var = np.full(1, 9e6, np.float32)
    assert ulps(fl.testmode(layer).model(x), [[1], [-1]]) <= 1


# -- optimizers --------------------------------------------------------------------------------------------------------
RULES = [*OPTIMIZERS, *[fl.OptimiserChain(rule, fl.Descent(1.0)) for rule in BEFORE_ANOTHER]]


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.on(*EVERYWHERE)
def test_steps_of_optimizers(device, rule):
    """A step is that of float32, rounded where it's written to the parameter."""
    for size in SIZES:
        g, start = draw(size, 50), np.full(50, 1e-4, HALF)
        w, like = device(start), start.astype(np.float32)
        state, its = fl.setup(rule, w), fl.setup(rule, like)
        for _ in range(3 if size < 10_000 else 1):
            like[...] = fl.cpu(w)  # each step begins at the same number
            fl.update(state, w, device(g))
            fl.update(its, like, g.astype(np.float32))
            assert ulps(fl.cpu(w), like) <= 1


@pytest.mark.parametrize("rule", [fl.Adam(), fl.RMSProp(centred=True), fl.RAdam(), fl.OAdam()], ids=str)
@pytest.mark.on("Simulated")
def test_a_step_is_one_launch_on_a_gpu_as_with_float32(device, rule):
    counts = []
    for dtype in (np.float32, HALF):
        w = device(np.ones(3, dtype))
        state = fl.setup(rule, w)
        with fl.receipt() as r:
            fl.update(state, w, device(np.ones(3, dtype)))
        counts.append(r.launches)
    assert counts == [1, 1]


@pytest.mark.parametrize("most", [1e-5, 1.0, 1e4])
@pytest.mark.on(*EVERYWHERE)
def test_the_norm_of_all_gradients(device, most):
    for size in SIZES:
        grads = {"a": draw(size, MANY), "b": draw(size, 3)}
        got, norm = fl.clip_grad_norm(device(grads), most)
        wanted, right = fl.clip_grad_norm(exact(grads), most)
        assert max(ulps(fl.cpu(got)[name], wanted[name]) for name in grads) <= 1
        np.testing.assert_allclose(float(norm), right, rtol=1e-5)


def test_a_state_of_float16_goes_on_in_float32(path):
    """As in a file of an older version, or converted by hand."""
    w = np.ones(3, HALF)
    old = fl.setup(fl.OptimiserChain(fl.ClipNorm(), fl.Adam()), w)
    old.memory["1"] = halves(old.memory["1"])
    fl.save(path, state=old)
    new = fl.setup(fl.OptimiserChain(fl.ClipNorm(), fl.Adam()), w)
    fl.load(path, state=new)
    for state in (old, new):
        x = w.copy()
        fl.update(state, x, np.full(3, 0.005, HALF))
        assert state.memory["1"]["square"].dtype == np.float32 and ulps(x, np.full(3, 0.999)) <= 1
