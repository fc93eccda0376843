"""Seven mistakes that go unnoticed on a CPU and hurt on a GPU, each in a small wrong program.

They come from other learning libraries. The simulated GPU refuses the program, or its receipt shows what's wrong. Next
to each is the correct program, which shows nothing wrong. So you can tell the two apart without a GPU.
"""

import numpy as np
import pytest

import fluxlite as fl
from fluxlite import receipt
from fluxlite.devices import CPU, cpu, devices, gpu

pytestmark = pytest.mark.usefixtures("simulated")


def f32(*shape):
    return np.ones(shape, np.float32)


class Momentum:
    """An optimizer as many people write it: it stores what it remembers about a parameter under the parameter's id."""

    def __init__(self):
        self.memory = {}

    def step(self, key, x, g):
        velocity = self.memory.setdefault(key, np.zeros_like(x))
        velocity *= 0.9
        velocity += g
        x -= 0.1 * velocity


# -- 1: the optimizer's state stays on the CPU when the model moves -----------------------------------------


def test_1_an_optimizers_state_left_on_the_cpu():
    w, rule = f32(3), Momentum()
    rule.step("w", w, f32(3))
    w = gpu(w)
    with pytest.raises(TypeError, match="one array is on Simulated:0 and another, of shape .3,.* is on CPU"):
        rule.step("w", w, gpu(f32(3)))


def test_1_right_the_state_moves_like_the_model():
    model = fl.Dense(3, 2)
    state = fl.setup(fl.Momentum(0.1), model)
    fl.update(state, model, fl.gradient(lambda m: m(f32(3)).sum(), model)[0])
    model, state, x = gpu((model, state, f32(3)))
    with receipt() as r:
        fl.update(state, model, fl.gradient(lambda m: m(x).sum(), model)[0])
    assert (r.host_to_device.count, r.device_to_host.count) == (0, 0)


# -- 2: saving moves the model ------------------------------------------------------------------------------


class Model:
    """Has its parameters in a dict, and moves in place."""

    def __init__(self):
        self.parameters = {"w": f32(4, 4)}

    def move(self, to):
        for name, x in self.parameters.items():
            self.parameters[name] = to(x)
        return self

    def __call__(self, x):
        return x @ self.parameters["w"]


def test_2_saving_that_moves_the_model_to_the_cpu():
    model, x = Model().move(gpu), gpu(f32(2, 4))

    def save(model):
        return dict(model.move(cpu).parameters)

    model(x)
    save(model)
    with pytest.raises(TypeError, match="is on CPU"):
        model(x)


def test_2_right_a_move_returns_another_model():
    model, x = gpu(fl.Dense(4, 4)), gpu(f32(2, 4))
    with receipt() as r:
        fl.cpu(model)
    assert (r.device_to_host.count, r.host_to_device.count) == (2, 0)
    assert fl.device_of(model) == devices()[0] and model(x).shape == (2, 4)


# -- 3: loading puts host arrays into a model on the GPU ----------------------------------------------------


def test_3_loading_that_puts_host_arrays_into_a_model_on_the_gpu():
    model, x, loaded = Model().move(gpu), gpu(f32(2, 4)), {"w": f32(4, 4)}
    model.parameters.update(loaded)
    with pytest.raises(TypeError, match="is on CPU"):
        model(x)


def test_3_right_values_are_written_to_where_the_model_is():
    model, x, loaded = Model().move(gpu), gpu(f32(2, 4)), {"w": 2 * f32(4, 4)}
    for name, value in loaded.items():
        model.parameters[name][...] = gpu(value)
    assert cpu(model(x)).tolist() == [[8.0] * 4] * 2


# -- 4: a recurrent layer's memory stays behind ---------------------------------------------------------------


class Recurrent:
    """Keeps its state in an attribute that no move knows about."""

    def __init__(self):
        self.w, self.h = f32(3, 3), None

    def move(self, to):
        self.w = to(self.w)
        return self

    def __call__(self, x):
        h = np.zeros_like(x) if self.h is None else self.h
        self.h = np.tanh(x @ self.w + h)
        return self.h


