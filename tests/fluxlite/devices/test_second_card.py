"""On several cards, everything that fluxlite computes for the user runs on the card that holds the operands.

Here it's on the second of two simulated cards while the first is the current one, so what's asked of the wrong card
raises (`test_current_card.py`), and what's made on the wrong one is found. The same on CuPy, with a rehearsed second
card, is in `test_rehearsal.py`.
"""

import copy
import inspect

import numpy as np
import pytest
from inside import arrays
from layer_table import LAYERS

import fluxlite as fl
from fluxlite.simulated import SimulatedArray


@pytest.fixture
def second():
    """The second of two simulated cards, while the first is the current one."""
    fl.simulate_gpu(2)
    fl.reset_notices()
    yield fl.cuda.devices()[1]
    assert fl.cuda.device() is fl.cuda.devices()[0]  # what was entered has been left


def operand(name, device):
    shape = LAYERS[name][1]
    x = np.linspace(-1, 1, np.prod(shape), dtype=np.float32).reshape(shape)
    return device(np.zeros(shape, np.int64) if name == "Embedding" else x)


def numbers(device, shape=(4, 3)):
    return device(np.linspace(-1, 1, np.prod(shape), dtype=np.float32).reshape(shape))


def all_on(device, found):
    """Raises if an array of `found` is on another device. There are some."""
    places = {fl.device_of(x) for x in fl.leaves(found) if hasattr(x, "dtype") and x.shape is not None}
    assert places - {fl.get_device("CPU")} == {device}


@pytest.mark.parametrize("name", sorted(LAYERS))
def test_a_layer_alone_computes_on_the_card_of_its_input(name, second):
    layer, x = second(LAYERS[name][0]()), operand(name, second)
    expected = fl.cpu(layer)(fl.cpu(x))
    got = layer(x)
    all_on(second, got)
    for one, other in zip(*[y if isinstance(y, tuple) else (y,) for y in (got, expected)]):
        np.testing.assert_allclose(fl.cpu(one), other, rtol=1e-4, atol=1e-5)


WITH_ARRAYS = sorted(
    name for name, (make, _) in LAYERS.items() if name != "flatten" and any(True for _ in fl.trainables(make()))
)


def loss_of(layer, x):
    """Computed with NumPy, as a user does."""
    y = layer(x)
    return np.mean((y[0] if isinstance(y, tuple) else y) ** 2)


@pytest.mark.parametrize("name", WITH_ARRAYS)
def test_a_step_of_training_too_whatever_the_loss_computes(name, second, tmp_path):
    """`gradient` enters the card of the first array that it's asked about, for all that `f` does."""
    fl.seed(1)
    layer, x = second(LAYERS[name][0]()), operand(name, second)
    fl.trainmode(layer)
    before, x_before = fl.cpu(copy.deepcopy(layer)), fl.cpu(x)
    (g,) = fl.gradient(lambda layer: loss_of(layer, x), layer)
    (expected,) = fl.gradient(lambda layer: loss_of(layer, x_before), before)
    for one, other in zip(fl.leaves(fl.cpu(g)), fl.leaves(expected), strict=True):
        if hasattr(other, "dtype"):
            np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)
    state = fl.setup(fl.Adam(0.1), layer)
    all_on(second, (fl.updated(state, layer, g), fl.update(state, layer, g)))
    implicit = fl.gradient(lambda: loss_of(layer, x), fl.params(layer))
    all_on(second, [implicit[array] for array in fl.params(layer) if implicit[array] is not None])
    vector, restructure = fl.destructure(layer)
    all_on(second, (vector, restructure(vector), copy.deepcopy(layer), fl.f64(fl.f16(layer))))
    fl.save(tmp_path / "layer.safetensors", layer)
    all_on(second, fl.load(tmp_path / "layer.safetensors", layer))
    all_on(second, fl.loadmodel(layer, fl.state(fl.f64(layer)), cast=True))
    assert repr(layer) and repr(fl.explain(layer))


