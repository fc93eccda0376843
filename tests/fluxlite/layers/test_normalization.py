"""LayerNorm, BatchNorm, InstanceNorm, GroupNorm: beside PyTorch's, their state, what they say to wrong inputs."""

import numpy as np
import pytest
from gradcheck import check_float32, check_gradient, check_second
from inside import Moments, ShapeError, standardized

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
    ("BatchNorm, plain", lambda: fl.BatchNorm(3, affine=False), lambda nn: nn.BatchNorm1d(3, affine=False), (5, 3),
     False),
    ("BatchNorm, no tracking", lambda: fl.BatchNorm(3, track_stats=False),
     lambda nn: nn.BatchNorm1d(3, track_running_stats=False), (5, 3), False),
    ("InstanceNorm", lambda: fl.InstanceNorm(3), lambda nn: nn.InstanceNorm2d(3), (2, 2, 3, 3), False),
    ("InstanceNorm, all", lambda: fl.InstanceNorm(3, affine=True, track_stats=True),
     lambda nn: nn.InstanceNorm2d(3, affine=True, track_running_stats=True), (3, 2, 2, 3), False),
    ("GroupNorm", lambda: fl.GroupNorm(6, 2), lambda nn: nn.GroupNorm(2, 6), (2, 2, 2, 6), False),
    ("GroupNorm, all groups", lambda: fl.GroupNorm(6, 6), lambda nn: nn.GroupNorm(6, 6), (2, 3, 6), False),
    ("GroupNorm, rows", lambda: fl.GroupNorm(6, 3), lambda nn: nn.GroupNorm(3, 6), (4, 6), False),
]  # fmt: skip
rows = pytest.mark.parametrize(("name", "make", "of_torch", "shape", "last"), TABLE, ids=[row[0] for row in TABLE])


FIELDS = {"scale": "weight", "bias": "bias", "mean": "running_mean", "var": "running_var"}


def to_torch(torch, ours, theirs):
    for name, other in FIELDS.items():
        if getattr(ours, name, None) is not None:
            with torch.no_grad():
                getattr(theirs, other).copy_(torch.tensor(getattr(ours, name)))
    return theirs


@rows
@pytest.mark.parametrize("training", [True, False])
def test_two_steps_beside_pytorch(name, make, of_torch, shape, last, training):
    """Values, gradients and, in the second step, parameters and running means are PyTorch's."""
    torch = pytest.importorskip("torch")
    ours = fl.trainmode(with_numbers(make()), training).model
    theirs = to_torch(torch, ours, of_torch(torch.nn).double()).train(training)
    weights, target = RNG.normal(size=shape), RNG.normal(size=shape)
    state, rule = fl.setup(fl.Descent(0.1), ours), torch.optim.SGD([*theirs.parameters(), torch.zeros(1)], lr=0.1)

    def there(x):
        return torch.tensor(x if last else np.moveaxis(x, -1, 1).copy())

    def back(x):
        return x.detach().numpy() if last else np.moveaxis(x.detach().numpy(), 1, -1)

    for _ in range(2):
        x = RNG.normal(2, 3, size=shape)
        y, (g, gx) = fl.withgradient(lambda m, x: ((m(x) - target) ** 2 * weights).sum(), ours, x)
        tx = there(x).requires_grad_()
        ty = ((theirs(tx) - there(target)) ** 2 * there(weights)).sum()
        rule.zero_grad()
        ty.backward()
        np.testing.assert_allclose(y, ty.item(), rtol=1e-9)
        np.testing.assert_allclose(gx, back(tx.grad), rtol=1e-7, atol=1e-9)
        if ours.scale is not None:
            fl.update(state, ours, g)
        rule.step()
    for field, other in FIELDS.items():
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