def test_4_a_recurrent_state_left_on_the_cpu():
    layer = Recurrent()
    layer(f32(1, 3))
    layer.move(gpu)
    with pytest.raises(TypeError, match="is on CPU"):
        layer(gpu(f32(1, 3)))


def test_4_right_the_state_is_an_argument():
    def step(w, h, x):
        return np.tanh(x @ w + h)

    w, h = f32(3, 3), np.zeros((1, 3), np.float32)
    h = step(w, h, f32(1, 3))
    w, h, x = gpu((w, h, f32(1, 3)))
    with receipt() as r:
        step(w, h, x)
    assert (r.launches, r.host_to_device.count) == (3, 0)


# -- 5: layers that a move doesn't find -------------------------------------------------------------------


class Sealed:
    """Layers in a list, in an object that isn't registered."""

    def __init__(self):
        self.layers = [fl.Dense(3, 3), fl.Dense(3, 2)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def test_5_layers_that_the_move_does_not_find(capsys):
    with receipt() as r:
        model = gpu(Sealed())
    assert r.host_to_device.count == 0  # four arrays should have been copied
    assert "layers[0].weight" in capsys.readouterr().err
    with pytest.raises(TypeError, match="CPU"):
        model(gpu(f32(1, 3)))


def test_5_right_a_registered_class_is_entered():
    class Open(Sealed):
        pass

    fl.functor(Open)
    with receipt() as r:
        model = gpu(Open())
    assert r.host_to_device.count == 4
    assert model(gpu(f32(1, 3))).shape == (1, 2)


# -- 6: moving one model moves another that shares a parameter ------------------------------------------------


def test_6_moving_one_model_in_place_moves_what_it_shares():
    shared = {"w": f32(3, 3)}
    first, second = Model(), Model()
    first.parameters = second.parameters = shared
    first.move(gpu)
    with pytest.raises(TypeError, match="on Simulated:0 and another"):
        second(f32(1, 3))


def test_6_right_only_the_copy_is_on_the_gpu():
    body = fl.Dense(3, 3)
    first, second = fl.Chain(body, fl.Dense(3, 1)), fl.Chain(body, fl.Dense(3, 2))
    on_gpu = gpu(first)
    assert second(f32(1, 3)).shape == (1, 2)
    assert fl.device_of(first) == fl.device_of(second) == CPU and fl.device_of(on_gpu) == devices()[0]


# -- 7: a hidden copy in each step ----------------------------------------------------------------------------


def log_likelihood(scores, places, labels):
    return scores[places, labels].sum()


def test_7_a_hidden_copy_in_each_step():
    scores, labels = gpu(f32(8, 3)), gpu(np.zeros(8, np.int64))
    with receipt() as r:
        for _ in range(10):
            log_likelihood(scores, np.arange(8), labels)
    assert (r.host_to_device.implicit, r.host_to_device.explicit, r.host_to_device.bytes) == (10, 0, 10 * 8 * 8)
    guilty = next(costs for costs in r.by_line() if costs.copies)
    assert guilty.copies == 10 and guilty.line.endswith("return scores[places, labels].sum()")


def test_7_right_the_index_is_there_before_the_loop():
    scores, places, labels = gpu((f32(8, 3), np.arange(8), np.zeros(8, np.int64)))
    with receipt() as r:
        for _ in range(10):
            log_likelihood(scores, places, labels)
    assert r.host_to_device.count == 0 and r.launches > 0


def test_on_a_cpu_all_seven_go_unnoticed():
    """That's why people find them so late."""
    fl.simulate_gpu(False)
    w, rule = f32(3), Momentum()
    rule.step("w", w, f32(3))
    rule.step("w", cpu(w), f32(3))
    model, layer, x = Model(), Recurrent(), f32(2, 4)
    model.move(cpu)(x)
    model.parameters.update({"w": f32(4, 4)})
    model(x)
    layer(f32(1, 3))
    layer.move(cpu)(f32(1, 3))
    assert gpu(Sealed())(f32(1, 3)).shape == (1, 2)
    assert log_likelihood(f32(8, 3), np.arange(8), np.zeros(8, np.int64)) == 8
