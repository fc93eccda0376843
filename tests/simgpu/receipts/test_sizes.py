"""`outputsize`: shapes without values, and nothing of the user's changed."""

import numpy as np
import pytest
from inside import ShapeError
from peaks import peak_of

import fluxlite as fl
from fluxlite import outputsize


def lenet():
    return fl.Chain(
        fl.Conv((5, 5), 1, 6, fl.relu), fl.MaxPool((2, 2)), fl.Conv((5, 5), 6, 16, fl.relu), fl.MaxPool((2, 2)),
        lambda x: np.reshape(x, (len(x), 256)), fl.Dense(256, 120, fl.relu), fl.Dense(120, 10), fl.softmax,
    )  # fmt: skip


@pytest.mark.parametrize("n", [0, 7])
def test_the_shape_is_that_of_the_result(n):
    assert outputsize(lenet(), (n, 28, 28, 1)) == lenet()(np.ones((n, 28, 28, 1), np.float32)).shape == (n, 10)


@pytest.mark.parametrize("layer", [
    fl.Conv((3, 3), 4, 8, stride=2, pad=1, groups=2), fl.ConvTranspose((3, 2), 4, 6, stride=2, outpad=1),
    fl.MeanPool((3, 3), stride=2, pad=1), fl.AdaptiveMaxPool((2, 3)), fl.GlobalMaxPool(),
    fl.Upsample("bilinear", size=(9, 4)), fl.Dense(4, 2), np.tanh,
])  # fmt: skip
def test_of_every_layer(layer):
    assert outputsize(layer, (2, 9, 7, 4)) == layer(np.ones((2, 9, 7, 4), np.float32)).shape
    assert outputsize(layer, (9, 7, 4), padbatch=True) == layer(np.ones((1, 9, 7, 4), np.float32)).shape


def test_several_inputs_and_results():
    assert outputsize(lambda x, y: (x @ y, y), (2, 3), (3, 4)) == ((2, 4), (3, 4))
    assert outputsize(lambda x: x[np.array([0, 1])].T, [5, 3], dtype=np.float64) == (3, 2)


def test_errors_name_the_layer():
    with pytest.raises(ShapeError, match=r"^layers\[0\]: Conv\(\(5, 5\), 1 => 6\) takes pictures of shape"):
        outputsize(lenet(), (64, 1, 28, 28))
    with pytest.raises(TypeError, match=r"in outputsize\(model=a Chain, .*784"):
        outputsize(lenet(), 784)


def test_a_large_batch_takes_no_memory_for_its_values():
    model = fl.Chain(*[fl.Dense(64, 64, np.tanh) for _ in range(3)])
    found = []
    assert peak_of(lambda: found.append(outputsize(model, (10_000_000, 64)))) < 50e6, "2.4 GiB for each layer"
    assert found == [(10_000_000, 64)]


def test_nothing_of_yours_changes():
    model = lenet()
    before = model[0].weight.copy()
    with fl.simulate_gpu(), fl.receipt() as seen:
        moved, clock = fl.gpu(model), fl.clock()
        launches = seen.launches
        outputsize(moved, (3, 28, 28, 1))
        assert fl.clock() == clock and seen.launches == launches
    outputsize(model, (3, 28, 28, 1))
    assert fl.notices()[1:] == [] and (model[0].weight == before).all()
