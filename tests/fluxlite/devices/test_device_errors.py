"""Models and data on several devices: device_of, how a model prints, and what the errors say."""

import re
from dataclasses import dataclass

import numpy as np
import pytest
from inside import DeviceError, LayerError, OutOfMemoryError
from kinds import f32

import fluxlite as fl
from fluxlite import Adam, Chain, Dense, functor, gradient, receipt, relu, setup, simulate_gpu, update
from fluxlite.devices import CPU, devices


@pytest.fixture
def two():
    simulate_gpu(2)
    return devices()


# -- device_of ----------------------------------------------------------------------------------------------


@dataclass
class Closed:
    weight: object


@functor
@dataclass
class Holder:
    model: object

    def __call__(self, x):
        return x * self.model


def test_device_of_arrays_tracked_arrays_and_models(two):
    x, model = two[1](f32(2)), Chain(Dense(3, 2), Dense(2, 1))
    assert fl.device_of(x) is two[1] is fl.device_of(fl.param(x)) and fl.device_of(f32(2)) is CPU
    seen = []
    gradient(lambda w: seen.append(fl.device_of(w)) or seen.append(fl.device_of([w, w * 2])) or w.sum(), x)
    assert seen == [two[1]] * 2 and fl.device_of(model) is CPU
    assert fl.device_of({"a": [two[1](model), (two[1](np.ones(1)), 3)], "b": "text"}) is two[1]


@pytest.mark.parametrize("x", [3, "text", None, [], {"a": (1, 2.0)}, np.float32(1), np.tanh, range(3), fl.relu])
def test_device_of_what_has_no_arrays_is_None(x):
    assert fl.device_of(x) is None and fl.device_of(Closed(x)) is None


def test_device_of_names_two_places_that_disagree_and_what_no_walk_reaches(two):
    mixed = Chain(Dense(3, 2), two[0](Dense(2, 1)))
    with pytest.raises(DeviceError, match=r"layers\[0\]\.weight is on CPU, layers\[1\]\.weight is on Simulated:0"):
        fl.device_of(mixed)
    with pytest.raises(TypeError, match=r"in model\.weight: Closed is not registered.*@functor above class Closed"):
        fl.device_of(Holder(Closed(np.ones(1))))


# -- how a model prints -------------------------------------------------------------------------------------


def test_a_model_elsewhere_ends_its_text_with_the_device(two):
    model = Chain(Dense(4, 3, np.tanh), Dense(3, 2))
    assert repr(Dense(10, 5)) == "Dense(10 => 5)      # 55 parameters"
    assert repr(two[1](Dense(10, 5))) == "Dense(10 => 5)      # 55 parameters, on Simulated:1"
    lines = repr(two[0](model)).split("\n")
    assert lines[1:-1] == repr(model).split("\n")[1:-1] and " on " not in repr(model)
    assert lines[-1].endswith("# 23 parameters in all, on Simulated:0")
    layer = Dense(2, 2)
    layer.weight = two[0](layer.weight)
    assert repr(layer).endswith("# 6 parameters, on Simulated:0 and CPU")


def test_on_several_devices_each_layer_says_where_it_is(two):
    text = repr(Chain(two[0](Dense(4, 3)), relu, Chain(Dense(3, 2), two[1](Dense(2, 2)))))
    assert [said for line in text.split("\n") if (said := line.partition("# ")[2])] == [
        "15 parameters, on Simulated:0", "8 parameters, on CPU", "6 parameters, on Simulated:1",
        "29 parameters in all, on Simulated:0 and CPU and Simulated:1",
    ]  # fmt: skip


def test_printing_copies_no_values_and_waits_for_nothing(two):
    model = two[1](Chain(Dense(4, 3), Holder(f32(3)), Chain(a=Dense(3, 2))))
    odd = Dense(2, 2)
    odd.weight, odd.bias = two[1](f32(3)), two[1](f32(3))
    with two[0], receipt() as r:
        text = repr(model) + repr(odd)
        gradient(lambda model: (repr(model), 1.0)[1], model)
    simulate_gpu(False)
    assert repr(model) + repr(odd) == text
    assert "    model=float32 (3,), " in text and "Dense(…)      # 6 parameters, on Simulated:1" in text
    assert (r.launches, r.synchronizations, r.device_to_host.count) == (0, 0, 0)


# -- a model here, data there -------------------------------------------------------------------------------


def chain():
    return Chain(relu, Chain(Dense(4, 3), Chain(Dense(3, 3), Dense(3, 2))))


@pytest.mark.parametrize(
    ("model", "path"),
    [
        (Dense(4, 3), "weight"),
        (chain(), "layers[1].layers[0].weight"),
        (Chain(encoder=Chain(Dense(4, 3)), decoder=Dense(3, 2)), "layers['encoder'].layers[0].weight"),
    ],
    ids=["Dense", "nested", "named"],
)
def test_the_place_and_both_devices_are_named(two, model, path):
    for batch in ((4,), (5, 4)):
        x = two[0](f32(*batch))
        with pytest.raises(DeviceError) as caught:
            model(x)
        both = "is on CPU, the input is on Simulated:0; move one of them: model = gpu(model)"
        assert str(caught.value) == f"{path} {both}"
        with pytest.raises(DeviceError, match=r"is on Simulated:1, .* x = get_device\('Simulated', 1\)\(x\)"):
            two[1](model)(x)
        with pytest.raises(DeviceError, match=r"is on Simulated:0, the input is on CPU; .* x = gpu\(x\)"):
            two[0](model)(f32(*batch))
    assert isinstance(caught.value, TypeError) and isinstance(caught.value, LayerError)
    place = rf"^{re.escape(path)} is on Simulated:1, the input is on Simulated:0; move one"
    with pytest.raises(DeviceError, match=place):
        gradient(lambda model: np.sum(model(x)), two[1](model))
    with pytest.raises(DeviceError, match=place):
        fl.withgradient(lambda model, x: np.sum(model(x)), two[1](model), x)
    with pytest.raises(DeviceError, match="is on CPU, the input is on Simulated:0"):
        gradient(lambda x: np.sum(model(x)), x)


