"""LayerNorm, BatchNorm, InstanceNorm, GroupNorm: beside PyTorch's, their state, what they say to wrong inputs."""

import math

import numpy as np
import pytest
from gradcheck import check_float32, check_gradient, check_second
from inside import DeviceError, InputError, Moments, ShapeError, standardized
from kinds import DEVICE, GPUS

import fluxlite as fl

RNG = np.random.default_rng(0)


def with_numbers(layer, dtype=np.float64):
    """The layer with other numbers than ones and zeros, in another type."""
    rng = np.random.default_rng(1)
    for name in ("scale", "bias", "mean", "var"):
        if getattr(layer, name) is not None:
            setattr(layer, name, rng.uniform(0.5, 1.5, getattr(layer, name).shape).astype(dtype))
    return layer


# The layer, PyTorch's counterpart, and the shape of an input. PyTorch's channels come second, unless they come last.
TABLE = [
    ("LayerNorm", lambda: fl.LayerNorm(6), lambda nn: nn.LayerNorm(6), (4, 6), True),
    ("LayerNorm, sequences", lambda: fl.LayerNorm(6), lambda nn: nn.LayerNorm(6), (2, 3, 6), True),
    ("LayerNorm, two axes", lambda: fl.LayerNorm(3, 6), lambda nn: nn.LayerNorm((3, 6)), (2, 3, 6), True),
    ("LayerNorm, plain", lambda: fl.LayerNorm(6, affine=False, eps=0.1),
     lambda nn: nn.LayerNorm(6, elementwise_affine=False, eps=0.1), (4, 6), True),
    ("BatchNorm", lambda: fl.BatchNorm(3), lambda nn: nn.BatchNorm1d(3), (5, 3), False),
    ("BatchNorm, sequences", lambda: fl.BatchNorm(3, momentum=0.3), lambda nn: nn.BatchNorm1d(3, momentum=0.3),
     (5, 4, 3), False),
    ("BatchNorm, pictures", lambda: fl.BatchNorm(3, eps=0.01), lambda nn: nn.BatchNorm2d(3, eps=0.01), (2, 2, 3, 3),
     False),
    ("BatchNorm, plain", lambda: fl.BatchNorm(3, affine=False), lambda nn: nn.BatchNorm2d(3, affine=False),
     (2, 2, 3, 3), False),
    ("BatchNorm, no tracking", lambda: fl.BatchNorm(3, track_stats=False),
     lambda nn: nn.BatchNorm1d(3, track_running_stats=False), (5, 3), False),
    ("InstanceNorm", lambda: fl.InstanceNorm(3), lambda nn: nn.InstanceNorm2d(3), (2, 2, 3, 3), False),
    ("InstanceNorm, all", lambda: fl.InstanceNorm(3, affine=True, track_stats=True),
     lambda nn: nn.InstanceNorm2d(3, affine=True, track_running_stats=True), (3, 2, 2, 3), False),
    ("GroupNorm", lambda: fl.GroupNorm(6, 2), lambda nn: nn.GroupNorm(2, 6), (2, 2, 2, 6), False),
    ("GroupNorm, one group", lambda: fl.GroupNorm(6, 1), lambda nn: nn.GroupNorm(1, 6), (2, 3, 6), False),
    ("GroupNorm, all groups", lambda: fl.GroupNorm(6, 6), lambda nn: nn.GroupNorm(6, 6), (2, 3, 6), False),
    ("GroupNorm, rows", lambda: fl.GroupNorm(6, 3), lambda nn: nn.GroupNorm(3, 6), (4, 6), False),
]  # fmt: skip
rows = pytest.mark.parametrize(("name", "make", "of_torch", "shape", "last"), TABLE, ids=[row[0] for row in TABLE])


def to_torch(torch, ours, theirs):
    for name, other in (("scale", "weight"), ("bias", "bias"), ("mean", "running_mean"), ("var", "running_var")):
        if getattr(ours, name, None) is not None:
            with torch.no_grad():
                getattr(theirs, other).copy_(torch.tensor(getattr(ours, name)))
    return theirs


