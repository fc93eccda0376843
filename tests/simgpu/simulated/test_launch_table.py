"""The simulated GPU asks for as many kernels, memsets, copies and waits as CuPy 14.2: `benchmarks/launch_table.py`."""

import re

import numpy as np
import pytest
import rehearsal
import rehearsed_kernels
from inside import cupy_devices

import fluxlite as fl
from benchmarks import launch_table
from benchmarks.launch_table import ROWS
from fluxlite import receipt

LINES = [row.line for row in ROWS]


@pytest.fixture(scope="module")
def simulated_operands():
    with fl.simulate_gpu() as device:
        fl.seed(1)
        yield launch_table.on(device)


def test_each_row_has_its_source():
    assert len(ROWS) >= 60 and len(set(LINES)) >= len(LINES) - 1
    for row in ROWS:
        assert re.fullmatch(r"cupy/\S+\.pyx?:\d+ \w+(\.\w+)*|fluxlite", row.where), row


@pytest.mark.parametrize("row", ROWS, ids=LINES)
def test_a_simulated_gpu_asks_for_what_cupy_asks_for(row, simulated_operands):
    with fl.simulate_gpu(), receipt() as r:
        launch_table.run(row.line, simulated_operands)
    found = (r.launches, r.memsets, *(c.count for c in (r.device_to_device, r.host_to_device, r.device_to_host)))
    assert found == (row.kernels, row.memsets, row.copies, row.to_card, row.to_host)


# -- what CuPy itself decides, in a rehearsal --------------------------------------------------------------------------


def asked_for(program):
    """What CuPy asks for, after a first time in which it makes its kernels. Those that aren't acted do nothing."""
    rehearsed_kernels.only_counting.append(program)
    try:
        program()
        rehearsal.streams.all()
        rehearsal.log.clear()
        program()
    finally:
        rehearsed_kernels.only_counting.clear()
    count = [entry[0] for entry in rehearsal.log].count
    copies = [entry[2] for entry in rehearsal.log if entry[0] == "copy"]
    return count("launch"), count("memset"), *(copies.count(way) for way in ("between", "in", "out"))


@pytest.fixture(scope="module")
def operands_of_cupy():
    if not rehearsal.is_on():
        pytest.skip("no rehearsal: pytest -m cuda begins one on a computer with CuPy and without a card")
    fl.seed(1)
    return launch_table.on(cupy_devices("CUDA")[0])


HERE = ROWS if rehearsal.is_on() else []  # cases that can't run are only noise


@pytest.mark.cuda
@pytest.mark.parametrize("row", HERE, ids=[row.line for row in HERE])
def test_cupy_asks_for_what_the_table_says(row, operands_of_cupy):
    if row.line.startswith("rng."):
        pytest.skip("not rehearsed: cuRAND")
    assert asked_for(lambda: launch_table.run(row.line, operands_of_cupy)) == tuple(row[1:6])


def one_step(rule, loss):
    def step(model, x, y):
        state = fl.setup(rule, model)
        _, (gradient, *_) = fl.withgradient(lambda model: loss(model(x), y), model)
        fl.update(state, model, gradient)

    return step


def programs():
    random = np.random.default_rng(1)
    x = random.standard_normal((64, 32), np.float32)
    labels = np.arange(64) % 10
    onehots, pictures = np.eye(10, dtype=np.float32)[labels], random.standard_normal((8, 10, 10, 1), np.float32)
    sequence = random.standard_normal((4, 7, 3), np.float32)

    def of_all(model, x):
        def loss(model, x):
            y = model(x)
            return np.sum(y[0] if type(y) is tuple else y)

        return fl.gradient(loss, model, x)

    fl.seed(1)
    mlp = fl.Chain(fl.Dense(32, 32, fl.relu), fl.Dense(32, 10))
    convolutions = fl.Chain(fl.Conv((3, 3), 1, 4, fl.relu, pad=1), fl.MaxPool((2, 2)))
    return {
        "Adam": (one_step(fl.Adam(1e-3), fl.logitcrossentropy), mlp, x, onehots),
        "Adam, labels": (one_step(fl.Adam(1e-3), fl.logitcrossentropy), mlp, x, labels),
        "Momentum": (one_step(fl.Momentum(1e-3), fl.mse), mlp, x, onehots),
        "convolutions": (of_all, convolutions, pictures),
        "RNN": (of_all, fl.RNN(3, 5), sequence),
        "LSTM": (of_all, fl.LSTM(3, 5), sequence),
        "GRU": (of_all, fl.GRU(3, 5), sequence),
        "LayerNorm": (of_all, fl.LayerNorm(32), x),
        "BatchNorm": (of_all, fl.BatchNorm(32), x),
        "attention": (of_all, fl.MultiHeadAttention(8, nheads=2), random.standard_normal((2, 5, 8), np.float32)),
        "embedding": (lambda model, i: fl.gradient(lambda m: np.sum(m(i)), model), fl.Embedding(10, 4), labels),
    }


@pytest.mark.cuda
@pytest.mark.parametrize("name", programs())
def test_whole_programs_ask_for_what_the_simulation_says(name, operands_of_cupy):
    program, *arguments = programs()[name]
    arguments = [fl.cpu(argument) for argument in arguments]
    there = [fl.get_device("CUDA", 0)(argument) for argument in arguments]
    by_cupy = asked_for(lambda: program(*there))
    with fl.simulate_gpu() as device:
        there = [device(argument) for argument in arguments]
        with receipt() as r:
            program(*there)
    copies = (c.count for c in (r.device_to_device, r.host_to_device, r.device_to_host))
    assert (r.launches, r.memsets, *copies) == by_cupy
