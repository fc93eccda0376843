"""Recurrent layers: the gradient of one LSTM, and a step of a network that reads characters.

PyTorch computes a whole sequence in its own C++. Beside it, the same LSTM written by hand in NumPy, as fast as we could
make it, says what NumPy allows, and what fluxlite's own way around it costs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .harness import Bar, Benchmark, Contender, Judgement
from .harness import report as report_race

COUNT, LENGTH, INPUTS, OUTPUTS = 32, 50, 64, 128
LETTERS, RATE, STEPS = 64, 1e-3, 4
LOSS = 4.14958  # of the last of these steps; fluxlite and PyTorch agree
FEWEST_ROUNDS = 15
Result = tuple[Any, Any]  # what came out, and what should have


def problem() -> tuple[np.ndarray, ...]:
    """The input, the three arrays of an LSTM, and what the outputs are multiplied with for a loss."""
    rng = np.random.default_rng(0)
    shapes = [(COUNT, LENGTH, INPUTS), (4 * OUTPUTS, INPUTS), (4 * OUTPUTS, OUTPUTS), (4 * OUTPUTS,)]
    scales = [1, INPUTS**-0.5, OUTPUTS**-0.5, 0.1]
    arrays = [(rng.standard_normal(shape) * scale).astype(np.float32) for shape, scale in zip(shapes, scales)]
    return *arrays, rng.standard_normal((COUNT, LENGTH, OUTPUTS)).astype(np.float32)


# -- The gradient of one LSTM ----------------------------------------------------------------------


def direction() -> np.ndarray:
    return np.random.default_rng(1).standard_normal((4 * OUTPUTS, OUTPUTS))


def expected_slope() -> float:
    """How the loss changes as the recurrent weights move in one direction: the difference of two, in float64."""
    x, Wi, Wh, bias, weights = (array.astype(float) for array in problem())

    def loss(Wh: np.ndarray) -> float:
        h = c = np.zeros((COUNT, OUTPUTS))
        total = 0.0
        for t in range(LENGTH):
            i, f, n, o = np.split(x[:, t] @ Wi.T + h @ Wh.T + bias, 4, axis=1)
            c = c / (1 + np.exp(-f)) + np.tanh(n) / (1 + np.exp(-i))
            h = np.tanh(c) / (1 + np.exp(-o))
            total += np.sum(h * weights[:, t])
        return total

    step = 1e-5 * direction()
    return (loss(Wh + step) - loss(Wh - step)) / 2e-5


def lstm_fluxlite() -> Callable[[], Result]:
    import fluxlite as fl

    x, Wi, Wh, bias, weights = problem()
    model, expected = fl.Recurrence(fl.LSTMCell.of(Wi, Wh, bias)), expected_slope()

    def run() -> Result:
        grads = fl.gradient(lambda m: np.sum(m(x) * weights), model)[0]
        return np.sum(grads.cell.Wh * direction()), expected

    return run


def lstm_torch() -> Callable[[], Result]:
    import torch

    x, Wi, Wh, bias, weights = map(torch.from_numpy, problem())
    model, expected = torch.nn.LSTM(INPUTS, OUTPUTS, batch_first=True), expected_slope()
    with torch.no_grad():
        for parameter, array in zip(model.parameters(), (Wi, Wh, bias, torch.zeros_like(bias))):
            parameter.copy_(array)

    def run() -> Result:
        model.zero_grad()
        (model(x)[0] * weights).sum().backward()
        return np.sum(model.weight_hh_l0.grad.numpy() * direction()), expected

    return run


def lstm_by_hand() -> Callable[[], Result]:
    x, Wi, Wh, bias, weights = problem()
    expected = expected_slope()

    def run() -> Result:
        y, kept = forward(x, Wi, Wh, bias)
        np.sum(y * weights)
        return np.sum(backward(weights, x, Wh, *kept)[1] * direction()), expected

    return run


def forward(x: np.ndarray, Wi: np.ndarray, Wh: np.ndarray, bias: np.ndarray) -> tuple:
    """Features first within a step, one tanh for all gates, everything in place."""
    n = OUTPUTS
    halves = np.array([0.5, 0.5, 1, 0.5], np.float32)[:, None, None]
    halved = [(W.reshape(4, n, -1) * halves).reshape(4 * n, -1) for W in (Wi, Wh, bias)]
    gates = np.matmul(halved[0], x.transpose(1, 2, 0))
    gates += halved[2]
    hs, cs = np.zeros((2, LENGTH + 1, n, COUNT), np.float32)
    tanhs, product = np.empty((LENGTH, n, COUNT), np.float32), np.empty((4 * n, COUNT), np.float32)
    part = np.empty((n, COUNT), np.float32)
    for t in range(LENGTH):
        gate = gates[t]
        gate += np.matmul(halved[1], hs[t], out=product)
        np.tanh(gate, out=gate)
        for sigmoids in (gate[: 2 * n], gate[3 * n :]):
            sigmoids += 1
            sigmoids *= 0.5
        c = np.multiply(gate[n : 2 * n], cs[t], out=cs[t + 1])
        c += np.multiply(gate[:n], gate[2 * n : 3 * n], out=part)
        np.multiply(gate[3 * n :], np.tanh(c, out=tanhs[t]), out=hs[t + 1])
    return np.ascontiguousarray(hs[1:].transpose(2, 0, 1)), (gates, hs, cs, tanhs)


def backward(g: np.ndarray, x: np.ndarray, Wh: np.ndarray, gates: Any, hs: Any, cs: Any, tanhs: Any) -> tuple:
    """The gradients of the weights and of the bias."""
    n = OUTPUTS
    g = np.ascontiguousarray(g.transpose(1, 2, 0))
    made, d = np.empty((4 * n, LENGTH, COUNT), np.float32), np.empty((4, n, COUNT), np.float32)
    slopes = np.empty_like(d)
    dh, dc, part = np.zeros((3, n, COUNT), np.float32)
    for t in reversed(range(LENGTH)):
        dh += g[t]
        gate = gates[t].reshape(4, n, COUNT)
        i, f, cell, o = gate
        np.subtract(1, gate, out=slopes)
        slopes *= gate
        np.subtract(1, np.multiply(cell, cell, out=slopes[2]), out=slopes[2])
        dc += np.multiply(dh, o, out=part)
        part *= tanhs[t]
        part *= tanhs[t]
        dc -= part
        for block, (one, other) in enumerate(((dc, cell), (dc, cs[t]), (dc, i), (dh, tanhs[t]))):
            np.multiply(one, other, out=d[block])
        d *= slopes
        dc *= f
        made[:, t] = flat = d.reshape(4 * n, COUNT)
        np.matmul(Wh.T, flat, out=dh)
    made = made.reshape(4 * n, -1)
    before = np.ascontiguousarray(hs[:-1].transpose(1, 0, 2)).reshape(n, -1)
    return made @ x.transpose(1, 0, 2).reshape(-1, INPUTS), made @ before.T, made.sum(1)


# -- A step of a network that reads characters -----------------------------------------------------


def characters() -> tuple[np.ndarray, np.ndarray]:
    """Pieces of a text, as the numbers of its characters, and the numbers of the next ones."""
    text = np.random.default_rng(2).geometric(0.1, COUNT * LENGTH + 1) % LETTERS
    return text[:-1].reshape(COUNT, LENGTH), text[1:].reshape(COUNT, LENGTH)


def weights() -> list[np.ndarray]:
    """The arrays of two LSTMs and a Dense layer."""
    rng, found = np.random.default_rng(3), []
    for inputs in (LETTERS, OUTPUTS):
        found += [rng.uniform(-0.09, 0.09, (4 * OUTPUTS, n)).astype(np.float32) for n in (inputs, OUTPUTS)]
        found.append(np.zeros(4 * OUTPUTS, np.float32))
    return [*found, rng.uniform(-0.09, 0.09, (LETTERS, OUTPUTS)).astype(np.float32), np.zeros(LETTERS, np.float32)]


def characters_fluxlite() -> Callable[[], Result]:
    import fluxlite as fl

    numbers, following = characters()

    def run() -> Result:
        a = weights()
        first, second = (fl.Recurrence(fl.LSTMCell.of(*a[i : i + 3])) for i in (0, 3))
        model = fl.Chain(first, second, fl.Dense.of(*a[6:]))
        state = fl.setup(fl.Adam(RATE), model)
        for _ in range(STEPS):
            x = fl.onehotbatch(numbers, range(LETTERS))
            loss, grads = fl.withgradient(lambda m, x=x: fl.logitcrossentropy(m(x), following), model)
            fl.update(state, model, grads[0])
        return loss, LOSS

    return run


def characters_torch() -> Callable[[], Result]:
    import torch

    numbers, following = map(torch.from_numpy, characters())

    def run() -> Result:
        a = [torch.from_numpy(array) for array in weights()]
        lstm = torch.nn.LSTM(LETTERS, OUTPUTS, 2, batch_first=True)
        head = torch.nn.Linear(OUTPUTS, LETTERS)
        parameters, none = [*lstm.parameters(), *head.parameters()], torch.zeros(4 * OUTPUTS)
        with torch.no_grad():
            for parameter, array in zip(parameters, (*a[:3], none, *a[3:6], none, *a[6:])):
                parameter.copy_(array)
        for second in (lstm.bias_hh_l0, lstm.bias_hh_l1):  # of the two biases, one trains
            second.requires_grad_(False)
        optimizer = torch.optim.Adam([p for p in parameters if p.requires_grad], lr=RATE)
        for _ in range(STEPS):
            x = torch.nn.functional.one_hot(numbers, LETTERS).float()
            scores = head(lstm(x)[0])
            loss = torch.nn.functional.cross_entropy(scores.reshape(-1, LETTERS), following.reshape(-1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return loss.item(), LOSS

    return run


# -- The race --------------------------------------------------------------------------------------


def check(result: object) -> str:
    got, expected = result  # type: ignore[misc]
    return "" if np.isclose(got, expected, rtol=0.001) else f"refused: {got}, not {expected}"


LSTM, BY_HAND, EAGER = "LSTM's gradient, fluxlite", "LSTM's gradient, NumPy by hand", "LSTM's gradient, PyTorch eager"
TEXT, TEXT_EAGER = "characters, step, fluxlite", "characters, step, PyTorch eager"
BENCHMARK = Benchmark(
    title=f"Recurrent layers: LSTM {INPUTS} to {OUTPUTS}, {LENGTH} steps, batch {COUNT}; two of them on characters",
    contenders=(
        # PyTorch's threads stay busy for a while after it's done, so neither of the two that are compared comes next.
        Contender(EAGER, lstm_torch, 1),
        Contender(TEXT_EAGER, characters_torch, STEPS),
        Contender(TEXT, characters_fluxlite, STEPS),
        Contender(LSTM, lstm_fluxlite, 1),
        Contender(BY_HAND, lstm_by_hand, 1),
    ),
    reference=EAGER,
    bars=(
        Bar(LSTM, 1.3),
        Bar(LSTM, 1.15, BY_HAND),
        Bar(TEXT, 1.0, TEXT_EAGER),
    ),
    check=check,
    steps=1,
)


def report(rounds: int) -> list[Judgement]:
    return report_race(__name__, max(rounds, FEWEST_ROUNDS))
