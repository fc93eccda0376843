"""SkipConnection, Parallel, PairwiseFusion, Maxout, Scale and flatten."""

import numpy as np
import pytest
from gradcheck import check_gradient, check_second
from inside import ClosedError, DeviceError, InputError, ShapeError
from kinds import DEVICE, GPUS

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


# What each computes, written by hand. The same table is differentiated, moved to devices, and printed.
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
def test_what_they_compute(layer, inputs, by_hand, text):
    for got, wanted in zip(parts(layer(*inputs)), parts(by_hand(*inputs)), strict=True):
        np.testing.assert_allclose(got, wanted)
    if len(inputs) > 1:
        for got, wanted in zip(parts(layer(inputs)), parts(by_hand(*inputs)), strict=True):
            np.testing.assert_allclose(got, wanted)


@rows
def test_derivatives(layer, inputs, by_hand, text):
    check_gradient(layer, *inputs, tolerance=1e-5)
    check_second(layer, *inputs, tolerance=1e-3)


def test_the_gradient_of_a_layer_within():
    def by_hand(weight):
        a = Dense.of(weight, A.bias, np.tanh)
        return np.sum((a(X) + X) * np.maximum(a(X), B(X)) * A(a(X)))

    def loss(m):
        return np.sum(m["skip"](X) * m["maxout"](X) * A(m["skip"].layers(X)))

    model = {"skip": SkipConnection(A, np.add), "maxout": Maxout(A, B)}  # A is shared: its gradient is at the first
    found = fl.gradient(loss, model)[0]
    np.testing.assert_allclose(found["skip"].layers.weight, fl.gradient(by_hand, A.weight)[0])
    assert found["maxout"].layers[0] is None


@rows
@pytest.mark.parametrize("gpu", GPUS)
def test_on_a_device(layer, inputs, by_hand, text, gpu):
    device = DEVICE[gpu]()
    there, xs = device(layer), device(inputs)
    with fl.receipt() as receipt:
        found = parts(there(*xs))
        fl.gradient(lambda m, xs: sum((part**2).sum() for part in parts(m(*xs))), there, xs)
    assert receipt.host_to_device.count == receipt.device_to_host.count == 0
    for got, wanted in zip(found, parts(by_hand(*inputs)), strict=True):
        np.testing.assert_allclose(fl.cpu(got), wanted, rtol=1e-4, atol=1e-5)


@rows
def test_how_they_print(layer, inputs, by_hand, text):
    if text is not None:
        assert repr(layer).startswith(text + "      # ")
        assert f"  {text},  " in repr(fl.Chain(layer, layer))


def test_skip_connections_of_pytorch_take_ten_steps_alike():
    torch = pytest.importorskip("torch")
    model = SkipConnection(dense(5), np.add)
    linear = torch.nn.Linear(3, 3).double()
    with torch.no_grad():
        linear.weight.copy_(torch.tensor(model.layers.weight))
        linear.bias.copy_(torch.tensor(model.layers.bias))
    state, x = fl.setup(fl.Descent(0.1), model), torch.tensor(X)
    for _ in range(10):
        fl.update(state, model, fl.gradient(lambda m: (m(X) ** 2).mean(), model)[0])
        linear.zero_grad()
        ((torch.tanh(linear(x)) + x) ** 2).mean().backward()
        with torch.no_grad():
            for parameter in linear.parameters():
                parameter -= 0.1 * parameter.grad
    np.testing.assert_allclose(model.layers.weight, linear.weight.detach().numpy())


def test_equal_ones_of_a_maxout_share_the_gradient():
    assert fl.gradient(lambda x: Maxout(np.positive, np.positive)(x).sum(), np.ones(2))[0].tolist() == [1, 1]
    twice = fl.gradient(lambda m: m(np.ones(2)).sum(), Maxout(Scale.of(np.ones(2)), Scale.of(np.ones(2))))[0]
    assert [layer.scale.tolist() for layer in twice.layers] == [[0.5, 0.5], [0.5, 0.5]]


def test_maxout_of_a_kind():
    model = Maxout(lambda: Dense(3, 2), 3)
    assert len(model.layers) == 3 and (model.layers[0].weight != model.layers[1].weight).any()


def test_ties_survive():
    shared = dense(3)
    model = fl.Chain(SkipConnection(shared, np.add), Parallel(np.add, shared, np.tanh))
    assert len(list(fl.trainables(model))) == 2
    with fl.simulate_gpu():
        there = fl.gpu(model)
        assert there[0].layers is there[1][0]


