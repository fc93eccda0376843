"""SkipConnection, Parallel, PairwiseFusion, Maxout, Scale and flatten."""

import numpy as np
import pytest
from gradcheck import check_gradient, check_second
from inside import ShapeError

import fluxlite as fl
from fluxlite import Dense, Maxout, PairwiseFusion, Parallel, Scale, SkipConnection

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(4, 3)), RNG.normal(size=(4, 3))


def dense(i=0, inputs=3, outputs=3, activation=np.tanh):
    rng = np.random.default_rng(i)
    return Dense.of(rng.normal(size=(outputs, inputs)), rng.normal(size=outputs), activation)


A, B, C = dense(0), dense(1), dense(2)


def total(*parts):
    return sum(parts)


# What each computes, written by hand. The same table is differentiated and printed.
TABLE = [
    (SkipConnection(A, np.add), (X,), lambda x: A(x) + x, "SkipConnection(Dense(3 => 3, tanh), add)"),
    (SkipConnection(fl.Chain(A, B), np.subtract), (X,), lambda x: B(A(x)) - x,
     "SkipConnection(Chain(Dense(3 => 3, tanh), Dense(3 => 3, tanh)), subtract)"),
    (Parallel(np.multiply, A, B), (X,), lambda x: A(x) * B(x),
     "Parallel(multiply, Dense(3 => 3, tanh), Dense(3 => 3, tanh))"),
    (Parallel(np.multiply, A, B), (X, Y), lambda x, y: A(x) * B(y),
     "Parallel(multiply, Dense(3 => 3, tanh), Dense(3 => 3, tanh))"),
    (Parallel(np.add, A, B, C), (X,), lambda x: A(x) + B(x) + C(x), None),
    (Parallel(total, first=A, other=np.tanh), (X,), lambda x: A(x) + np.tanh(x),
     "Parallel(total, first=Dense(3 => 3, tanh), other=tanh)"),
    (PairwiseFusion(np.add, A, B, C), (X,), lambda x: (A(x), B(A(x) + x), C(B(A(x) + x) + x)), None),
    (PairwiseFusion(np.subtract, A, B), (X, Y), lambda x, y: (A(x), B(A(x) - y)),
     "PairwiseFusion(subtract, Dense(3 => 3, tanh), Dense(3 => 3, tanh))"),
    (Maxout(A, B, C), (X,), lambda x: np.maximum(np.maximum(A(x), B(x)), C(x)),
     "Maxout(Dense(3 => 3, tanh), Dense(3 => 3, tanh), Dense(3 => 3, tanh))"),
    (Scale.of(np.array([1.0, -2, 3]), np.ones(3), np.tanh), (X,), lambda x: np.tanh(x * [1.0, -2, 3] + 1),
     "Scale(3, tanh)"),
    (fl.flatten, (RNG.normal(size=(2, 3, 4)),), lambda x: x.reshape(2, 12), None),
]  # fmt: skip
rows = pytest.mark.parametrize(("layer", "inputs", "by_hand", "text"), TABLE)


def parts(y):
    return y if isinstance(y, tuple) else (y,)


@rows
def test_what_they_compute_and_print(layer, inputs, by_hand, text):
    wanted = parts(by_hand(*inputs))
    for found in (layer(*inputs), layer(inputs) if len(inputs) > 1 else layer(*inputs)):
        for got, exact in zip(parts(found), wanted, strict=True):
            np.testing.assert_allclose(got, exact)
    if text is not None:
        assert repr(layer).startswith(text + "      # ")
        assert f"  {text},  " in repr(fl.Chain(layer, layer))


@rows
def test_derivatives(layer, inputs, by_hand, text):
    check_gradient(layer, *inputs, tolerance=1e-5)
    check_second(layer, *inputs, tolerance=1e-3)


def test_maxouts_share_the_gradient_among_equal_ones_and_may_be_of_a_kind():
    twice = fl.gradient(lambda m: m(np.ones(2)).sum(), Maxout(Scale.of(np.ones(2)), Scale.of(np.ones(2))))[0]
    assert [layer.scale.tolist() for layer in twice.layers] == [[0.5, 0.5], [0.5, 0.5]]
    model = Maxout(lambda: Dense(3, 2), 3)
    assert len(model.layers) == 3 and (model.layers[0].weight != model.layers[1].weight).any()


def test_layers_by_name_and_by_number():
    model = Parallel(np.add, first=A, other=B)
    assert model["first"] is A and model[1] is B and Parallel(np.add, A, B)[-1] is B


def test_errors_name_the_place():
    for model, place in (
        (SkipConnection(fl.Chain(A, dense(0, 4, 3)), np.add), r"layers\.layers\[1\]"),
        (Parallel(np.add, A, fl.Chain(B, dense(0, 4, 3))), r"layers\[1\]\.layers\[1\]"),
        (Parallel(np.add, a=A, b=dense(0, 4, 3)), r"layers\['b'\]"),
        (PairwiseFusion(np.add, A, dense(0, 4, 3)), r"layers\[1\]"),
        (Maxout(A, dense(0, 4, 3)), r"layers\[1\]"),
    ):
        for run in (model, lambda x, model=model: fl.gradient(lambda m: m(x).sum(), model)):
            with pytest.raises(ShapeError, match=f"^{place}: Dense\\(4 => 3\\) takes an input of shape"):
                run(X)
    for wrong in (lambda: Parallel(np.add, A, B)(X, X, X), lambda: PairwiseFusion(np.add, A, B)((X,))):
        with pytest.raises(ShapeError, match=r"of 2 layers takes one input, or 2, got [13]"):
            wrong()


# -- Scale, flatten ---------------------------------------------------------------------------------------------


def test_a_new_scale():
    layer = Scale(3)
    assert layer.scale.dtype == np.float32 and (layer.scale == 1).all() and (layer.bias == 0).all()
    assert Scale(3, 4, np.tanh).scale.shape == (3, 4) and Scale(3, bias=False).bias is None
    assert repr(Scale(3, 4, bias=False)) == "Scale(3, 4, bias=False)      # 12 parameters"


def test_wrong_inputs_of_scale():
    for shape in ((4, 1), ()):
        with pytest.raises(ShapeError, match=r"Scale\(3\) takes an input of shape \(…, 3\), got"):
            Scale(3)(np.ones(shape, np.float32))
    with pytest.raises(TypeError, match=r"in Scale\(2.5\)"):
        Scale(2.5)
    for wrong in (lambda: Scale.of([1.0]), lambda: Scale.of(np.ones(2), np.ones(3))):
        with pytest.raises(ValueError, match=r"Scale\.of: \w+ has shape \(.*,\), got a"):
            wrong()


def test_flatten():
    for shape in ((5, 2, 3), (1, 2, 2, 3), (0, 4, 4), (5,), (5, 0)):
        assert fl.flatten(np.ones(shape)).shape == (shape[0], int(np.prod(shape[1:])))
    assert fl.Chain(fl.flatten, dense(0, 12, 3))(np.ones((2, 2, 2, 3))).shape == (2, 3)
    for wrong in ([1, 2], np.ones(())):
        with pytest.raises((AttributeError, IndexError), match=r"flatten\(x\) takes an array of shape \(N, …\), got"):
            fl.flatten(wrong)
