"""Models and data on several devices: how a model prints, and what the errors say."""

from dataclasses import dataclass

import numpy as np
import pytest
from inside import DeviceError, LayerError, OutOfMemoryError

import fluxlite as fl
from fluxlite import Adam, Chain, Dense, Descent, functor, gradient, receipt, relu, setup, simulate_gpu, update
from fluxlite.devices import CPU, devices


def f32(*shape):
    return np.ones(shape, np.float32)


@pytest.fixture
def two():
    """Two simulated devices."""
    simulate_gpu(2)
    return devices()


# -- how a model prints -------------------------------------------------------------------------------------


def test_on_the_cpu_a_text_says_nothing_of_devices():
    assert repr(Dense(10, 5)) == "Dense(10 => 5)      # 55 parameters"
    assert " on " not in repr(Chain(Dense(4, 3), Dense(3, 2)))


def test_elsewhere_it_ends_with_the_device(two):
    model = Chain(Dense(4, 3, np.tanh), Dense(3, 2))
    assert repr(two[1](Dense(10, 5))) == "Dense(10 => 5)      # 55 parameters, on Simulated:1"
    lines = repr(two[0](model)).split("\n")
    assert lines[1:-1] == repr(model).split("\n")[1:-1]
    assert lines[-1].endswith("# 23 parameters in all, on Simulated:0")


def test_on_several_devices_each_layer_says_where_it_is(two):
    text = repr(Chain(two[0](Dense(4, 3)), relu, Chain(Dense(3, 2), two[1](Dense(2, 2)))))
    assert [line.partition("# ")[2] for line in text.split("\n")] == [
        "",
        "15 parameters, on Simulated:0",
        "",
        "",
        "8 parameters, on CPU",
        "6 parameters, on Simulated:1",
        "",
        "29 parameters in all, on Simulated:0 and CPU and Simulated:1",
    ]


def test_a_layer_that_was_torn_apart_says_so(two):
    layer = Dense(2, 2)
    layer.weight = two[0](layer.weight)
    assert repr(layer).endswith("# 6 parameters, on Simulated:0 and CPU")


@functor
@dataclass
class Scale:
    gamma: object

    def __call__(self, x):
        return x * self.gamma


def test_printing_copies_no_values_and_waits_for_nothing(two):
    model = two[1](Chain(Dense(4, 3), Scale(f32(3)), Chain(a=Dense(3, 2))))
    odd = Dense(2, 2)
    odd.weight, odd.bias = two[1](f32(3)), two[1](f32(3))
    with two[0], receipt() as r:
        text = repr(model) + repr(odd)
        gradient(lambda model: (repr(model), 1.0)[1], model)
    simulate_gpu(False)
    assert repr(model) + repr(odd) == text
    assert "    gamma=float32 (3,), " in text and "Dense.of(an array of shape (3,), an array of shape (3,))" in text
    assert (r.launches, r.synchronizations, r.device_to_host.count) == (0, 0, 0)


# -- a model here, data there -------------------------------------------------------------------------------


def chain():
    return Chain(relu, Chain(Dense(4, 3), Chain(Dense(3, 3), Dense(3, 2))))


def named():
    return Chain(encoder=Chain(Dense(4, 3)), decoder=Dense(3, 2))


@pytest.mark.parametrize(
    ("model", "path"),
    [
        (Dense(4, 3), "weight"),
        (Chain(Dense(4, 3)), "layers[0].weight"),
        (chain(), "layers[1].layers[0].weight"),
        (named(), "layers['encoder'].layers[0].weight"),
    ],
    ids=["Dense", "Chain", "nested", "named"],
)
@pytest.mark.parametrize("batch", [(4,), (5, 4)], ids=str)
def test_the_place_and_both_devices_are_named(two, model, path, batch):
    x = two[0](f32(*batch))
    with pytest.raises(DeviceError) as caught:
        model(x)
    assert str(caught.value) == f"{path} is on CPU, the input is on Simulated:0; move one of them: model = gpu(model)"
    with pytest.raises(DeviceError, match=r"is on Simulated:1, .* x = get_device\('Simulated', 1\)\(x\)"):
        two[1](model)(x)
    with pytest.raises(DeviceError, match=r"is on Simulated:0, the input is on CPU; .* x = gpu\(x\)"):
        two[0](model)(f32(*batch))
    assert isinstance(caught.value, TypeError) and isinstance(caught.value, LayerError)


def test_the_layer_that_stayed_is_named(two):
    model = two[0](chain())
    model[1][1].layers = (model[1][1][0], CPU(model[1][1][1]))
    with pytest.raises(
        DeviceError, match=r"^layers\[1\].layers\[1\].layers\[1\].weight is on CPU, the input is on Sim"
    ):
        model(two[0](f32(4)))