@pytest.mark.parametrize("shape, groups", [((1, 6, 4), 1), ((3, 1, 4), 2), ((3, 5, 4), 1), ((3, 5, 4), 4)])
def test_the_backward_pass_in_place_is_the_composed_one(shape, groups):
    x, weights = RNG.normal(size=shape), RNG.normal(size=shape)

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
    with fl.testmode(layer):
        fl.gradient(lambda m: m(x).sum(), layer)
    assert (layer.mean == 0).all() and (layer.var == 1).all()
    fl.gradient(lambda m: m(x).sum(), layer)
    np.testing.assert_allclose(layer.mean, 0.1 * x.mean(0), rtol=1e-6)
    np.testing.assert_allclose(layer.var, 0.9 + 0.1 * x.var(0, ddof=1), rtol=1e-6)
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


# -- types and shapes -----------------------------------------------------------------------------------------


@rows
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_numbers_become_0(name, make, of_torch, shape, last, dtype):
    """1/n is rounded. A mean that is a product with it differs from its equal numbers, and eps makes that large."""
    layer = fl.trainmode(make()).model
    layer = layer if dtype == np.float32 else fl.f64(layer)
    for number in (1000.0, 1000.1, 0.1, -3e7):
        x = np.full((7, *shape[1:]), number, dtype)
        assert not layer(x).any()
    for size in (3, 252, 1000):
        assert not fl.LayerNorm(size)(np.full((2, size), 1000.1, np.float32)).any()


def test_half_precision_does_not_overflow():
    x = np.array([[300, -300], [-300, 300]], np.float16)  # the square of 300 isn't a float16
    y = fl.LayerNorm(2, affine=False)(x)
    np.testing.assert_allclose(y, [[1, -1], [-1, 1]], atol=1e-3)


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
        (lambda: fl.BatchNorm(3), (2, 3, 8, 8), r"got \(2, 3, 8, 8\); the channels come last: np\.moveaxis\(x, 1, "),
        (lambda: fl.InstanceNorm(3), (5, 3), r"InstanceNorm\(3\) takes an input of shape \(N, …, 3\), got \(5, 3\)$"),
        (lambda: fl.LayerNorm(4, 3), (5, 3, 4), r"LayerNorm\(4, 3\) takes an input of shape \(…, 4, 3\), got"),
    ],
)
def test_wrong_shapes(make, shape, message):
    for run in (make(), lambda x: fl.gradient(lambda m: m(x).sum(), make())):
        with pytest.raises(ShapeError, match=message):
            run(np.ones(shape, np.float32))


def test_wrong_sizes():
    for wrong in (lambda: fl.BatchNorm(2.5), lambda: fl.LayerNorm((2, 3)), fl.LayerNorm, lambda: fl.BatchNorm(-1)):
        with pytest.raises((TypeError, ValueError), match=r"(in |takes.*: )(Batch|Layer)Norm\("):
            wrong()
    with pytest.raises(ValueError, match="groups divide the 6 channels, got 4"):
        fl.GroupNorm(6, 4)
    with pytest.raises(TypeError, match="activation is a function such as np.tanh, got 'relu'"):
        fl.BatchNorm(3, "relu")


@pytest.mark.parametrize(
    ("layer", "text"),
    [
        (fl.BatchNorm(64, fl.relu), "BatchNorm(64, relu)      # 128 parameters, plus 128 not trained"),
        (fl.InstanceNorm(3), "InstanceNorm(3, affine=False)"),
        (fl.LayerNorm(4, 3, np.tanh), "LayerNorm(4, 3, tanh)      # 24 parameters"),
        (fl.LayerNorm(4, affine=False), "LayerNorm(4, affine=False)"),
    ],
    ids=str,
)
def test_how_they_print(layer, text):
    assert repr(layer) == text


def test_the_activation_comes_last():
    x = RNG.normal(size=(4, 3)).astype(np.float32)
    for make in (fl.BatchNorm, fl.LayerNorm, lambda *args: fl.GroupNorm(3, 1, *args[1:])):
        np.testing.assert_allclose(make(3, np.tanh)(x), np.tanh(make(3)(x)))
