"""`estimate`: seconds and a receipt from a simulated GPU of its own, the same whatever else is going on."""

import numpy as np
import pytest
from inside import preset
from kinds import f32

import fluxlite as fl
from fluxlite import clock, estimate, receipt
from fluxlite.devices import cpu, devices, gpu
from simgpu import meta


def matmul(x, y):
    return x @ y


def problem(width=32, batch=16, rule=fl.Adam):
    model = fl.Chain(fl.Dense(width, width, np.tanh), fl.Dense(width, 10))
    return model, fl.setup(rule(0.001), model), f32(batch, width), f32(batch, 10)


def step(model, state, x, y):
    loss, (grads,) = fl.withgradient(lambda m: fl.mse(m(x), y), model)
    fl.update(state, model, grads)
    return loss


def test_a_product_on_each_card():
    x = f32(2048, 2048)
    seconds = {card: estimate(matmul, x, x, like=card, shapes_only=True).seconds for card in ("NVIDIA T4", "H200")}
    assert float(seconds["NVIDIA T4"]) == pytest.approx(2.87e-3, rel=0.01)
    assert repr(seconds["NVIDIA T4"]) == "2.89 ms simulated (NVIDIA T4)"
    assert seconds["H200"] * 5 < float(seconds["NVIDIA T4"])
    with pytest.raises(ValueError, match="NVIDIA T4, GTX 1650"):
        estimate(matmul, x, x, like="Voodoo 2")


def test_moving_and_first_uses_do_not_count_unless_asked_for():
    x = f32(64, 64)
    e = estimate(matmul, x, x)
    assert (e.receipt.host_to_device.count, e.receipt.launches) == (0, 1)
    card = preset("NVIDIA T4")
    assert float(e.seconds) < 1e-4
    assert float(estimate(matmul, x, x, first_use=True).seconds) == pytest.approx(e.seconds + card.first_use)


def test_the_callers_arrays_stay_as_they_are():
    model, state, x, y = problem()
    before = [leaf.copy() for leaf in fl.leaves((model, state, x, y)) if isinstance(leaf, np.ndarray)]
    result = estimate(step, model, state, x, y).result
    after = [leaf for leaf in fl.leaves((model, state, x, y)) if isinstance(leaf, np.ndarray)]
    assert len(before) == len(after) > 6
    assert all((a == b).all() for a, b in zip(before, after, strict=True))
    assert repr(result.device) == "Simulated:0 (estimate)"
    assert float(cpu(result)) == pytest.approx(float(step(model, state, x, y)), rel=1e-5)


def test_a_simulation_that_is_on_does_not_notice(simulated):
    x = gpu(f32(32, 32))
    x @ x
    memory, time, peak = simulated.memory().used, clock(), simulated.memory().peak
    with receipt() as outer:
        e = estimate(lambda x: gpu(x) @ x, x)
        assert gpu(x) is x and devices() == [simulated]
    assert e.receipt.launches == 1
    assert (outer.launches, outer.host_to_device.count, outer.device_to_host.count) == (0, 0, 0)
    assert outer.timeline() == [] and len(outer.by_line()) == 0
    assert (simulated.memory().used, clock(), simulated.memory().peak) == (memory, time, peak)
    assert x.device is simulated


def test_it_is_the_same_whatever_else_is_going_on(simulated):
    arguments = problem()
    alone = estimate(step, *arguments)
    x = gpu(f32(500, 500))
    for _ in range(3):
        x @ x
    busy = estimate(step, *arguments)
    fl.simulate_gpu(2, like="H200")
    other = estimate(step, *arguments)
    fl.simulate_gpu(False)
    without = estimate(step, *arguments)
    for e in (busy, other, without):
        assert float(e.seconds) == float(alone.seconds)
        assert (e.receipt.launched, e.receipt.peak_memory) == (alone.receipt.launched, alone.receipt.peak_memory)


def test_inside_gpu_clock_and_receipts_are_those_of_the_estimate():
    seen = []

    def program(x):
        start = clock()
        y = gpu(f32(4))
        with receipt() as inner:
            z = x + y
        seen.append((clock() - start, inner.launches, y.device is x.device, fl.gpu_name()))
        return z

    e = estimate(program, f32(4))
    assert seen == [(pytest.approx(15e-6 + 15e-6, rel=1e-2), 1, True, "Simulated")]
    assert e.receipt.launches == 1 and e.receipt.host_to_device.count == 1
    assert not fl.functional("Simulated")


def test_what_was_before_comes_back_also_after_an_error(simulated):
    with pytest.raises(ZeroDivisionError):
        estimate(lambda x: 1 / 0, f32(2))
    assert devices() == [simulated] and gpu(f32(2)).device is simulated


# -- from shapes alone ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rule", "width", "batch"), [(fl.Adam, 7, 3), (fl.Momentum, 300, 200)])
def test_a_training_step_costs_the_same_from_shapes_alone(rule, width, batch):
    arguments = problem(width, batch, rule)
    computed, shapes = (estimate(step, *arguments, shapes_only=only).receipt for only in (False, True))
    assert shapes.launched == computed.launched
    assert float(shapes.seconds) == float(computed.seconds)
    assert shapes.peak_memory == computed.peak_memory
    assert [m[:10] for m in shapes.timeline()] == [m[:10] for m in computed.timeline()]


