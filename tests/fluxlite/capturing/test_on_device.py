"""Captured steps on a simulated GPU: the same bits as eagerly there, one order, and what can't be part of it."""

import numpy as np
import pytest
from layer_table import LAYERS
from two_worlds import (
    RULES,
    batches_for,
    network,
    square,
    to_gpu,
    trained,
    trained_with_changing_rates,
)
from two_worlds import numbers as on_the_host

import fluxlite as fl


@pytest.fixture(autouse=True)
def device():
    with fl.simulate_gpu() as device:
        yield device


def numbers(shape, seed):
    return to_gpu(on_the_host(shape, seed))


@pytest.mark.parametrize("name", LAYERS)
def test_every_layer(name):
    make, shape = LAYERS[name]
    rule = fl.AdamW(0.01, decay=0.1)
    eager, replayed = [
        trained(make, batches_for(name, shape), square, rule, captured, steps=10, place=to_gpu)
        for captured in (False, True)
    ]
    assert replayed == eager


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_every_optimizer(rule, dtype):
    """With BatchNorm's statistics and Dropout's draws."""
    batches = [on_the_host((6, 3), i, dtype) for i in range(3)]
    eager, replayed = [
        trained(lambda: network(dtype), batches, square, rule, captured, steps=20, place=to_gpu)
        for captured in (False, True)
    ]
    assert replayed == eager


def test_a_schedule_an_adjusted_rate_and_a_frozen_layer_need_no_word():
    assert trained_with_changing_rates(True, to_gpu) == trained_with_changing_rates(False, to_gpu)


def test_the_older_styles_state_outside_and_numbers_of_numpy():
    def run(captured):
        w = fl.param(fl.gpu(np.ones((3, 2), np.float32)))
        memory = fl.gpu(np.zeros((1, 2), np.float32))

        def step(x, rate):
            after = np.tanh(x @ w + memory)
            loss = np.mean(after**2)
            fl.back(loss)
            w.data -= rate * w.grad
            w.grad[...] = 0
            memory[...] = after.data[:1]
            return loss.data, after.data

        run = fl.captured(step) if captured else step
        made = [run(numbers((6, 3), i), np.float32(0.1 / (i + 1))) for i in range(6)]
        return [fl.cpu(x).tobytes() for pair in made for x in pair] + [fl.cpu(memory).tobytes()]

    assert run(True) == run(False)


def test_what_a_step_changes_or_assigns_is_changed_where_it_was():
    class Counter:
        total = fl.gpu(np.zeros(3, np.float32))

    def run(captured):
        counter = Counter()
        counter.total = fl.gpu(np.zeros(3, np.float32))

        def step(x):
            x += 1
            counter.total = counter.total + x

        run = fl.captured(step) if captured else step
        x = fl.gpu(np.arange(3, dtype=np.float32))
        for _ in range(6):
            run(x)
        return x.tolist(), counter.total.tolist()

    assert run(True) == run(False)


def test_indices_windows_and_functions_of_two_results():
    def step(x, i):
        whole, rest = np.divmod(x, 0.7)
        y = np.zeros_like(x)
        y[1:] = x[:-1]
        y[0] += 2
        np.add.at(y, i, x)
        return x[i], whole, rest, y.T, np.sort(y, axis=0)[::-1], np.concatenate([x, y]) ** 0.5, np.where(x > 0, x, 1.0)

    run = fl.captured(step)
    for seed in range(5):
        x, i = numbers((4, 3), seed), fl.gpu(np.random.default_rng(seed).integers(0, 4, 4))
        for one, two in zip(run(x, i), step(x, i), strict=True):
            np.testing.assert_array_equal(fl.cpu(one), fl.cpu(two))
    assert run.plans


def test_a_replay_is_one_order(device):
    model = fl.gpu(fl.Chain(fl.Dense(3, 4, np.tanh), fl.Dropout(0.5), fl.Dense(4, 1)))
    state = fl.setup(fl.Adam(0.01), model)

    @fl.captured
    def step(x):
        loss, (grads,) = fl.withgradient(lambda m: square(m(x)), model)
        fl.update(state, model, grads)
        return loss

    x = numbers((6, 3), 0)
    for _ in range(3):
        step(x)
    device.synchronize()
    with fl.receipt() as r:
        step(x)
    (graph,) = [name for name in r.launched if name.startswith("graph of")]
    assert r.launched == {graph: 1, "random": 2, "copyto": 1, "copy": 1} and r.memsets == 1
    assert graph == f"graph of {sum(r.in_graphs.values())} kernels" and r.in_graphs["matmul"] == 5
    assert r.in_graphs["adam"] == 4, "one launch for each parameter, as eagerly"
    assert (r.host_to_device.count, r.host_to_device.bytes, r.device_to_host.count) == (1, 28 * 8, 0)
    asked = {moment.kind: moment.went_on - moment.asked for moment in r.timeline()}
    assert asked["graph"] == pytest.approx(5e-6)
    assert step.explain().startswith("7")


