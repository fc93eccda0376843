"""Two cards. The current one computes, wherever the operands are: CuPy's rule, on the simulation and on CuPy.

Cards without peer access can't reach each other's memory. And what fluxlite computes for the user runs on the card that
holds the operands: here on the second one while the first is the current one, so what's asked of the wrong card raises,
and what's made on the wrong one is found. `test_rehearsal.py` has the same on CuPy, with a rehearsed second card.
"""

import copy
import inspect
import warnings

import numpy as np
import pytest
from inside import PerformanceWarning, arrays, cupy_devices, shapes_only
from kinds import numbers as counted
from layer_table import LAYERS

import fluxlite as fl

# -- the current card ------------------------------------------------------------------------------------------------

BOTH = ("Simulated", "CUDA")


@pytest.fixture
def cards(device):
    """Two cards without peer access; the first is the current one."""
    if device.backend == "Simulated":
        fl.simulate_gpu(2)
        return fl.cuda.devices()
    import cupy

    found = cupy_devices("CUDA")
    if len(found) < 2 or cupy.cuda.runtime.deviceCanAccessPeer(0, 1):
        pytest.skip("there is one card only, or the cards have peer access")
    return found


KERNELS = {
    "+": lambda x: x + x, "a number": lambda x: x * 2, "comparison": lambda x: x > 1, "ufunc": lambda x: np.tanh(x),
    "out": lambda x: np.add(x, x, out=x), "in place": lambda x: x.__iadd__(1),
    "where": lambda x: np.where(x > 0, x, 0), "clip": lambda x: np.clip(x, 0, 1), "sum": lambda x: x.sum(axis=0),
    "max": lambda x: np.max(x, axis=0), "joined": lambda x: np.concatenate([x, x]),
    "astype": lambda x: x.astype(np.float64), "astype, the same": lambda x: x.astype(np.float32),
    "read at places": lambda x: x[[0, 1]], "take": lambda x: np.take(x, 0, axis=1),
    "write at places": lambda x: x.__setitem__([0], 1.0), "write a number": lambda x: x.__setitem__(..., 1.0),
    "write zeros with gaps": lambda x: x.__setitem__((slice(None), 0), 0.0),
    "write an array with gaps": lambda x: x.__setitem__((slice(None), 0), x[:, 1]),
}  # fmt: skip


