"""`Dense` and `Chain`: shapes, how they print, their gradients, and what they say to a wrong input."""

import functools

import numpy as np
import pytest
from gradcheck import check_gradient
from inside import InputError, ShapeError

import fluxlite as fl
from fluxlite import Chain, Dense, gradient

W, B = np.arange(6.0).reshape(2, 3), np.array([10.0, 20.0])


def layer(*args, **kwargs):
    return Dense(*args, rng=np.random.default_rng(0), **kwargs)


# -- Dense ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3,), (3, 3), (0, 3), (4, 5, 3), (2, 0, 5, 3)])
def test_the_last_axis_is_that_of_the_features(shape):
    """So a square batch is rows of observations: ``W @ x + b`` would be wrong without a word."""
    x = np.random.default_rng(0).normal(size=shape)
    y = Dense.of(W, B, np.tanh)(x)
    assert y.shape == (*shape[:-1], 2)
    for index in np.ndindex(shape[:-1]):
        np.testing.assert_allclose(y[index], np.tanh(W @ x[index] + B))
    g, gx = gradient(lambda d, x: d(x).sum(), Dense.of(W, B), x)
    np.testing.assert_allclose(g.weight, np.tile(x.reshape(-1, 3).sum(0), (2, 1)))
    np.testing.assert_allclose(g.bias, [x.size // 3] * 2)
    np.testing.assert_allclose(gx, np.broadcast_to(W.sum(0), shape))


def test_all_rows_are_multiplied_at_once():
    with fl.simulate_gpu(), fl.receipt() as receipt:
        fl.gpu(layer(3, 2))(fl.gpu(np.ones((4, 5, 3), np.float32)))
    assert receipt.launches == 2, "the product and the sum: a reshape launches nothing"


def test_fields_of_a_new_layer():
    new = layer(10, 5, np.tanh)
    assert new.weight.shape == (5, 10) and new.bias.shape == (5,) and new.activation is np.tanh
    assert new.weight.dtype == new.bias.dtype == np.float32 and not new.bias.any() and new.weight.any()
    assert (layer(10, 5).weight == new.weight).all(), "the generator decides"
    assert not (Dense(10, 5).weight == Dense(10, 5).weight).all()
    assert layer(3, 2, bias=False).bias is None
    assert gradient(lambda d: d(np.ones(3)).sum(), layer(3, 2, bias=False))[0].bias is None
    assert Dense(np.int64(3), np.int32(2)).weight.shape == (2, 3)
    for inputs, outputs in ((0, 0), (0, 3), (3, 0)):
        assert Dense(inputs, outputs)(np.ones((4, inputs), np.float32)).shape == (4, outputs)


def test_of_arrays():
    made = Dense.of(W, B, np.tanh)
    assert made.weight is W and made.bias is B and made.activation is np.tanh
    assert Dense.of(W).bias is None and Dense.of(W)(np.ones(3)).tolist() == [3, 12]
    for weight, bias, message in (
        (np.ones(3), None, r"weight has shape \(outputs, inputs\), got an array of float64, shape \(3,\)"),
        ([[1.0]], None, "got a list"),
        (W, np.ones(3), r"bias has shape \(2,\), got an array of float64, shape \(3,\)"),
        (W, False, "got False"),
    ):
        with pytest.raises(ValueError, match=message):
            Dense.of(weight, bias)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Dense(10, 5, np.tanh, bias=False), "Dense(10 => 5, tanh, bias=False)      # 50 parameters"),
        (lambda: Dense(3, 2, lambda x: x), "Dense(3 => 2, <lambda>)      # 8 parameters"),
        (lambda: fl.fmap(lambda x: None, Dense(3, 2)), "Dense(…)"),
    ],
)
def test_how_dense_prints(make, text):
    assert repr(make()) == text


@pytest.mark.parametrize("size", [-1, 2.5, "3", (2, 3), np.ones(2)])
def test_sizes_are_numbers_of_features(size):
    for what, sizes in (("inputs", (size, 2)), ("outputs", (2, size))):
        with pytest.raises((TypeError, ValueError), match=rf"in Dense\(.*{what}="):
            Dense(*sizes)


def test_what_dense_is_not_made_of():
    with pytest.raises(ValueError, match=r"in Dense\(inputs=3, outputs=2, bias=an array"):
        Dense(3, 2, bias=B)
    with pytest.raises(TypeError, match="activation is a function such as np.tanh, got 'relu'"):
        Dense(3, 2, "relu")


# -- Chain ------------------------------------------------------------------------------------------------


def test_layers_one_after_the_other():
    chain = Chain(Dense.of(W, B), np.tanh, lambda x: x * 2)
    np.testing.assert_array_equal(chain(np.ones(3)), np.tanh(W.sum(1) + B) * 2)
    assert Chain()(3) == 3


