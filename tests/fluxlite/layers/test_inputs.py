"""What a layer takes: floating-point inputs become its own type, which is said once; anything else raises."""

import math

import numpy as np
import pytest
from inside import InputError

import fluxlite as fl
from fluxlite import Chain, Dense

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4, 3))
INPUT = (
    "┌ Info: Dense(3 => 2) computes in float32 and converts its float64 input, at each call. "
    "x.astype(np.float32) does it once.\n"
    "└ Numbers such as np.sqrt(64) are float64 too, and make arrays float64; math.sqrt(64) doesn't."
)


def dense(dtype=np.float32, activation=np.tanh):
    rng = np.random.default_rng(1)
    return Dense.of(rng.normal(size=(2, 3)).astype(dtype), rng.normal(size=2).astype(dtype), activation)


# -- floating-point inputs ---------------------------------------------------------------------------------


@pytest.mark.parametrize("own", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("others", [np.float16, np.float32, np.float64])
def test_the_output_has_the_type_of_the_layer(own, others):
    layer, x = dense(own), X.astype(others)
    y = layer(x)
    assert y.dtype == own and (y == layer(x.astype(own))).all()
    g, gx = fl.gradient(lambda d, x: d(x).sum(), layer, x)
    assert g.weight.dtype == g.bias.dtype == own and gx.dtype == others
    assert len(fl.notices()) == (np.dtype(own) != others)


def test_it_is_said_once_with_the_types_and_what_to_do():
    model = Chain(dense(), Dense(2, 2))
    for _ in range(3):
        model(X)
    fl.gradient(lambda m: m(X).sum(), model)
    assert fl.notices() == [INPUT]
    model(X.astype(np.float16))
    dense(np.float64)(X.astype(np.float32))
    assert fl.notices()[1:] == [
        f"[ Info: Dense(3 => 2) computes in {own} and converts its {other} input, at each call. "
        f"x.astype(np.{own}) does it once."
        for own, other in (("float32", "float16"), ("float64", "float32"))
    ]


def test_between_layers_a_float64_number_no_longer_makes_all_that_follows_float64():
    scaled = Chain(dense(), lambda x: x / np.sqrt(64), Dense(2, 2))
    assert scaled(X.astype(np.float32)).dtype == np.float32 and "np.sqrt(64)" in fl.notices()[0]
    fl.reset_notices()
    fixed = Chain(dense(), lambda x: x / math.sqrt(64) * 2 + 1, Dense(2, 2))
    assert fixed(X.astype(np.float32)).dtype == np.float32 and fl.notices() == []


def test_python_numbers_and_lists_and_another_byte_order_have_no_type_of_their_own():
    layer, x = dense(), X.astype(np.float32)
    for given in ([1.0, 2.0, 3.0], [[1, 2, 3.5]], ((1, 2, 3), (True, False, True))):
        y = layer(given)
        assert y.dtype == np.float32 and (y == layer(np.array(given, np.float32))).all()
    assert (
        fl.gradient(lambda d: np.sum(d([1, 1, 1])), dense(activation=np.positive))[0].weight.tolist() == [[1] * 3] * 2
    )
    assert (layer(x.astype(">f4")) == layer(x)).all() and fl.notices() == []


def test_an_input_of_the_right_type_is_not_copied():
    seen = []

    class Watched(np.ndarray):
        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
            seen.append(inputs[0])
            return np.ones((4, 2), np.float32)

    x = X.astype(np.float32).view(Watched)
    dense()(x)
    assert seen[0] is x


def test_derivatives_through_the_conversion():
    """Float64's, but for float32's last digits: the first, with respect to all, and the second."""

    def slope(model, x):
        g, gx = fl.gradient(lambda d, x: np.sum(d(x) ** 3), model, x)
        return np.sum(gx**2) + np.sum(g.weight**2) + np.sum(g.bias**2)

    for loss in (lambda d, x: np.sum(d(x) ** 3), slope):
        got, gx = fl.gradient(loss, dense(), X)
        wanted, wanted_gx = fl.gradient(loss, dense(np.float64), X)
        assert gx.dtype == np.float64 and got.weight.dtype == np.float32
        for part, exact in ((gx, wanted_gx), (got.weight, wanted.weight), (got.bias, wanted.bias)):
            np.testing.assert_allclose(part, exact, rtol=1e-4, atol=1e-4 * abs(exact).max())


def test_on_a_gpu_it_costs_a_launch_and_one_more_on_the_way_back(simulated):
    layer = simulated(dense())

    def more(call):
        counts = []
        for x in (simulated(X.astype(np.float32)), simulated(X, dtype=None)):
            with fl.receipt() as r:
                call(x)
            counts.append(r.launches)
        return counts[1] - counts[0]

    assert more(layer) == 1
    assert more(lambda x: fl.gradient(lambda d, x: d(x).sum(), layer, x)) == 2
    assert more(lambda x: fl.gradient(lambda d: d(x).sum(), layer)) == 1


# -- anything else -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["uint8", "bool", "object", "m8[s]", "complex64"])
def test_what_is_no_floating_point_number_raises_with_the_fix(dtype):
    fix = "" if dtype == "complex64" else "; convert them: x.astype(np.float32)"  # which would lose a part
    x, model = np.ones((4, 3)).astype(dtype), Chain(Chain(dense()))
    name = np.dtype(dtype).name
    for call in (lambda: model(x), lambda: fl.gradient(lambda m: m(x).sum(), model)):
        with pytest.raises(InputError) as error:
            call()
        assert str(error.value) == f"layers[0].layers[0]: Dense(3 => 2) takes floating-point numbers, got {name}{fix}"
        assert isinstance(error.value, TypeError)
    with pytest.raises(InputError, match=r"x\.astype\(np\.float64\)"):
        dense(np.float64)(np.ones(3, int))


def test_a_layer_that_is_no_float_itself_takes_what_it_did():
    whole = Dense.of(np.array([[1, 2, 3]]))
    assert whole(np.ones(3, int)).tolist() == [6] and whole(np.full(3, 0.5)).tolist() == [3.0]
    assert Dense.of(np.array([[1j, 2, 3]]))(np.ones(3)).tolist() == [5 + 1j]


# -- parameters --------------------------------------------------------------------------------------------


def test_what_init_gives_in_float64_becomes_float32():
    layer = Dense(3, 2, init=lambda *shape: RNG.normal(size=shape))
    assert layer.weight.dtype == layer.bias.dtype == np.float32
    half = Dense(3, 2, init=lambda *shape: np.ones(shape, np.float16))
    assert half.weight.dtype == half.bias.dtype == np.float16


@pytest.mark.parametrize(
    ("init", "got"),
    [
        (lambda *shape: np.ones(shape, int), r"an array of int64, shape \(2, 3\)"),
        (lambda *shape: [[1.0]], "a list"),
        (lambda m, n: np.ones((n, m)), r"an array of float64, shape \(3, 2\)"),
    ],
)
def test_what_init_may_not_give(init, got):
    with pytest.raises(ValueError, match=rf"init\(2, 3\) gives an array of floating.* of that shape, got {got}"):
        Dense(3, 2, init=init)


def test_a_bias_of_another_type_becomes_that_of_the_weight():
    weight = np.ones((2, 3), np.float32)
    layer = Dense.of(weight, np.zeros(2))
    assert layer.weight is weight and layer.bias.dtype == np.float32 and layer(X.astype(np.float32)).dtype == np.float32


# -- targets -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [fl.mse, fl.crossentropy, fl.logitcrossentropy], ids=lambda f: f.__name__)
def test_a_float64_target_leaves_the_way_back_in_float32(loss):
    types = []

    @fl.primitive
    def watched(x):
        return x * 1

    fl.rule(watched, lambda g, out, x: types.append(g.dtype) or g)
    x, target = X.astype(np.float32), np.eye(2)[[0, 1, 1, 0]]
    value, _ = fl.withgradient(lambda d: loss(watched(fl.softmax(d(x))), target), dense())
    assert value.dtype == np.float32 and types == [np.float32]
    assert fl.notices() == [
        f"[ Info: {loss.__name__}: the target is float64 and becomes float32, as the prediction is, at each call. "
        "y.astype(np.float32) does it once."
    ]
    g = fl.gradient(lambda d, t: loss(fl.softmax(d(x)), t), dense(), target)[1]
    assert g.dtype == np.float64


def test_whole_numbers_and_narrow_types_as_targets():
    scores = np.array([1.0, 2.0], np.float32)
    for dtype in (int, bool, np.float16, np.int8):
        assert fl.mse(scores, np.array([1, 0], dtype)).dtype == np.float32
    assert fl.mse(np.array([1, 2]), np.array([1.5, 2])) == 0.125 and fl.notices() == []
