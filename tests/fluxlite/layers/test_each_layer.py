"""What holds for every layer: values, slopes, devices, types, files, and what is said of an input that isn't one."""

import inspect

import numpy as np
import pytest
from inside import DeviceError, InputError, ShapeError
from kinds import GPUS
from layer_table import FORMULAS, LAYERS

import fluxlite as fl

each = pytest.mark.parametrize("name", LAYERS)
WITH_ARRAYS = [name for name, (make, _) in LAYERS.items() if list(fl.trainables(make()))]
with_arrays = pytest.mark.parametrize("name", WITH_ARRAYS)


def made(name):
    """The layer, the same each time, in training only if it draws nothing; and an input."""
    fl.seed(5)
    make, shape = LAYERS[name]
    if name == "Embedding":
        return make(), np.array([3, 0, 3])
    return fl.trainmode(make(), name != "Dropout").model, np.random.default_rng(0).normal(size=shape).astype(np.float32)


def floats(tree):
    return [x for x in fl.leaves(tree) if isinstance(x, np.ndarray) and x.dtype.kind == "f"]


def size(y):
    return sum(np.sum(part**2) for part in fl.leaves(y))


def outputs(layer, x):
    """What comes out, the gradients, and what the layer has become."""
    gradients = fl.gradient(lambda m, x: size(m(x)), layer, x)
    return layer(x), gradients, layer


def test_every_layer_has_a_row():
    public = [name for name in fl.__all__ if inspect.isclass(getattr(fl, name))]
    layers = {name for name in public if issubclass(getattr(fl, name), fl.Layer)} - {"Layer"}
    missing = sorted(layers - {type(make()).__name__ for make, _ in LAYERS.values()})
    assert not missing, (
        f"{missing}: add a row for each to LAYERS of tests/helpers/layer_table.py, with how to make it and the shape "
        f'of an input, such as `"{missing[0]}": (lambda: fl.{missing[0]}(2), ROWS),`'
    )


@pytest.mark.parametrize("name", FORMULAS)
def test_what_comes_out_is_what_its_formula_says(name):
    layer, x = made(name)
    for some in (x, x[:1]):
        wanted = FORMULAS[name](layer, some)
        np.testing.assert_allclose(layer(some), wanted, rtol=1e-5, atol=1e-5)


def weighted(y):
    """A sum in which errors can't cancel: each number has a weight of its own."""
    weights = np.random.default_rng(7)
    return sum(np.sum(part * weights.uniform(0.5, 1.5, part.shape)) for part in fl.leaves(y))


@each
def test_its_slopes_are_those_of_finite_differences(name):
    """Along one direction, in which all parameters and the input change at once."""
    layer, x = made(name)
    layer = fl.fmap(lambda a: a.astype(np.float64) if isinstance(a, np.ndarray) and a.dtype.kind == "f" else a, layer)
    changed = [array for _, array in fl.trainables(layer)]
    if x.dtype.kind == "f":
        x = x.astype(np.float64)
        changed.append(x)
    directions = [np.random.default_rng(i).uniform(-1, 1, array.shape) for i, array in enumerate(changed)]
    gradients = floats(fl.gradient(lambda m, x: weighted(m(x)), layer, x))
    found = sum(np.sum(g * direction) for g, direction in zip(gradients, directions, strict=True))

    def loss_at(step):
        for array, direction in zip(changed, directions):
            array += step * direction
        loss = weighted(layer(x))
        for array, direction in zip(changed, directions):
            array -= step * direction
        return loss

    np.testing.assert_allclose(found, (loss_at(1e-6) - loss_at(-1e-6)) / 2e-6, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", [name for name in WITH_ARRAYS if name != "Embedding"])
def test_another_width_is_refused(name):
    """One that NumPy can't broadcast, and one that it would."""
    layer, x = made(name)
    for wrong in (np.repeat(x, 2, axis=-1), x[..., :1]):
        with pytest.raises(ValueError, match="takes|mismatch"):
            layer(wrong)


@each
@pytest.mark.on(*GPUS)
def test_a_gpu_computes_the_same_without_a_hidden_copy(device, name):
    layer, x = made(name)
    there, xs = device(layer), device(x)
    with fl.receipt() as r:
        found = outputs(there, xs)
    if device.backend != "Metal" or not name.startswith(("GlobalMaxPool", "Upsample")):  # MLX has no function for them
        assert r.host_to_device.count == r.device_to_host.count == r.synchronizations == 0
    assert fl.device_of(found[0]) == device
    for got, wanted in zip(floats(fl.cpu(found)), floats(outputs(layer, x)), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


@with_arrays
def test_a_layer_left_behind_is_named(name, simulated):
    layer, x = made(name)
    with pytest.raises(DeviceError, match=r"^layers\[0\]\..*(is on CPU, the input is on Simulated:0; move one)"):
        fl.Chain(layer)(simulated(x))
    with pytest.raises(DeviceError, match=r"is on Simulated:0, the input is on CPU"):
        fl.gradient(lambda m: size(m(x)), simulated(layer))


@each
@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_a_layer_computes_in_its_own_type(name, dtype):
    layer, x = made(name)
    wanted = outputs(layer, x)
    own = fl.fmap(lambda a: a.astype(dtype) if isinstance(a, np.ndarray) and a.dtype.kind == "f" else a, made(name)[0])
    found = outputs(own, x.astype(dtype) if x.dtype.kind == "f" else x)
    tolerance = 0.05 if dtype == np.float16 else 1e-4
    for got, exact in zip(floats(found), floats(wanted), strict=True):
        assert got.dtype == dtype
        np.testing.assert_allclose(got, exact, rtol=tolerance, atol=tolerance)


@each
def test_no_observations_and_one(name):
    layer, x = made(name)
    for n in (0, 1):
        fl.trainmode(layer, False if n == 1 else None)
        y, (_, gx), _ = outputs(layer, x[:n])
        assert {part.shape[0] for part in floats(y)} == {n} and (gx is None or gx.shape == x[:n].shape)
    assert all(np.isfinite(a).all() for a in floats(layer))


@with_arrays
def test_saving_and_loading(name, tmp_path):
    layer, x = made(name)
    other = fl.fmap(lambda a: a + 1 if isinstance(a, np.ndarray) else a, layer)
    fl.save(tmp_path / "model.safetensors", model=layer)
    fl.load(tmp_path / "model.safetensors", model=other)
    for got, wanted in zip(floats(outputs(other, x)), floats(outputs(layer, x)), strict=True):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("name", [name for name in WITH_ARRAYS if name not in ("Embedding", "SkipConnection")])
def test_what_is_no_floating_point_array(name):
    layer, x = made(name)
    with pytest.raises(InputError, match=r"takes floating-point numbers, got int64; convert them: x\.astype\(np\.fl"):
        layer(x.astype(np.int64))
    with pytest.raises((InputError, ShapeError), match="takes (an array|q of shape .*), got (str )?'x'"):
        layer("x")
    assert {y.dtype.name for y in floats(layer(x.astype(np.float64)))} == {"float32"}
    assert "converts its float64 input" in fl.notices()[0]
