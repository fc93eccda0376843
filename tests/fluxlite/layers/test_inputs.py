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
    """float64's, but for float32's last digits: the first, with respect to all, and the second."""

    def slope(model, x):
        g, gx = fl.gradient(lambda d, x: np.sum(d(x) ** 3), model, x)
        return np.sum(gx**2) + np.sum(g.weight**2) + np.sum(g.bias**2)

    for loss in (lambda d, x: np.sum(d(x) ** 3), slope):
        got, gx = fl.gradient(loss, dense(), X)
        wanted, wanted_gx = fl.gradient(loss, dense(np.float64), X)
        assert gx.dtype == np.float64 and got.weight.dtype == np.float32
        for part, exact in ((gx, wanted_gx), (got.weight, wanted.weight), (got.bias, wanted.bias)):
            np.testing.assert_allclose(part, exact, rtol=1e-4, atol=1e-4 * abs(exact).max())


def test_on_a_gpu_it_costs_a_launch_and_one_more_in_the_backward_pass(simulated):
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