@rows
@pytest.mark.parametrize("training", [True, False])
def test_ten_steps_beside_pytorch(name, make, of_torch, shape, last, training):
    """Values, gradients and, for ten steps of Descent, parameters and running means are PyTorch's."""
    torch = pytest.importorskip("torch")
    ours = fl.trainmode(with_numbers(make()), training).model
    theirs = to_torch(torch, ours, of_torch(torch.nn).double()).train(training)
    weights, target = RNG.normal(size=shape), RNG.normal(size=shape)
    rate, state = 0.1, fl.setup(fl.Descent(0.1), ours)

    def there(x):
        return torch.tensor(x if last else np.moveaxis(x, -1, 1).copy())

    def back(x):
        return x.detach().numpy() if last else np.moveaxis(x.detach().numpy(), 1, -1)

    for _ in range(10):
        x = RNG.normal(2, 3, size=shape)
        y, (g, gx) = fl.withgradient(lambda m, x: ((m(x) - target) ** 2 * weights).sum(), ours, x)
        tx = there(x).requires_grad_()
        ty = ((theirs(tx) - there(target)) ** 2 * there(weights)).sum()
        theirs.zero_grad()
        ty.backward()
        np.testing.assert_allclose(y, ty.item(), rtol=1e-9)
        np.testing.assert_allclose(gx, back(tx.grad), rtol=1e-7, atol=1e-9)
        if ours.scale is not None:
            fl.update(state, ours, g)
        with torch.no_grad():
            for parameter in theirs.parameters():
                parameter -= rate * parameter.grad
    for field, other in (("scale", "weight"), ("bias", "bias"), ("mean", "running_mean"), ("var", "running_var")):
        if getattr(ours, field) is not None:
            np.testing.assert_allclose(getattr(ours, field), getattr(theirs, other).detach().numpy(), rtol=1e-7)


@rows
def test_derivatives(name, make, of_torch, shape, last):
    layer = fl.trainmode(with_numbers(make())).model
    x = RNG.normal(size=shape)

    def f(x, *arrays):
        with_arrays = object.__new__(type(layer))
        vars(with_arrays).update(vars(layer))
        if arrays:
            with_arrays.scale, with_arrays.bias = arrays
        return with_arrays(x)

    operands = (x, layer.scale, layer.bias) if layer.scale is not None else (x,)
    check_gradient(f, *operands, tolerance=1e-5)
    check_second(f, *operands, tolerance=1e-3)


@pytest.mark.parametrize("shape", [(1, 6, 4), (3, 1, 4), (3, 5, 4)])
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_the_way_back_in_place_is_the_composed_one(shape, groups):
    x, weights = RNG.normal(size=shape), RNG.normal(size=shape)
    if shape[1] * 4 // groups == 1:
        pytest.skip("of one number each")

    def f(x):
        return standardized(x, shape, groups, 0.01, Moments())

    def composed(x):  # the inner gradient's g and out are tracked by the outer one
        return fl.gradient(lambda x: (f(x) * weights).sum(), x)[0]

    found = []
    fl.gradient(lambda x: (found.append(composed(x).data), x.sum())[1], x)
    np.testing.assert_allclose(found[0], composed(x), atol=1e-12)
    check_gradient(f, x)
    check_second(f, x)
    check_float32(f, x)


# -- state --------------------------------------------------------------------------------------------------


def test_running_means_are_kept_in_training_only():
    layer, x = fl.BatchNorm(2), np.array([[1, 10], [3, 50]], np.float32)
    layer(x)
    fl.testmode(layer)
    fl.gradient(lambda m: m(x).sum(), layer)
    assert (layer.mean == 0).all() and (layer.var == 1).all()
    fl.testmode(layer, None)
    fl.gradient(lambda m: m(x).sum(), layer)
    np.testing.assert_allclose(layer.mean, 0.1 * x.mean(0), rtol=1e-6)
    np.testing.assert_allclose(layer.var, 0.9 + 0.1 * x.var(0, ddof=1), rtol=1e-6)
    assert layer.mean.dtype == layer.var.dtype == np.float32
    np.testing.assert_allclose(layer(x), (x - layer.mean) / np.sqrt(layer.var + 1e-5), rtol=1e-5)


