"""Tensors of PyTorch and JAX are refused by name everywhere; arrays go both ways by DLPack."""

import numpy as np
import pytest
from inside import library_of, refuse_tensor
from layer_table import LAYERS

import fluxlite as fl


def layer_names():
    found = {name: getattr(fl, name) for name in fl.__all__}
    return {name for name, x in found.items() if isinstance(x, type) and x.__module__.startswith("fluxlite.layers")}


def test_every_layer_is_tried():
    assert layer_names() - {"SamePad", "Layer"} <= set(LAYERS) and len(LAYERS) > 30


class ArrayImpl:
    """Looks like an array of JAX, which isn't installed here."""

    shape, dtype, ndim = (4, 2), np.dtype("float32"), 2


ArrayImpl.__module__ = "jaxlib._jax"


@pytest.mark.parametrize("name", LAYERS)
def test_a_tensor_of_JAX_is_refused_by_every_layer(name):
    layer = LAYERS[name][0]()
    words = r"takes (an array|arrays), got a jaxlib\.ArrayImpl; np\.asarray\(x\) makes an array"
    with pytest.raises(TypeError, match=words):
        layer(ArrayImpl())


@pytest.mark.parametrize("name", LAYERS)
def test_a_tensor_of_PyTorch_is_refused_by_every_layer(name):
    torch = pytest.importorskip("torch")
    make, shape = LAYERS[name]
    layer, x = make(), torch.zeros(shape, dtype=torch.int64 if name == "Embedding" else torch.float32)
    layer(np.from_dlpack(x))
    for call in (layer, lambda x: fl.gradient(lambda layer: layer(x), layer)):
        with pytest.raises(
            TypeError, match=r"takes (an array|arrays), got a torch\.Tensor; np\.from_dlpack\(x\.detach"
        ):
            call(x)


def test_tensors_are_recognized():
    others = np.ones(2), [1.0], 1.0, None, "torch", fl.Dense(1, 1)
    assert library_of(ArrayImpl) == "jaxlib" and not any(library_of(type(x)) for x in others)
    kind = type("Module", (), {})
    kind.__module__ = "torch.nn.modules"  # of PyTorch, but no tensor
    assert not library_of(kind)
    refuse_tensor("nothing", np.ones(2))


USES = {
    "gpu": lambda x: fl.gpu(x),
    "cpu, in a dict": lambda x: fl.cpu({"w": [x]}),
    "gradient": lambda x: fl.gradient(lambda w: 1.0, x),
    "gradient, in a model": lambda x: fl.gradient(lambda m: np.sum(m["w"]), {"w": np.ones(2), "v": x}),
    "computed with": lambda x: fl.gradient(lambda w: np.sum(w * x), np.ones(2)),
    "mse, prediction": lambda x: fl.mse(x, np.ones((4, 2))),
    "mse, target": lambda x: fl.mse(np.ones((4, 2)), x),
    "logitcrossentropy": lambda x: fl.logitcrossentropy(np.ones((4, 2)), x),
    "accuracy": lambda x: fl.accuracy(np.ones((4, 2)), x),
    "confusion_matrix": lambda x: fl.confusion_matrix(x, np.ones((4, 2))),
    "batch": lambda x: fl.batch([x, x]),
    "Dense.of": lambda x: fl.Dense.of(x),
    "RNNCell.of": lambda x: fl.RNNCell.of(np.ones((2, 2)), x),
    "RNNCell.of, Wi": lambda x: fl.RNNCell.of(x, np.ones((4, 4))),
    "Scale.of": lambda x: fl.Scale.of(x),
    "Embedding.of": lambda x: fl.Embedding.of(x),
    "save": lambda x: fl.save("never.safetensors", model={"w": x}),
    "state": lambda x: fl.state({"w": x}),
}


@pytest.mark.parametrize("use", USES)
def test_tensors_are_refused_wherever_arrays_are_taken(use):
    fl.reset_notices()
    for _ in range(2):  # not only the first time
        with pytest.raises((TypeError, ValueError), match=r"got a jaxlib\.ArrayImpl; np\.asarray\(x\) makes"):
            USES[use](ArrayImpl())


def test_tensors_of_PyTorch_are_refused_wherever_arrays_are_taken():
    torch = pytest.importorskip("torch")
    for use in USES.values():
        with pytest.raises((TypeError, ValueError), match=r"got a torch\.Tensor; np\.from_dlpack\(x\.detach"):
            use(torch.ones(4, 2))
    with pytest.raises(TypeError, match=r"a batch takes arrays, got a torch\.Tensor"):
        next(iter(fl.DataLoader((torch.ones(4, 2), np.ones(4)), batchsize=2)))


# -- DLPack --------------------------------------------------------------------------------------------------------


@pytest.mark.on("CPU", "Simulated", "CUDA")
def test_arrays_go_to_PyTorch(device):
    torch = pytest.importorskip("torch")
    if device.backend == "CUDA" and not torch.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")
    x = device(np.arange(6, dtype=np.float32).reshape(2, 3))
    there = torch.from_dlpack(fl.cpu(x) if device.backend == "Simulated" else x)
    assert there.tolist() == [[0, 1, 2], [3, 4, 5]] and there.dtype == torch.float32


@pytest.mark.on("Simulated")
def test_the_host_does_not_reach_a_simulated_array(device):
    x = device(np.ones(3, np.float32))
    for ask in (np.from_dlpack, lambda x: x.__dlpack__(stream=None)):
        with pytest.raises(BufferError, match=r"no other library can read Simulated:0.*cpu\(x\)"):
            ask(x)
    np.testing.assert_array_equal(np.from_dlpack(fl.cpu(x)), np.ones(3))


def test_a_model_made_of_tensors_trains_in_their_memory():
    torch = pytest.importorskip("torch")
    layer = torch.nn.Linear(3, 2)
    model = fl.Dense.of(*(np.from_dlpack(x.detach()) for x in (layer.weight, layer.bias)))
    before, x = model.weight.copy(), np.ones((4, 3), np.float32)
    fl.update(fl.setup(fl.Descent(0.1), model), model, fl.gradient(lambda m: np.sum(m(x)), model)[0])
    np.testing.assert_allclose(layer.weight.detach().numpy(), before - 0.1 * 4, rtol=1e-5)