X = np.arange(24, dtype=np.float32).reshape(4, 6) / 24
B = np.arange(6, dtype=np.float32)
C = np.ones((3, 4, 6), np.float32)
I = np.array([0, 2, 1])  # noqa: E741
PROGRAMS = [
    lambda x, b, c, i: x + b,
    lambda x, b, c, i: (x.T + b[:4], np.einsum("ij,ij", x, x)),
    lambda x, b, c, i: x * 2 > b,
    lambda x, b, c, i: np.float64(2) * x,
    lambda x, b, c, i: np.divmod(x, b + 1),
    lambda x, b, c, i: np.add(x, b, out=x),
    lambda x, b, c, i: np.add.reduce(c, axis=(0, 2)),
    lambda x, b, c, i: np.add.accumulate(x),
    lambda x, b, c, i: x @ x.T,
    lambda x, b, c, i: b @ b,
    lambda x, b, c, i: c @ x.T,
    lambda x, b, c, i: b @ np.swapaxes(c, 1, 2),
    lambda x, b, c, i: np.matmul(x, x.T, out=np.zeros_like(x, shape=(4, 4))),
    lambda x, b, c, i: np.einsum("nij,ij->ni", c, x),
    lambda x, b, c, i: (x.sum(), x.sum(axis=0), x.sum(axis=-1, keepdims=True), np.sum(c, (0, 1))),
    lambda x, b, c, i: (np.mean(i), i.mean(axis=0), i.sum(), (i > 0).sum(), np.std(c, axis=1)),
    lambda x, b, c, i: (x.max(), np.min(x, axis=1), x.argmax(), x.argmax(axis=1), np.any(x), x.all(axis=0)),
    lambda x, b, c, i: (c.var(axis=0), np.prod(c, axis=2), c.max(axis=(1, 2), keepdims=True)),
    lambda x, b, c, i: (x.T, x.reshape(2, 12), x.T.reshape(-1), x[1:, ::2], x[None], np.squeeze(x[:1])),
    lambda x, b, c, i: (np.broadcast_to(b, (5, 6)) + 1, np.expand_dims(x, 1), np.moveaxis(c, 0, 2)),
    lambda x, b, c, i: (x[i], x[:, i], x[[0, 1], [1, 2]], np.take(x, i), np.take(x, i, axis=1), np.take(x, 1, axis=0)),
    lambda x, b, c, i: (x.copy(), x.T.copy(), np.copy(x.T), x.astype(np.float16), x.T.astype(np.float64)),
    lambda x, b, c, i: (np.zeros_like(x.T), np.ones_like(x, dtype=np.int8), np.full_like(x, 3.0), np.empty_like(b)),
    lambda x, b, c, i: (np.zeros_like(x, shape=(2, 3)), np.zeros_like(x, shape=7), np.full_like(x, 1, np.int16)),
    lambda x, b, c, i: (np.concatenate([x, x]), np.concatenate([x, x], axis=1), np.concatenate([b, b])),
    lambda x, b, c, i: (np.stack([b, b]), np.stack([x, x]), np.stack([x, x], 1), np.stack([x, x], axis=-1)),
    lambda x, b, c, i: (np.where(x > 0, x, 0), np.where(b > 0, b, x), np.clip(x, 0, 1), np.round(x, 1), x.clip(0, b)),
    lambda x, b, c, i: (x.__setitem__(0, b), x.__setitem__(i, 0.0), np.add.at(b, i, 1.0), x),
    lambda x, b, c, i: (b.sort(), b.fill(3), x.__isub__(1), b),
    lambda x, b, c, i: (x.device.rng.random(3), x.device.rng.standard_normal((2, 3), dtype=np.float32)),
    lambda x, b, c, i: fl.gradient(lambda x, b: np.sum(np.tanh(x[1:] * b) @ x.T), x, b),
]  # fmt: skip


def about(result):
    """What is known from shapes alone, and how it lies in memory."""
    if isinstance(result, (tuple, list)):
        return [about(part) for part in result]
    return result if not hasattr(result, "shape") else (result.shape, result.dtype, result.strides)


@pytest.mark.parametrize("small", [meta.SMALL, 0])  # with 0, no array of theirs is in memory
@pytest.mark.parametrize("program", PROGRAMS)
def test_shapes_alone_give_numpys_shapes_dtypes_and_launches(program, small, monkeypatch):
    monkeypatch.setattr(meta, "SMALL", small)
    computed, shapes = (estimate(program, X, B, C, I, shapes_only=only) for only in (False, True))
    assert about(shapes.result) == about(computed.result)
    assert shapes.receipt.launched == computed.receipt.launched
    assert float(shapes.seconds) == float(computed.seconds)


def test_values_are_zeros():
    e = estimate(lambda x: (x, x + 1, float(x.sum() + 5), x[x > 0]), X, shapes_only=True)
    x, y, number, picked = e.result
    assert not cpu(x).any() and not cpu(y).any() and number == 0 and picked.shape == (0,)


@pytest.mark.parametrize(
    ("program", "error"),
    [
        (lambda x: x + np.ones_like(x, shape=(5,)), ValueError),
        (lambda x: x.sum(axis=2), np.exceptions.AxisError),
        (lambda x: x << 1, TypeError),
        (lambda x: np.concatenate([x, x[:, :2]]), ValueError),
        (lambda x: x + np.ones(6), TypeError),
    ],
)
def test_mistakes_are_noticed_from_shapes_alone(program, error):
    for only in (False, True):
        with pytest.raises(error):
            estimate(program, X, shapes_only=only)


def test_memory_runs_out_from_shapes_alone():
    with pytest.raises(MemoryError, match="out of memory"):
        estimate(lambda x: [x + 1 for _ in range(1100)], f32(1000, 1000), shapes_only=True, like="GTX 1650")
