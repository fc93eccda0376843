"""The library's own use of `fuse`: bias and activation, cells, optimizers. On the CPU nothing changes."""

from dataclasses import dataclass

import numpy as np
import pytest
from fused_runs import launched, numbers

import fluxlite as fl
from fluxlite import receipt

FUSIBLE = [
    fl.Adam(), fl.AdamW(decay=0.1), fl.AdamW(decay=0.1, couple=False), fl.NAdam(), fl.RAdam(), fl.AdaMax(), fl.OAdam(),
    fl.AMSGrad(), fl.AdaBelief(), fl.AdaGrad(), fl.AdaDelta(), fl.RMSProp(), fl.RMSProp(centred=True),
]  # fmt: skip


@pytest.mark.parametrize(
    ("layer", "x", "before"),
    [
        (lambda: fl.Dense(3, 4, fl.relu), numbers(2, 3), ["matmul"]),
        (lambda: fl.Dense(3, 4, np.tanh), numbers(2, 5, 3), ["matmul"]),
        (lambda: fl.Conv((3, 3), 1, 4, fl.gelu), numbers(2, 8, 8, 1), None),
        (lambda: fl.ConvTranspose((3, 3), 1, 4, fl.swish), numbers(2, 8, 8, 1), None),
        (lambda: fl.RNNCell(3, 4), numbers(2, 3), ["matmul"] * 2),
    ],
    ids=["relu", "tanh", "Conv", "ConvTranspose", "RNNCell"],
)
def test_bias_and_activation_are_one_launch(simulated, layer, x, before):
    fl.seed(0)
    host = layer()
    there, x_there = simulated(host), simulated(x)
    result, names = launched(there, x_there)
    name = f"bias_{host.activation.__name__}"
    assert names.count(name) == 1 and names[-1] == name
    if before is not None:
        assert names == [*before, name]
    pick = (lambda y: y[0]) if isinstance(host, fl.RNNCell) else lambda y: y
    np.testing.assert_allclose(fl.cpu(pick(result)), pick(host(x)), rtol=1e-4, atol=1e-5)
    found = fl.gradient(lambda m: np.sum(pick(m(x_there)) ** 2), there)[0]
    right = fl.gradient(lambda m: np.sum(pick(m(x)) ** 2), host)[0]
    for place in ("Wi", "Wh", "bias") if isinstance(host, fl.RNNCell) else ("weight", "bias"):
        np.testing.assert_allclose(fl.cpu(getattr(found, place)), getattr(right, place), rtol=1e-3, atol=1e-4)


def test_a_layer_forward_and_back(simulated):
    layer, x = simulated(fl.Dense(3, 4, fl.relu)), simulated(numbers(2, 3))
    _, names = launched(lambda: fl.gradient(lambda m: np.sum(m(x)), layer))
    assert sorted(names) == ["bias_relu", "bias_relu_back", "matmul", "matmul", "ones_like", "sum", "sum"]


@pytest.mark.parametrize(("cell", "count"), [(fl.LSTMCell, 5), (fl.GRUCell, 4)])
def test_what_the_gates_do_is_one_launch(simulated, cell, count):
    host = cell(3, 4)
    there, x = simulated(host), numbers(2, 3)
    state = there.initialstates()
    (result, _), names = launched(there, simulated(x), state)
    assert len(names) == count and names.count(f"{cell.__name__.lower()[:-4]}_cell") == 1
    np.testing.assert_allclose(fl.cpu(result), host(x)[0], rtol=1e-5, atol=1e-6)


def test_a_function_of_ones_own_is_called_with_the_arrays(simulated):
    seen = []

    def mine(y):
        seen.append(type(y).__name__)
        return y if float(y[0, 0]) > 0 else -y

    x = numbers(2, 3)
    for activation in (mine, fl.softmax, lambda y: y - np.mean(y)):
        host = fl.Dense(3, 4, activation)
        np.testing.assert_allclose(fl.cpu(simulated(host)(simulated(x))), host(x), rtol=1e-5, atol=1e-6)
    assert seen == ["SimulatedArray", "ndarray"]


def test_a_layer_of_the_cpu_stays_as_it_was(simulated):
    fl.seed(0)
    layer, x = fl.Dense(3, 4, fl.gelu), numbers(2, 3)
    with receipt() as r:
        np.testing.assert_array_equal(layer(x), fl.gelu(x @ layer.weight.T + layer.bias))
    assert r.launches == 0


@pytest.mark.on("Simulated", "CUDA")
@pytest.mark.parametrize("rule", FUSIBLE, ids=str)
def test_a_step_is_one_launch_for_each_parameter(device, rule):
    host = {"w": numbers(4, 3), "b": numbers(3, seed=1)}
    there = fl.fmap(lambda x: fl.move(x, device), host)
    states = fl.setup(rule, host), fl.setup(rule, there)
    for i in range(8):  # RAdam takes plain steps at first
        gradient = {"w": numbers(4, 3, seed=2 + i), "b": numbers(3, seed=20 + i)}
        fl.update(states[0], host, gradient)
        g = fl.fmap(lambda x: fl.move(x, device), gradient)
        _, names = launched(lambda w, g=g: fl.update(states[1], there, g), there["w"])
    assert len(names) == 2
    for name in host:
        np.testing.assert_allclose(fl.cpu(there[name]), host[name], rtol=1e-4, atol=1e-5)


def test_another_rate_takes_the_same_kernel_and_so_does_a_chain(simulated):
    w = [simulated(numbers(3))]
    state = fl.setup(fl.Adam(), w)
    with receipt() as r:
        for i in range(5):
            fl.adjust(state, 0.1 / (i + 1))
            fl.update(state, w, [simulated(numbers(3, seed=i))])
    assert r.launched["adam"] == 5 and r.first_uses == 1
    state = fl.setup(fl.OptimiserChain(fl.ClipGrad(1.0), fl.Adam()), w)
    _, names = launched(lambda: fl.update(state, w, [simulated(numbers(3))]))
    assert names.count("adam") == 1 and len(names) == 3  # clip, adam, and w -= …


def test_a_change_of_ones_own_counts(simulated):
    @dataclass(frozen=True)
    class Half(fl.Adam):
        def change(self, memory, x, g):
            return super().change(memory, x, g) / 2

    w, g = numbers(3), numbers(3, seed=1)
    there = simulated(w)
    for rule, x in ((Half(), w), (Half(), there)):
        fl.update(fl.setup(rule, [x]), [x], [g if x is w else simulated(g)])
    np.testing.assert_allclose(fl.cpu(there), w, rtol=1e-6)
    np.testing.assert_allclose(w, numbers(3) - 0.0005 * np.sign(g), rtol=1e-3)