def of_room(room):
    """The names of what fluxlite has there."""
    found = {name: getattr(fl, name) for name in fl.__all__}
    return sorted(name for name, x in found.items() if getattr(x, "__module__", "").startswith(f"fluxlite.{room}"))


NO_LOSS = {"label_smoothing", "normalise", "confusion_matrix", "accuracy"}


@pytest.mark.parametrize("name", sorted(set(of_room("losses")) - NO_LOSS))
def test_a_loss_and_its_gradient(name, second):
    prediction = second(fl.softmax(np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)))
    target = np.eye(3, dtype=np.float32)[[0, 2, 1, 2]]
    target = second(2 * target - 1 if "hinge" in name else target)
    loss = getattr(fl, name)
    assert float(loss(prediction, target)) == pytest.approx(loss(fl.cpu(prediction), fl.cpu(target)), rel=1e-4)
    all_on(second, fl.gradient(loss, prediction, target)[0])


@pytest.mark.parametrize("name", of_room("activations"))
def test_an_activation_alone(name, second):
    activation, x = getattr(fl, name), numbers(second)
    all_on(second, activation(x))
    all_on(second, fl.gradient(lambda x: np.sum(activation(x)), x))


@pytest.mark.parametrize("name", [name for name in of_room("optimizers") if inspect.isclass(getattr(fl, name))])
def test_an_optimizer(name, second):
    chain = fl.ClipNorm(1.0), fl.Adam()
    arguments = {"AccumGrad": (2,), "ClipGrad": (1.0,), "ClipNorm": (1.0,), "OptimiserChain": chain}
    model, x = second(fl.Chain(fl.Dense(3, 2), fl.BatchNorm(2))), numbers(second)
    state = fl.setup(getattr(fl, name)(*arguments.get(name, ())), model)
    for _ in range(3):
        (g,) = fl.gradient(lambda model: np.sum(model(x) ** 2), model)
        fl.update(state, model, g)
    all_on(second, (state, model))


def through_param(second):
    w, x = fl.param(numbers(second, (2, 3))), numbers(second)
    for _ in range(2):
        fl.back(fl.mse(fl.Dense.of(w)(x), second(np.ones((4, 2), np.float32))))
    return w.grad


def trained(second):
    fl.seed(1)
    model = second(fl.Chain(fl.Dense(3, 4, np.tanh), fl.Dropout(0.5), fl.Dense(4, 3)))
    data = fl.DataLoader((numbers(second), numbers(second)), batchsize=2, shuffle=True)
    state, schedule = fl.setup(fl.Adam(), model), fl.cosine(0.1, 4)
    fl.train(lambda m, x, y: np.mean((m(x) - y) ** 2), model, data, state, 2, check_every=2, schedule=schedule)
    return model, state


def fused(second):
    f, x = fl.cuda.fuse(lambda x: np.tanh(x) + 1), numbers(second)
    return f(x), fl.gradient(lambda x: np.sum(f(x)), x)


def tied(second):
    """Two pieces of a gradient that one parameter gets are added up."""
    w = numbers(second, (2, 2))
    model, g = [w, w], [second(np.ones((2, 2), np.float32))] * 2
    return fl.update(fl.setup(fl.Descent(), model), model, g)