def test_running_means_are_kept_once_for_each_call_however_nested():
    layer, x = fl.BatchNorm(2), RNG.normal(size=(8, 2)).astype(np.float32)

    def penalty(m):
        inner = fl.gradient(lambda m: (m(x) ** 3).sum(), m)[0]
        return (inner.scale**2).sum()

    fl.gradient(penalty, layer)
    np.testing.assert_allclose(layer.mean, 0.1 * x.mean(0), rtol=1e-5)
    assert type(layer.mean) is np.ndarray and layer.mean.flags.writeable
    fl.gradient(lambda: layer(x).sum(), fl.params(layer))
    np.testing.assert_allclose(layer.mean, 0.19 * x.mean(0), rtol=1e-5)
    shared = fl.Chain(layer, layer)
    fl.gradient(lambda m: m(x).sum(), shared)
    np.testing.assert_allclose(layer.mean, 0.9 * (0.9 * 0.19 + 0.1) * x.mean(0), rtol=1e-4)  # the second meets 0


@pytest.mark.parametrize("kind", ["CPU", *GPUS])
@pytest.mark.parametrize("make", [fl.BatchNorm, lambda n: fl.InstanceNorm(n, affine=True, track_stats=True)])
def test_a_model_outside_of_the_arguments_keeps_plain_means(kind, make):
    device = DEVICE[kind]()
    layer, other, x = device((make(2), make(2), RNG.normal(1, 2, size=(4, 3, 2)).astype(np.float32)))

    def inner(x):
        return fl.gradient(lambda x: (layer(x) ** 3).sum(), x)[0]

    fl.gradient(lambda x: (layer(x) ** 2).sum(), x)
    fl.gradient(lambda x: (inner(x) ** 2).sum(), x)  # as in a critic's penalty
    fl.gradient(lambda: (layer(x) ** 2).sum(), fl.params(layer))
    with pytest.raises(KeyError):
        fl.gradient(lambda x: {}[layer(x) is None], x)
    with fl.trainmode(other):
        for _ in range(4):
            other(x)
    for found, wanted in ((layer.mean, other.mean), (layer.var, other.var)):
        assert type(found) is type(x) and found.dtype == np.float32
        np.testing.assert_allclose(fl.cpu(found), fl.cpu(wanted), rtol=1e-5)
    assert kind != "CPU" or layer.mean.flags.writeable and layer.var.flags.writeable