def test_a_part_that_is_changed_in_place_is_not_written_onto_itself():
    w = fl.gpu(np.ones((6, 3), np.float32))

    @fl.captured
    def step(x):
        w[0] -= x[1]
        return w * 1

    for _ in range(3):
        step(numbers((6, 3), 0))
    assert step.explain().startswith("2 calls were noted")


def test_numbers_that_stay_the_same_are_sent_once():
    x = numbers((6, 3), 0)
    w = fl.gpu(np.ones((3, 1), np.float32))
    state = fl.setup(fl.Momentum(0.1), w)

    @fl.captured
    def step(x):
        fl.update(state, w, fl.gradient(lambda w: square(x @ w), w)[0])

    for _ in range(3):
        step(x)
    with fl.receipt() as r:
        step(x)
        step(x)
        fl.adjust(state, 0.2)
        step(x)
    assert r.host_to_device.count == 1


def test_a_step_is_checked_against_itself():
    batches = [(numbers((6, 3), i),) for i in range(3)]
    model = fl.gpu(network())
    state = fl.setup(fl.Adam(0.1), model)
    outside = [1.0]

    def step(x):
        loss, (grads,) = fl.withgradient(lambda m: square(m(x)), model)
        fl.update(state, model, grads)
        return loss * float(open_file())

    def open_file():
        with open(__file__) as file:
            return len(file.readline()) * 0 + outside[0]

    run = fl.captured(step, check=3)
    for i in range(12):
        run(*batches[i % 3])


def test_training_is_captured():
    def run(captured):
        fl.seed(5)
        model = fl.gpu(network())
        data = [(numbers((6, 3), i), numbers((6, 2), i + 9)) for i in range(4)]
        state = fl.setup(fl.Adam(0.01), model)
        fl.train(lambda m, x, y: fl.mse(m(x), y), model, data, state, epochs=3, captured=captured)
        return [fl.cpu(w).tobytes() for _, w in fl.trainables(model)]

    assert run(True) == run(False)


# -- what's refused ----------------------------------------------------------------------------------------------------


def sum_read(x):
    return x * float(np.sum(x))


def uploading(x):
    return x + fl.gpu(np.ones(3, np.float32))


def with_a_list_as_index(x):
    return x[[0, 1]]


def waiting(x):
    y = x * 2
    fl.device_of(y).synchronize()
    return y


def masked(x):
    return np.sum(x[x > 0])


def drawn_on_the_host(x):
    return fl.gradient(lambda x: np.sum(DROPOUT(x)), x)


DROPOUT = fl.Dropout(0.5, rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (sum_read, r"float\(x\) of what the step computes can't be captured"),
        (uploading, "a copy to the GPU in the step can't be captured"),
        (with_a_list_as_index, "a copy to the GPU in the step can't be captured"),
        (waiting, "waiting for the GPU in the step can't be captured"),
        (masked, r"x\[mask\]"),
        (drawn_on_the_host, "a draw on the host"),
        (lambda x: np.nan_to_num(x, copy=False), r"np\.nan_to_num\(x, copy=False\)"),
    ],
)
def test_what_a_graph_cannot_have_is_refused_with_its_line(step, words):
    with pytest.raises(fl.CaptureError, match=rf"test_on_device.py, line \d+: .*{words}"):
        fl.captured(step)(numbers((3,), 0))
    assert uploading(numbers((3,), 0)).shape == (3,), "outside of it, all is as before"


def test_one_graph_is_on_one_device():
    with fl.simulate_gpu(2):
        one, other = [device(np.ones(3, np.float32)) for device in fl.cuda.devices()]
        with pytest.raises(fl.CaptureError, match="finds arrays on Simulated:0 and on Simulated:1, and a graph is on"):
            fl.captured(lambda x, y: (x + 1, y + 1))(one, other)
        step = fl.captured(lambda x: x + 1)
        for _ in range(4):
            assert step(other).tolist() == [2, 2, 2] and step(other).device == other.device
            assert step(one).device == one.device


def test_real_cupy_is_refused_in_a_sentence():
    array = type("ndarray", (), {"__module__": "cupy"})
    with pytest.raises(fl.CaptureError, match="an argument is a cupy.ndarray, which can't be captured: CuPy refuses"):
        fl.captured(lambda x: x)(array())
    found = array()
    with pytest.raises(fl.CaptureError, match="what the step finds outside is a cupy.ndarray"):
        fl.captured(lambda: found)()