@fl.cuda.jit.rawkernel()
def doubled(x):
    i = fl.cuda.jit.grid(1)
    x[i // 3, i % 3] *= 2


WHOLE = {
    "@": lambda x: x @ x.T, "sum of all": lambda x: x.sum(), "sort in place": lambda x: x.sort(),
    "svd": lambda x: np.linalg.svd(x), "fft": lambda x: np.fft.fft(x), "add.at": lambda x: np.add.at(x, 0, 1.0),
    "put": lambda x: np.put(x, [0], 1.0), "copyto": lambda x: np.copyto(x, 1.0),
    "take_along_axis": lambda x: np.take_along_axis(x, np.zeros((2, 1), int), 1),
    "a kernel by hand": lambda x: doubled[1, 6](x),
}  # fmt: skip


def refused(run, cards):
    """It runs on the current card alone, and changes nothing before it's refused."""
    x = counted(cards[1])
    with pytest.raises(ValueError, match="the current device"):
        run(x)
    np.testing.assert_array_equal(fl.cpu(x), np.arange(6).reshape(2, 3))
    with cards[1]:
        run(x)


@pytest.mark.on(*BOTH)
@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_runs_on_the_current_card_and_reaches_no_other(name, cards):
    refused(KERNELS[name], cards)


@pytest.mark.on("Simulated")
@pytest.mark.parametrize("name", WHOLE)
def test_so_does_what_CUDAs_libraries_do_where_CuPy_does_not_look_itself(name, cards):
    refused(WHOLE[name], cards)


NO_KERNEL = {
    "a view": lambda x, here: x[0].T.reshape(3, 1)[None], "its shape": lambda x, here: np.shape(x),
    "the same type": lambda x, here: x.astype(np.float32, copy=False), "a number": lambda x, here: float(x[0, 0]),
    "to the host": lambda x, here: x.get(), "print": lambda x, here: print(x), "zeros": lambda x, here: x.fill(0),
    "to the other": lambda x, here: here(x), "a copy of it": lambda x, here: copy.deepcopy(x),
    "a block from the other": lambda x, here: x.__setitem__(..., counted(here)),
    "from the host": lambda x, here: x.set(np.ones((2, 3), np.float32)),
}  # fmt: skip


@pytest.mark.on(*BOTH)
@pytest.mark.parametrize("name", NO_KERNEL)
def test_what_needs_no_kernel_works_from_anywhere(name, cards):
    NO_KERNEL[name](counted(cards[1]), cards[0])


@pytest.mark.on(*BOTH)
def test_new_arrays_and_copies_are_on_the_current_card(cards):
    x = counted(cards[1])
    made = {
        "zeros": np.zeros_like(x), "ones": np.ones_like(x), "full": np.full_like(x, 2), "empty": np.empty_like(x),
        "shape": np.zeros_like(x, shape=(2,)), "like": np.zeros(2, like=x), "numbers": np.asarray([1.0], like=x),
        "copy": x.copy(), "np.copy": np.copy(x), "copied once more": copy.copy(x), "array": np.array(x, like=x),
        "reshape": np.reshape(x.T, 6), "its method": x.T.reshape(6), "ravel": x.T.ravel(), "flatten": x.flatten(),
    }  # fmt: skip
    assert {name: fl.device_of(y) for name, y in made.items()} == dict.fromkeys(made, cards[0])
    np.testing.assert_array_equal(fl.cpu(made["copy"]), fl.cpu(x))
    assert fl.device_of(copy.deepcopy(x)) == cards[1]
    with cards[1]:
        assert fl.device_of(np.zeros_like(x)) == fl.device_of(x.copy()) == cards[1]


@pytest.mark.on("Simulated")
def test_the_error_says_which_card_is_current_and_what_helps(cards):
    x = counted(cards[1])
    words = r"on Simulated:1, and the current device is Simulated:0\..*`with device_of\(x\):`, or `with cuda\.using"
    with pytest.raises(ValueError, match=words):
        x + x
    for there in (fl.device_of(x), fl.cuda.using(1)):
        with there:
            assert fl.cpu(x + x).sum() == 30
    assert fl.cuda.device() is cards[0]


def test_with_peer_access_it_computes_slowly_and_says_so():
    """As CuPy does between an H100's cards, which NVLink connects."""
    with fl.simulate_gpu(2, like="H100"):
        first, second = fl.cuda.devices()
        x, y = counted(first), counted(second)
        for compute in (lambda: y + y, lambda: x + y, lambda: np.concatenate([y, y])[:2] * 2, lambda: y[[0, 1]] * 2):
            with pytest.warns(PerformanceWarning, match="on Simulated:1, and the current device is Sim.*:0") as said:
                z = compute()
            assert said[0].filename == __file__, "it names the line of the program, so Python shows it once for each"
            assert fl.device_of(z) is first and (fl.cpu(z) == 2 * np.arange(6).reshape(2, 3)).all()
        with pytest.warns(PerformanceWarning):
            y += x
        assert fl.device_of(y) is second and fl.cpu(y).sum() == 30
        with second, warnings.catch_warnings():
            warnings.simplefilter("error")
            y + y


def test_one_card_is_always_the_current_one():
    """Also if it isn't the first of its simulation any more, or the program has begun another one."""
    with fl.simulate_gpu() as device:
        x = counted(device)
        with fl.simulate_gpu(2, like="A100"):
            fl.cuda.set_device(1)
            x + x
            fl.cuda.set_device(0)


# -- what fluxlite computes for the user -------------------------------------------------------------------------------


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


def test_a_model_on_both_cards_keeps_each_part_where_it_is(second):
    """The user moves what goes from one to the other."""
    first = fl.cuda.devices()[0]
    model, x = [first(fl.Dense(3, 4)), second(fl.Dense(4, 2))], numbers(first)
    target = second(np.zeros((4, 2), np.float32))
    value, (g,) = fl.withgradient(lambda m: fl.mse(m[1](arrays.move(m[0](x), second)), target), model)
    fl.update(fl.setup(fl.Adam(), model), model, g)
    assert fl.device_of(value) is second
    assert [fl.device_of(layer.weight) for layer in (*g, *model)] == [first, second] * 2


@pytest.mark.on("Simulated")
def test_with_shapes_only_the_times_are_the_same_and_the_values_are_there_again_after_it(cards):
    model = fl.Chain(fl.Dense(8, 16, np.tanh), fl.Dense(16, 4))
    first, second = cards[0](model[0]), cards[1](model[1])
    x = np.ones((5, 8), np.float32)

    def run():
        return second(cards[1](first(cards[0](x))))

    run()  # the first time, each card loads what it computes with
    seen = []
    for shapes in ([], cards):
        with shapes_only(shapes), fl.receipt() as r:
            y = run()
            for card in cards:
                card.synchronize()
        seen.append((r.launched, r.device_to_device, round(float(r.seconds), 9), y.shape, y.dtype))
    assert seen[0] == seen[1] and not fl.cpu(y).any()
    with pytest.raises(KeyError), shapes_only(cards):
        {}["an error ends it, too"]
    assert np.allclose(fl.cpu(run()), model(x))