def test_a_critic_from_outside_is_in_training_as_pytorchs():
    """A generator's step: the discriminator, which its loss closes over, takes mean and variance of the batch."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    generator, critic = fl.f64((fl.Dense(2, 3, np.tanh, rng=rng), fl.Chain(fl.BatchNorm(3), fl.Dense(3, 1, rng=rng))))
    z = rng.normal(size=(8, 2))
    loss, (g,) = fl.withgradient(lambda m: fl.logitbinarycrossentropy(critic(m(z)), 1), generator)

    nn = torch.nn
    theirs = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.BatchNorm1d(3), nn.Linear(3, 1)).double()
    with torch.no_grad():
        for linear, dense in ((theirs[0], generator), (theirs[3], critic[1])):
            linear.weight.copy_(torch.tensor(dense.weight))
            linear.bias.copy_(torch.tensor(dense.bias))
    wanted = nn.functional.binary_cross_entropy_with_logits(theirs(torch.tensor(z)), torch.ones(8, 1).double())
    wanted.backward()
    np.testing.assert_allclose(loss, wanted.item(), rtol=1e-9)
    np.testing.assert_allclose(g.weight, theirs[0].weight.grad, rtol=1e-7)
    np.testing.assert_allclose(g.bias, theirs[0].bias.grad, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(critic[0].mean, theirs[2].running_mean, rtol=1e-9)
    np.testing.assert_allclose(critic[0].var, theirs[2].running_var, rtol=1e-9)


def test_means_are_not_trained_and_are_saved(tmp_path):
    model = fl.Chain(fl.BatchNorm(2), fl.InstanceNorm(2, track_stats=True), fl.LayerNorm(2), fl.GroupNorm(2, 1))
    assert [str(path) for path, _ in fl.trainables(model)] == [
        f"layers[{i}].{name}" for i in (0, 2, 3) for name in ("scale", "bias")
    ]
    fl.gradient(lambda m: m(RNG.normal(size=(4, 3, 2)).astype(np.float32)).sum(), model)
    fl.save(tmp_path / "model.safetensors", model)
    other = fl.Chain(fl.BatchNorm(2), fl.InstanceNorm(2, track_stats=True), fl.LayerNorm(2), fl.GroupNorm(2, 1))
    fl.load(tmp_path / "model.safetensors", other)
    assert (other[0].mean == model[0].mean).all() and other[0].mean.any() and (other[1].var == model[1].var).all()
    assert other[0].active is None


# -- types and shapes -----------------------------------------------------------------------------------------


@rows
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_a_layer_computes_in_its_own_type(name, make, of_torch, shape, last, dtype):
    x = RNG.normal(3, 2, size=shape)
    exact = fl.trainmode(with_numbers(make())).model
    layer = fl.trainmode(with_numbers(make(), dtype)).model
    y = layer(x.astype(dtype))
    assert y.dtype == dtype
    np.testing.assert_allclose(y, exact(x), atol=0.02 if dtype == np.float16 else 1e-5)
    g, gx = fl.gradient(lambda m, x: (m(x) ** 2).sum(), layer, x.astype(dtype))
    assert gx.dtype == dtype and (g.scale is None or g.scale.dtype == dtype)
    assert layer.mean is None or layer.mean.dtype == dtype
    if layer.scale is not None:
        assert layer(x).dtype == dtype and "and converts its float64 input" in fl.notices()[0]


def test_half_precision_does_not_overflow():
    x = np.array([[300, -300], [-300, 300]], np.float16)  # the square of 300 is no Float16
    y = fl.LayerNorm(2, affine=False)(x)
    np.testing.assert_allclose(y, [[1, -1], [-1, 1]], atol=1e-3)


@pytest.mark.parametrize("mode", [True, False, None])
def test_no_observations_and_one(mode):
    for layer in (fl.BatchNorm(3), fl.LayerNorm(3), fl.GroupNorm(3, 1), fl.InstanceNorm(3, track_stats=True)):
        fl.trainmode(layer, mode)
        before = layer.mean
        y = layer(np.ones((0, 4, 3), np.float32))
        assert y.shape == (0, 4, 3) and (before is None or np.isfinite(layer.mean).all())
        if not (mode and type(layer) is fl.BatchNorm):
            assert np.isfinite(layer(np.ones((1, 4, 3), np.float32))).all()


def test_one_number_has_no_variance_in_training():
    layer = fl.BatchNorm(3)
    assert layer(np.ones((1, 3), np.float32)).shape == (1, 3)
    with pytest.raises(ShapeError, match=r"^layers\[0\]: BatchNorm\(3\) has one number for each channel, in x"):
        fl.gradient(lambda m: m(np.ones((1, 3), np.float32)).sum(), fl.Chain(layer))
    with pytest.raises(ShapeError, match="train with more observations at once"):
        fl.trainmode(fl.InstanceNorm(3, track_stats=True))(np.ones((5, 1, 3), np.float32))
    assert np.isfinite(layer.mean).all()


@pytest.mark.parametrize(
    ("make", "shape", "message"),
    [
        (lambda: fl.BatchNorm(3), (5, 4), r"BatchNorm\(3\) takes an input of shape \(N, …, 3\), got \(5, 4\)$"),
        (lambda: fl.BatchNorm(3), (3,), r"takes an input of shape \(N, …, 3\), got \(3,\)$"),
        (lambda: fl.BatchNorm(1), (5, 4), r"BatchNorm\(1\) takes an input of shape \(N, …, 1\), got \(5, 4\)$"),
        (lambda: fl.BatchNorm(3), (2, 3, 8, 8), r"got \(2, 3, 8, 8\); the channels come last: np\.moveaxis\(x, 1, "),
        (lambda: fl.GroupNorm(4, 2), (2, 4, 8), r"GroupNorm\(4, 2\) takes .* the channels come last"),
        (lambda: fl.InstanceNorm(3), (5, 3), r"InstanceNorm\(3\) takes an input of shape \(N, …, 3\), got \(5, 3\)$"),
        (lambda: fl.LayerNorm(4, 3), (5, 3, 4), r"LayerNorm\(4, 3\) takes an input of shape \(…, 4, 3\), got"),
        (lambda: fl.LayerNorm(4, 3), (3,), r"LayerNorm\(4, 3\) takes an input of shape \(…, 4, 3\), got \(3,\)"),
    ],
)
def test_wrong_shapes(make, shape, message):
    for run in (make(), lambda x: fl.gradient(lambda m: m(x).sum(), make())):
        with pytest.raises(ShapeError, match=message):
            run(np.ones(shape, np.float32))


def test_wrong_inputs():
    for layer in (fl.BatchNorm(2), fl.InstanceNorm(2), fl.LayerNorm(2), fl.GroupNorm(2, 1)):
        with pytest.raises(InputError, match="takes floating-point numbers, got int64"):
            layer(np.ones((3, 4, 2), np.int64))
        with pytest.raises(InputError, match="takes an array, got str 'x'"):
            layer("x")


def test_wrong_sizes():
    for wrong in (lambda: fl.BatchNorm(-1), lambda: fl.BatchNorm(2.5), lambda: fl.LayerNorm((2, 3)), fl.LayerNorm):
        with pytest.raises(TypeError, match=r"takes (a number of features|the size of the last axis)"):
            wrong()
    with pytest.raises(ValueError, match=r"groups divide the 6 channels, got 4"):
        fl.GroupNorm(6, 4)
    with pytest.raises(TypeError, match="activation is a function such as np.tanh, got 'relu'"):
        fl.BatchNorm(3, "relu")


@pytest.mark.parametrize(
    ("layer", "text"),
    [
        (fl.BatchNorm(64, fl.relu), "BatchNorm(64, relu)      # 128 parameters, plus 128 not trained"),
        (fl.InstanceNorm(3), "InstanceNorm(3, affine=False)      # 0 parameters"),
        (fl.GroupNorm(6, 2), "GroupNorm(6, 2)      # 12 parameters"),
        (fl.LayerNorm(4, 3, np.tanh), "LayerNorm(4, 3, tanh)      # 24 parameters"),
        (fl.LayerNorm(4, affine=False), "LayerNorm(4, affine=False)      # 0 parameters"),
    ],
    ids=str,
)
def test_how_they_print(layer, text):
    assert repr(layer) == text


def test_the_activation_comes_last():
    x = RNG.normal(size=(4, 3)).astype(np.float32)
    for make in (fl.BatchNorm, fl.LayerNorm, lambda *args: fl.GroupNorm(3, 1, *args[1:])):
        np.testing.assert_allclose(make(3, np.tanh)(x), np.tanh(make(3)(x)))


# -- devices ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gpu", GPUS)
@rows
def test_on_a_device(name, make, of_torch, shape, last, gpu):
    device, x = DEVICE[gpu](), RNG.normal(size=shape).astype(np.float32)
    layer = with_numbers(make(), np.float32)

    def run(layer, x):
        loss, (g, gx) = fl.withgradient(lambda m, x: (m(x) ** 3).sum(), layer, x)
        return loss, gx, g.scale, g.bias, layer.mean, layer.var, layer(x)

    there, xd = device(layer), device(x)
    with fl.receipt() as receipt:
        found = run(there, xd)
    assert receipt.host_to_device.count == receipt.device_to_host.count == 0
    for ours, wanted in zip(found, run(layer, x), strict=True):
        assert (ours is None) == (wanted is None)
        if wanted is not None:
            np.testing.assert_allclose(fl.cpu(ours), wanted, rtol=1e-4, atol=1e-4)


def test_a_layer_left_behind_is_named():
    with fl.simulate_gpu(count=2):
        x = fl.gpu(np.ones((3, 4, 2), np.float32))
        for layer in (fl.BatchNorm(2), fl.LayerNorm(2), fl.GroupNorm(2, 1)):
            with pytest.raises(DeviceError, match=r"^layers\[0\]\.scale is on CPU, the input is on Simulated:0"):
                fl.Chain(layer)(x)
        second = fl.get_device(fl.gpu_name(), 1)
        layer = second(fl.BatchNorm(2))
        fl.gradient(lambda m: m(second(x)).sum(), layer)
        assert fl.device_of(layer.mean) is second


def test_long_means_are_exact_enough():
    """A product with a row of 1/n is not summed in pairs, as np.mean is."""
    x = (RNG.normal(size=(200_000, 2)) + 10).astype(np.float32)
    layer = fl.trainmode(fl.BatchNorm(2, momentum=1.0)).model
    layer(x)
    np.testing.assert_allclose(layer.mean, x.astype(float).mean(0), rtol=1e-5)
    np.testing.assert_allclose(layer.var, x.astype(float).var(0, ddof=1), rtol=1e-4)
    assert math.isclose(float(fl.trainmode(layer)(x).std()), 1, rel_tol=1e-3)