def test_layers_by_name_and_by_number():
    model = Parallel(np.add, first=A, other=B)
    assert model["first"] is A and model[1] is B and Parallel(np.add, A, B)[-1] is B


def test_saving_and_loading(tmp_path):
    def make(i):
        pair, scale = Parallel(np.add, a=dense(i + 3), b=np.tanh), Scale.of(np.full(3, i + 1.0))
        return fl.Chain(SkipConnection(dense(i), np.add), Maxout(dense(i + 1), dense(i + 2)), scale, pair)

    model, other = make(0), make(10)
    fl.save(tmp_path / "m.safetensors", model)
    fl.load(tmp_path / "m.safetensors", other)
    np.testing.assert_array_equal(other(X), model(X))


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
        with fl.simulate_gpu(), pytest.raises(DeviceError, match="is on CPU, the input is on Simulated:0"):
            model(fl.gpu(X))
    for wrong in (lambda: Parallel(np.add, A, B)(X, X, X), lambda: PairwiseFusion(np.add, A, B)((X,))):
        with pytest.raises(ShapeError, match=r"of 2 layers takes one input, or 2, got [13]"):
            wrong()


def test_what_is_left_over_from_a_gradient_is_named():
    model, kept = SkipConnection(dense(1), np.add), []
    fl.gradient(lambda m: (kept.append(m.layers), m(X).sum())[1], model)
    with pytest.raises(ClosedError, match=r"^layers\.weight was computed inside a gradient call that has ended"):
        SkipConnection(kept[0], np.add)(X)


def test_what_cannot_be_called():
    for make in (lambda: SkipConnection(A, "+"), lambda: Parallel(3, A), lambda: SkipConnection(3, np.add), Maxout,
                 lambda: Maxout(A, "B"), lambda: Parallel(np.add), lambda: Parallel(np.add, A, b=B)):  # fmt: skip
        with pytest.raises(TypeError, match="a function such as np.add|cannot be called|at least one|all have names"):
            make()


# -- Scale, flatten ---------------------------------------------------------------------------------------------


def test_a_new_scale():
    layer = Scale(3)
    assert layer.scale.dtype == np.float32 and (layer.scale == 1).all() and (layer.bias == 0).all()
    assert Scale(3, 4, np.tanh).scale.shape == (3, 4) and Scale(3, bias=False).bias is None
    assert repr(Scale(3, 4, bias=False)) == "Scale(3, 4, bias=False)      # 12 parameters"
    assert layer(np.ones((0, 3), np.float32)).shape == (0, 3)
    assert layer(np.ones(3)).dtype == np.float32 and "Scale(3) computes in float32" in fl.notices()[0]


def test_wrong_inputs_of_scale():
    for shape in ((4, 2), (4, 1), (), (3, 3, 1)):
        with pytest.raises(ShapeError, match=r"Scale\(3\) takes an input of shape \(…, 3\), got"):
            Scale(3)(np.ones(shape, np.float32))
    for x, got in ((np.ones(3, int), "got int64"), ("x", "got str 'x'")):
        with pytest.raises(InputError, match=got):
            Scale(3)(x)
    with fl.simulate_gpu(), pytest.raises(DeviceError, match=r"^scale is on CPU"):
        Scale(3)(fl.gpu(np.ones(3, np.float32)))
    of_integers = np.ones(2, int)
    for wrong in (lambda: Scale(-1), lambda: Scale(2.5), Scale, lambda: Scale.of([1.0]), lambda: Scale.of(of_integers)):
        with pytest.raises(TypeError, match=r"\) takes a number of features|scale is an array of floating-point"):
            wrong()
    with pytest.raises(ValueError, match=r"bias has the shape of scale, \(2,\), got an array of shape \(3,\)"):
        Scale.of(np.ones(2), np.ones(3))


def test_flatten():
    for shape in ((5, 2, 3), (1, 2, 2, 3), (0, 4, 4), (5,), (5, 0)):
        assert fl.flatten(np.ones(shape)).shape == (shape[0], int(np.prod(shape[1:])))
    assert fl.Chain(fl.flatten, dense(0, 12, 3))(np.ones((2, 2, 2, 3))).shape == (2, 3)
    with pytest.raises(TypeError, match="flatten takes an array, got list"):
        fl.flatten([1, 2])
    with pytest.raises(ValueError, match=r"got one number, of shape \(\)"):
        fl.flatten(np.ones(()))