def test_a_chain_is_used_like_a_list():
    first, last = layer(3, 2), layer(2, 1)
    chain = Chain(first, np.tanh, last)
    assert chain[0] is first and chain[-1] is last and len(chain) == 3 and list(chain) == [first, np.tanh, last]
    assert type(chain[1:]) is Chain and list(chain[1:]) == [np.tanh, last] and len(chain[5:]) == 0
    assert chain[np.int64(2)] is last and chain.layers == (first, np.tanh, last)
    for wrong, error in ((3, IndexError), ("a", TypeError), (1.0, TypeError)):
        with pytest.raises(error):
            chain[wrong]
    encoder, decoder = layer(9, 3), layer(3, 9)
    chain = Chain(encoder=encoder, decoder=decoder)
    assert chain["encoder"] is encoder and chain[1] is decoder and chain[-1] is decoder and len(chain) == 2
    assert list(chain) == [encoder, decoder] and chain[:1].layers == {"encoder": encoder}
    assert [str(path) for path, _ in fl.trainables(chain)][0] == "layers['encoder'].weight"
    with pytest.raises(KeyError):
        chain["other"]
    with pytest.raises(TypeError, match="all have names, or none"):
        Chain(encoder, decoder=decoder)


def test_how_chains_print():
    tied = Dense(3, 3)
    inner = Chain(tied, Chain(np.tanh), Chain())
    chain = Chain(Dense(4, 3, np.tanh), lambda x: x, inner, tied, functools.partial(max))
    assert repr(chain).split("\n") == [
        "Chain(",
        "  Dense(4 => 3, tanh),                             # 15 parameters",
        "  <lambda>,",
        "  Chain(",
        "    Dense(3 => 3),                                 # 12 parameters",
        "    Chain(",
        "      tanh,",
        "    ),",
        "    Chain(),",
        "  ),",
        "  Dense(3 => 3),                                   # 12 parameters",
        "  functools.partial(<built-in function max>),",
        ")                                                  # 27 parameters in all",
    ]
    assert repr(Chain(a=tied)).split("\n")[1] == "  a=Dense(3 => 3),      # 12 parameters"


def test_what_is_no_layer_is_refused():
    for call, message in (
        (lambda: Chain([layer(3, 2)]), r"Chain's layers\[0\] is a function, got a list"),
        (lambda: Chain(layer(3, 2), 3), r"layers\[1\] is a function, got 3"),
        (lambda: Chain(first=None), r"layers\['first'\] is a function, got None"),
    ):
        with pytest.raises(TypeError, match=message):
            call()


# -- gradients --------------------------------------------------------------------------------------------


def test_gradients_through_both_against_finite_differences():
    rng = np.random.default_rng(0)

    def f(x, V, b, U):
        return Chain(Dense.of(V, b, np.tanh), Chain(Dense.of(U), np.sin))(x)

    check_gradient(f, *(rng.normal(size=shape) for shape in ((5, 3), (4, 3), 4, (2, 4))))


# -- errors of a wrong input -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.ones(4), r"takes an input of shape \(3,\) or \(N, 3\), got shape \(4,\)$"),
        (np.ones((2, 4)), r"got shape \(2, 4\)$"),
        (np.ones((3, 5)), r"got shape \(3, 5\); the observations are its rows: x\.T\?$"),
        (np.ones(()), r"got shape \(\)$"),
        (np.float64(1), r"got shape \(\)$"),
        (np.ones((2, 4, 5)), r"got shape \(2, 4, 5\)$"),
    ],
)
def test_an_input_of_another_width(x, message):
    """The same words inside a gradient."""
    d = Dense.of(W, B)
    for call in (lambda: d(x), lambda: gradient(lambda d: d(x).sum(), d)):
        with pytest.raises(ShapeError, match=r"^Dense\(3 => 2\) .*" + message) as error:
            call()
        assert isinstance(error.value, ValueError)


@pytest.mark.parametrize("x", [[1.0, 2.0], 3.0, None, {"x": 1}])
def test_an_input_that_is_no_array(x):
    with pytest.raises(InputError, match=r"^Dense\(3 => 2\) takes an array, got .*; np\.asarray"):
        Dense.of(W, B)(x)
    with pytest.raises(TypeError, match=r"^layers\[0\]: Dense"):
        Chain(Dense.of(W, B))(x)


def test_the_place_in_nested_chains_is_named():
    inner = Chain(np.tanh, Dense.of(W, B), Dense.of(W))
    outer = Chain(Dense.of(np.ones((3, 5))), Chain(inner))
    with pytest.raises(ShapeError) as error:
        outer(np.ones((4, 5)))
    assert str(error.value).startswith("layers[1].layers[0].layers[2]: Dense(3 => 2) takes an input of shape (3,)")
    named = Chain(first=np.tanh, second=Chain(Dense.of(W)))
    with pytest.raises(ShapeError, match=r"^layers\['second'\]\.layers\[0\]: Dense"):
        named(np.ones(4))


# -- subclasses -------------------------------------------------------------------------------------------


def test_a_subclass_of_a_layer_has_its_own_arrays_too():
    class Scaled(fl.Dense):
        def __init__(self):
            super().__init__(2, 3)
            self.scale = np.ones(3, np.float32)

    assert [str(path) for path, _ in fl.trainables(Scaled())] == ["weight", "bias", "scale"]
