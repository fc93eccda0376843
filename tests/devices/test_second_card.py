"""On several cards, everything that fluxlite computes for the user runs on the card that holds the operands.

CuPy would compute on the current card. The simulation doesn't need it, so here a simulated card objects if it gets work
while another is the current one. The same on CuPy, with a rehearsed second card, is in `test_rehearsal.py`.
"""

import operator

import numpy as np
import pytest
from test_tensors import LAYERS

import fluxlite as fl
from fluxlite import arrays
from fluxlite.devices import events
from fluxlite.devices.base import entered
from fluxlite.simulated import SimulatedArray


@pytest.fixture
def second(monkeypatch):
    """The second of two simulated cards, while the first is the current one."""
    fl.simulate_gpu(2)
    fl.reset_notices()
    monkeypatch.setitem(arrays.enter_card, SimulatedArray, operator.attrgetter("device"))
    yield fl.cuda.devices()[1]


@pytest.fixture
def misplaced(second, monkeypatch):
    """What ran on the second card while it was not the current one, by name."""
    found = []

    def look(event):
        if event.kind == events.LAUNCH and event.device is second and entered("Simulated") is not second:
            found.append(event.name)

    monkeypatch.setattr(events, "listeners", events.listeners)
    events.listeners.append(look)
    yield found
    events.listeners.remove(look)


def operand(name, device):
    shape = LAYERS[name][1]
    x = np.zeros(shape, np.int64) if name == "Embedding" else np.linspace(-1, 1, np.prod(shape)).reshape(shape)
    return device(x.astype(x.dtype if name == "Embedding" else np.float32))


def test_what_is_elsewhere_is_found(second, misplaced):
    x = second(np.ones(2, np.float32))
    x + x
    assert misplaced == ["add"]
    with second:
        x + x
    assert misplaced == ["add"]


@pytest.mark.parametrize("name", sorted(LAYERS))
def test_a_layer_alone_computes_on_the_card_of_its_input(name, second, misplaced):
    layer, x = second(LAYERS[name][0]()), operand(name, second)
    expected = fl.cpu(layer)(fl.cpu(x))
    got = layer(x)
    assert misplaced == [] and entered("Simulated") is not second
    for one, other in zip(*[y if isinstance(y, tuple) else (y,) for y in (got, expected)]):
        np.testing.assert_allclose(fl.cpu(one), other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", sorted(set(LAYERS) - {"flatten"}))
def test_in_a_gradient_too(name, second, misplaced):
    layer, x = second(LAYERS[name][0]()), operand(name, second)

    def loss(layer):
        y = layer(x)
        return fl.mse(y[0], y[0]) if isinstance(y, tuple) else fl.mse(y, y)

    fl.gradient(loss, layer)
    assert misplaced == []


def test_layers_of_functions_compute_there(second, misplaced):
    x = second(np.ones((3, 2), np.float32))
    for layer in (
        fl.Parallel(np.add, np.tanh, np.square),
        fl.Parallel(np.add, np.tanh, np.square, np.negative),
        fl.SkipConnection(np.tanh, np.add),
        fl.PairwiseFusion(np.add, np.tanh, np.square),
        fl.Maxout(np.tanh, np.square),
        fl.Chain(np.tanh, np.square),
    ):
        layer(x)
    fl.Parallel(np.add, np.tanh, np.square)((x, x))
    assert misplaced == []


def test_lists_go_to_the_card_of_the_layer(second, misplaced):
    layer = second(fl.Embedding(4, 2))
    assert fl.device_of(layer([0, 3])) is second and misplaced == []


def test_what_surrounds_the_layers_computes_there(second, misplaced):
    scores, labels = second(np.eye(3, dtype=np.float32)), second(np.arange(3))
    assert fl.accuracy(scores, labels) == 1.0
    np.testing.assert_array_equal(fl.confusion_matrix(scores, labels), np.eye(3))
    fl.normalise(scores)
    fl.f16({"w": scores})
    fl.initialstates(second(fl.LSTMCell(2, 3)))
    np.testing.assert_array_equal(fl.cpu(fl.onehotbatch(labels, range(3))), np.eye(3))
    np.testing.assert_array_equal(fl.cpu(fl.onecold(scores, [5, 6, 7])), [5, 6, 7])
    fl.batch([scores, scores])
    for shuffle in (False, True):
        assert len(list(fl.DataLoader((scores, labels), batchsize=2, shuffle=shuffle))) == 2
    assert misplaced == []


def test_nothing_is_entered_with_one_card(monkeypatch):
    """An empty ``with`` costs 5 % of a small step: layers don't ask where the input is."""
    assert not arrays.enter_card

    def asked(x):
        raise AssertionError

    for module in ("layer", "dense"):
        monkeypatch.setattr(f"fluxlite.layers.{module}.on_card_of", asked)
    fl.Chain(fl.Dense(2, 2), fl.LayerNorm(2), fl.Parallel(np.add, np.tanh, np.tanh))(np.ones((3, 2), np.float32))