def test_a_bias_that_stayed_is_named(two):
    layer = two[0](Dense(4, 3))
    layer.bias = CPU(layer.bias)
    with pytest.raises(DeviceError, match=r"^layers\[0\].bias is on CPU, the input is on Simulated:0"):
        Chain(layer)(two[0](f32(4)))


@pytest.mark.parametrize("differentiate", [gradient, fl.withgradient])
@pytest.mark.parametrize("model", [chain(), named()], ids=["nested", "named"])
def test_in_a_gradient_too(two, differentiate, model):
    path = r"^layers\[.*\]\.layers\[0\]\.weight is on Simulated:1, the input is on Simulated:0; move one"
    x = two[0](f32(5, 4))
    with pytest.raises(DeviceError, match=path):
        differentiate(lambda model: np.sum(model(x)), two[1](model))
    with pytest.raises(DeviceError, match=path):
        differentiate(lambda model, x: np.sum(model(x)), two[1](model), x)
    with pytest.raises(DeviceError, match="is on CPU, the input is on Simulated:0"):
        differentiate(lambda x: np.sum(model(x)), x)


def test_other_errors_of_a_layer_are_not_taken_for_that(two):
    with pytest.raises(ValueError, match="shape"):
        two[0](Dense(4, 3))(two[0](f32(5)))
    model = Chain(Dense(4, 3), lambda x: x + {})
    with pytest.raises(TypeError, match="dict"):
        model(f32(4))


# -- losses -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [fl.mse, fl.crossentropy, fl.logitcrossentropy])
def test_a_loss_says_which_of_the_two_is_where(two, loss):
    here, there = f32(3, 2), two[0](f32(3, 2))
    with pytest.raises(DeviceError) as caught:
        loss(there, here)
    assert str(caught.value) == (
        f"{loss.__name__}: prediction is on Simulated:0, target is on CPU; move one of them: target = gpu(target)"
    )
    with pytest.raises(DeviceError, match=r"prediction is on CPU, target is on Sim.*: target = cpu\(target\)$"):
        loss(here, there)
    with pytest.raises(DeviceError, match="prediction is on Simulated:0, target is on Simulated:1"):
        loss(there, two[1](here))
    with pytest.raises(DeviceError, match="prediction is on Simulated:0, target is on CPU"):
        gradient(lambda model: loss(model(there), f32(3, 2)), two[0](Dense(2, 2)))


def test_other_errors_of_a_loss_stay_what_they_are():
    with pytest.raises(TypeError, match="dict"):
        fl.mse(f32(2), f32(2), agg=lambda x: x + {})


# -- optimizers ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", [Descent(), Adam()], ids=["Descent", "Adam"])
def test_gradients_on_another_device(two, rule):
    model = two[0](Chain(Dense(4, 3), Dense(3, 2)))
    state = setup(rule, model)
    grads = gradient(lambda m: np.sum(m(two[0](f32(5, 4)))), model)[0]
    grads[1].weight = CPU(grads[1].weight)
    before = CPU(model[0].weight).copy()
    with pytest.raises(TypeError, match=r"layers\[1\].weight is on Simulated:0, its gradient on CPU"):
        update(state, model, grads)
    np.testing.assert_array_equal(CPU(model[0].weight), before)  # everything is checked before anything changes


def test_a_state_that_was_set_up_before_the_move(two):
    model = Chain(Dense(4, 3))
    state = setup(Adam(), model)
    model = two[0](model)
    grads = gradient(lambda m: np.sum(m(two[0](f32(5, 4)))), model)[0]
    with pytest.raises(TypeError, match=r"layers\[0\].weight is on Simulated:0, its state on CPU"):
        update(state, model, grads)


# -- out of memory ------------------------------------------------------------------------------------------


def test_out_of_memory_in_a_model_says_used_free_and_asked_for():
    simulate_gpu(memory=4608)
    device = devices()[0]
    model = device(Chain(Dense(16, 16), Dense(16, 16)))  # 1,024 and 64 bytes each, in units of 512
    x = device(f32(16, 16))
    figures = "1,024 bytes asked for, 512 free, 4,096 used of 4,608"
    for compute in (model, lambda x: fl.withgradient(lambda model: np.sum(model(x)), model)):
        with pytest.raises(MemoryError, match=rf"Simulated:0 \(simulated NVIDIA T4\) is out of memory: {figures}"):
            compute(x)
    assert device.memory().used == 4096  # the model and x; everything else is freed


def test_a_model_that_does_not_fit_leaves_nothing_behind():
    simulate_gpu(memory=2048)
    device = devices()[0]
    with pytest.raises(OutOfMemoryError, match="4,096 bytes asked for, 512 free, 1,536 used of 2,048"):
        device(Chain(Dense(16, 16), Dense(16, 64)))
    assert device.memory().used == 0
