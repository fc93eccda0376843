"""`Embedding`: whole numbers, one-hot rows, and how the gradient of rows that occur often adds up."""

import numpy as np
import pytest
from gradcheck import check_gradient, check_second

import fluxlite as fl
from fluxlite import Embedding

RNG = np.random.default_rng(0)
W = RNG.normal(size=(5, 3))


def test_a_new_one():
    fl.seed(0)
    layer = Embedding(200, 300)
    assert layer.weight.shape == (200, 300) and layer.weight.dtype == np.float32
    assert abs(layer.weight.std() - 1) < 0.02 and abs(layer.weight.mean()) < 0.02
    assert Embedding(2, 3, init=lambda *shape: np.ones(shape)).weight.dtype == np.float32
    assert repr(layer) == "Embedding(200 => 300)      # 60,000 parameters" and Embedding.of(W).weight is W


@pytest.mark.parametrize("x", [[[0, 0], [4, 2], [1, 1]], [], 3, np.int64(3), np.array(3), (1, 2)])
def test_rows(x):
    y = Embedding.of(W)(np.array(x) if type(x) is list and x else x)
    np.testing.assert_array_equal(y, W[np.asarray(x, int)])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
@pytest.mark.on("CPU", "Metal")
def test_numbers_of_any_type_and_gradients(dtype, device):
    x, weights = np.array([[3, 0, 3], [3, 1, 4]], dtype), RNG.normal(size=(2, 3, 3)).astype(np.float32)
    layer = device(Embedding.of(W.astype(np.float32)))
    g = fl.gradient(lambda m: (m(device(x)) * device(weights)).sum(), layer)[0].weight
    wanted = np.zeros_like(W)
    np.add.at(wanted, x, weights)
    np.testing.assert_allclose(fl.cpu(g), wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(fl.cpu(layer([1, 2])), W[[1, 2]], rtol=1e-6)


def test_derivatives():
    x = np.array([[3, 0, 3], [3, 1, 4]])
    check_gradient(lambda w: Embedding.of(w)(x) ** 3, W, tolerance=1e-5)
    check_second(lambda w: Embedding.of(w)(x) ** 3, W, tolerance=1e-3)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, bool])
def test_one_hot_rows_are_the_same(dtype):
    x, layer = np.array([[3, 0], [4, 4]]), Embedding.of(W)
    rows = fl.onehotbatch(x, range(5)).astype(dtype)
    np.testing.assert_allclose(layer(rows), layer(x))
    np.testing.assert_allclose(
        fl.gradient(lambda m: (m(rows) ** 2).sum(), layer)[0].weight,
        fl.gradient(lambda m: (m(x) ** 2).sum(), layer)[0].weight,
    )


@pytest.mark.parametrize("x", [[5], [[0, -1]], -1, 7, np.array(5)])
def test_numbers_out_of_the_vocabulary(x):
    for run in (Embedding.of(W), lambda x: fl.gradient(lambda m: m(x).sum(), fl.Chain(Embedding.of(W)))):
        with pytest.raises(IndexError, match=r"Embedding\(5 => 3\) knows the numbers 0 to 4, got (5|7|-1)"):
            run(x)


@pytest.mark.parametrize("x", [np.ones(4), np.ones((5, 2), bool), np.ones(5, complex), "word", ["a"], None, True])
def test_wrong_inputs(x):
    with pytest.raises((ValueError, TypeError, IndexError), match=r"Embedding\(5 => 3\)"):
        Embedding.of(W)(x)


def test_class_numbers_as_floats_are_no_rows(capsys):
    """As a table's reader gives them."""
    for x in (np.array([1.0, 2.0]), np.ones((2, 3)), np.float64(1), np.ones(2, bool)):
        with pytest.raises(
            ValueError, match=r"takes whole numbers, or one-hot rows of shape \(…, 5\), got .*x\.astype\(int\)"
        ):
            Embedding.of(W)(x)
    fl.reset_notices()
    Embedding.of(W)(np.array([0.0, 1, 0, 0, 0]))
    assert not fl.notices()
    Embedding.of(W)(np.array([1.0, 4, 0, 2, 3]))
    assert "takes these 5 float64 numbers for one row" in fl.notices()[0]


def test_wrong_sizes():
    for sizes in ((-1, 2), (2.0, 2), (W, 3)):
        with pytest.raises((TypeError, ValueError), match=r"in Embedding\(vocabulary="):
            Embedding(*sizes)
    for weight in (W[0], [[1.0]]):
        with pytest.raises(ValueError, match=r"Embedding.of: weight has shape \(vocabulary, features\), got"):
            Embedding.of(weight)
    with pytest.raises(ValueError, match=r"init=…\): init\(2, 3\) gives an array .* of that shape, got"):
        Embedding(2, 3, init=lambda *shape: np.ones(shape[::-1]))


def test_a_tie_with_the_last_layer():
    layer, x = Embedding.of(W.copy()), np.array([1, 1])
    g = fl.gradient(lambda m: m(x).sum(), fl.Chain(layer, fl.Dense.of(layer.weight)))[0]
    np.testing.assert_allclose(g[0].weight, fl.gradient(lambda w: (w[x] @ w.T).sum(), W)[0])