USES = {
    "jacobian": lambda second: fl.jacobian(lambda x: np.tanh(x) * 2, numbers(second)),
    "hessian": lambda second: fl.hessian(lambda x: np.sum(np.tanh(x) ** 2), numbers(second)[0]),
    "more than a loss": lambda second: fl.withgradient(lambda x: (np.sum(x * x), x, x * 2), numbers(second)),
    "param and back": through_param, "train": trained, "fuse": fused, "ties": tied,
    "a function alone": lambda second: fl.Chain(np.tanh, np.square)(numbers(second)),
    "Parallel of functions": lambda second: fl.Parallel(np.add, np.tanh, np.square)((numbers(second),) * 2),
    "PairwiseFusion": lambda second: fl.PairwiseFusion(np.add, np.tanh, np.square)(numbers(second)),
    "SkipConnection": lambda second: fl.SkipConnection(np.tanh, np.add)(numbers(second)),
    "Maxout": lambda second: fl.Maxout(np.tanh, np.square)(numbers(second)),
    "a list for an Embedding": lambda second: second(fl.Embedding(4, 2))([0, 3]),
    "states": lambda second: fl.initialstates(second(fl.LSTMCell(2, 3))),
    "normalise": lambda second: fl.normalise(numbers(second)),
    "smoothed": lambda second: fl.label_smoothing(numbers(second), 0.1),
    "one-hot": lambda second: fl.onehotbatch(second(np.arange(3)), range(3)),
    "labels": lambda second: fl.onecold(numbers(second), [5, 6, 7]),
    "batch": lambda second: fl.batch([numbers(second)] * 2),
    "observations": lambda second: [fl.getobs(numbers(second), index) for index in (0, [0, 1], np.array([2]))],
    "a shuffled part": lambda second: fl.shuffleobs(numbers(second))[:2],
    "batches": lambda second: list(fl.DataLoader((numbers(second),), batchsize=3, shuffle=True)),
    "batches ahead": lambda second: list(fl.DataLoader((numbers(second),), batchsize=3, parallel=True)),
    "batches that move": lambda second: list(second(fl.DataLoader((np.ones((4, 3), np.float32),), batchsize=3))),
    "mapped": lambda second: list(fl.DataLoader(fl.mapobs(fl.relu, numbers(second)), batchsize=3)),
    "random numbers": lambda second: second.rng.standard_normal(3, dtype=np.float32),
    "scatter_add": lambda second: fl.scatter_add(numbers(second), second(np.array([0, 0])), numbers(second)[:2]),
}  # fmt: skip


@pytest.mark.parametrize("name", USES)
def test_what_surrounds_the_layers(name, second):
    all_on(second, USES[name](second))


def test_what_is_counted_there(second):
    scores, labels = second(np.eye(3, dtype=np.float32)), second(np.arange(3))
    assert fl.accuracy(scores, labels) == 1.0 and (fl.confusion_matrix(scores, labels) == np.eye(3)).all()


def test_a_training_goes_on_there(second, tmp_path):
    def run(epochs, **more):
        fl.seed(1)
        model = second(fl.Chain(fl.Dense(3, 2), fl.BatchNorm(2), fl.Dropout(0.5)))
        data = fl.DataLoader((numbers(second),), batchsize=2, shuffle=True)
        fl.train(lambda m, x: np.mean(m(x) ** 2), model, data, fl.setup(fl.Adam(), model), epochs=epochs, **more)
        return model

    run(1, checkpoint=tmp_path / "run")
    model = run(2, checkpoint=tmp_path / "run", resume=True)
    all_on(second, model)
    for one, other in zip(fl.trainables(fl.cpu(model)), fl.trainables(fl.cpu(run(2)))):
        np.testing.assert_allclose(one[1], other[1], rtol=1e-5)


def test_a_model_on_both_cards_keeps_each_part_where_it_is(second):
    """The user moves what goes from one to the other."""
    first = fl.cuda.devices()[0]
    model, x = [first(fl.Dense(3, 4)), second(fl.Dense(4, 2))], numbers(first)

    def loss(model):
        y = model[1](arrays.move(model[0](x), second))
        return fl.mse(y, second(np.zeros((4, 2), np.float32)))

    value, (g,) = fl.withgradient(loss, model)
    state = fl.setup(fl.Adam(), model)
    fl.update(state, model, g)
    assert fl.device_of(value) is second
    assert [fl.device_of(layer.weight) for layer in (*g, *model)] == [first, second] * 2


def test_nothing_is_entered_with_one_card(monkeypatch):
    """An empty ``with`` costs 5 % of a small step: layers don't ask where the input is."""
    monkeypatch.delitem(arrays.enter_card, SimulatedArray, raising=False)
    for module in ("layer", "dense"):
        monkeypatch.setattr(f"fluxlite.layers.{module}.on_card_of", lambda x: pytest.fail("asked"))
    fl.Chain(fl.Dense(2, 2), fl.LayerNorm(2), fl.Parallel(np.add, np.tanh, np.tanh))(np.ones((3, 2), np.float32))