def test_the_layer_or_bias_that_stayed_is_named(two):
    model = two[0](chain())
    model[1][1].layers = (model[1][1][0], CPU(model[1][1][1]))
    with pytest.raises(DeviceError, match=r"^layers\[1\].layers\[1\].layers\[1\].weight is on CPU, the input is"):
        model(two[0](f32(4)))
    layer = two[0](Dense(4, 3))
    layer.bias = CPU(layer.bias)
    with pytest.raises(DeviceError, match=r"^layers\[0\].bias is on CPU, the input is on Simulated:0"):
        Chain(layer)(two[0](f32(4)))


def test_other_errors_of_a_layer_or_a_loss_are_not_taken_for_that(two):
    with pytest.raises(ValueError, match="shape"):
        two[0](Dense(4, 3))(two[0](f32(5)))
    with pytest.raises(TypeError, match="dict"):
        Chain(Dense(4, 3), lambda x: x + {})(f32(4))
    with pytest.raises(TypeError, match="dict"):
        fl.mse(f32(2), f32(2), agg=lambda x: x + {})


# -- losses -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [fl.mse, fl.logitcrossentropy])
def test_a_loss_says_which_of_the_two_is_where(two, loss):
    here, there = f32(3, 2), two[0](f32(3, 2))
    for call, words in (
        (lambda: loss(there, here), "prediction is on Simulated:0, target is on CPU; .*: target = gpu\\(target\\)$"),
        (lambda: loss(here, there), "prediction is on CPU, target is on Sim.*: target = cpu\\(target\\)$"),
        (lambda: loss(there, two[1](here)), "prediction is on Simulated:0, target is on Simulated:1"),
        (lambda: gradient(lambda model: loss(model(there), here), two[0](Dense(2, 2))), "target is on CPU"),
    ):
        with pytest.raises(DeviceError, match=f"^{loss.__name__}: .*{words}"):
            call()


# -- optimizers ---------------------------------------------------------------------------------------------


def test_gradients_on_another_device(two):
    model = two[0](Chain(Dense(4, 3), Dense(3, 2)))
    grads = gradient(lambda m: np.sum(m(two[0](f32(5, 4)))), model)[0]
    grads[1].weight = CPU(grads[1].weight)
    before = CPU(model[0].weight).copy()
    with pytest.raises(TypeError, match=r"layers\[1\].weight is on Simulated:0, its gradient on CPU"):
        update(setup(Adam(), model), model, grads)
    np.testing.assert_array_equal(CPU(model[0].weight), before)  # everything is checked before anything changes


def test_a_state_that_was_set_up_before_the_move_is_named_or_moves_too(two):
    model = Chain(Dense(4, 3))
    state, x = setup(Adam(), model), two[0](f32(5, 4))
    moved = two[0](model)
    grads = gradient(lambda m: np.sum(m(x)), moved)[0]
    with pytest.raises(TypeError, match=r"layers\[0\].weight is on Simulated:0, its state on CPU"):
        update(state, moved, grads)
    moved, state = two[0]((model, state))
    with receipt() as r:
        update(state, moved, grads)
    assert (r.host_to_device.count, r.device_to_host.count) == (0, 0)


# -- out of memory ------------------------------------------------------------------------------------------


def test_out_of_memory_says_used_free_and_asked_for_and_leaves_nothing_behind():
    simulate_gpu(memory=4608)
    device = devices()[0]
    with pytest.raises(MemoryError, match="8,192 bytes asked for"):
        device(Chain(Dense(16, 16), Dense(16, 128)))
    assert device.memory().used == 0
    model = device(Chain(Dense(16, 16), Dense(16, 16)))  # 1,024 and 64 bytes each, in units of 512
    x = device(f32(16, 16))
    figures = "1,024 bytes asked for, 512 free, 4,096 used of 4,608"
    for compute in (model, lambda x: fl.withgradient(lambda model: np.sum(model(x)), model)):
        with pytest.raises(OutOfMemoryError, match=rf"Simulated:0 \(simulated NVIDIA T4\) is out of memory: {figures}"):
            compute(x)
    assert device.memory().used == 4096  # the model and x; everything else is freed


def test_a_function_of_the_gpus_package_names_numpys_for_what_is_tracked(simulated):
    import simgpu

    x = fl.gpu(np.ones(3, np.float32))
    for compute in (
        lambda: gradient(lambda x: np.sum(simgpu.tanh(x)), x),
        lambda: fl.captured(lambda x: simgpu.tanh(x))(x),
    ):
        with pytest.raises(TypeError, match=r"^tanh: unsupported type \w+; .* NumPy's functions .*: np\.tanh\(x\)\.$"):
            compute()
    with pytest.raises(TypeError, match=r"^tanh: unsupported type list; .* x = gpu\(np\.array\(values\)\)\.$"):
        simgpu.tanh([1.0])
