"""The sine-wave RNN of the blog post: 4,000 steps with 48 weights, which time a call's cost. And an LSTM's gradient.

Every contender is a program that its library's users would write. On the sine wave, it updates its weights after every
step, and reads each step's loss as a Python number. A step that's recorded or compiled is made once for all runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fluxlite_course import sine_wave

from .captured_torch import need_a_compiler
from .harness import Benchmark, Contender, Run

EPOCHS, LENGTH, HIDDEN, RATE = 200, 20, 6, 0.1
FINAL_LOSS = 0.0649  # of the last epoch
Step = Callable[[int, Any], tuple[float, Any]]  # takes a point's number and the memory; gives the loss, and the memory


def problem() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """x (20, 1), y (20, 1), w1 (7, 6) and w2 (6, 1), all float32: the lessons' arrays, the same at every call."""
    x, y, w1, w2 = sine_wave.problem()
    return x[:, 0], y[:, 0], w1, w2


def epochs(begin: Callable[[], tuple[Step, Any]]) -> Run:
    """The whole training, where `begin` gives the step, with new weights, and an empty memory."""

    def run() -> tuple[float, float]:
        step, empty = begin()
        for _ in range(EPOCHS):
            total, h = 0.0, empty
            for j in range(LENGTH):
                loss, h = step(j, h)
                total += loss
        return total, FINAL_LOSS

    return run


def numpy_by_hand() -> tuple[Step, Any]:
    x, y, w1, w2 = problem()

    def step(j: int, h: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal w1, w2
        xh = np.concatenate([x[j : j + 1], h], axis=1)
        h = np.tanh(xh @ w1)
        error = h @ w2 - y[j : j + 1]
        g1 = xh.T @ ((error @ w2.T) * (1 - h * h))
        w2 -= RATE * (h.T @ error)
        w1 -= RATE * g1
        return float(np.sum(error**2) / 2), h

    return step, np.zeros((1, HIDDEN), np.float32)


def fluxlite_param() -> tuple[Step, Any]:
    import fluxlite as fl

    x, y, *weights = problem()
    w1, w2 = map(fl.param, weights)

    def step(j: int, h: np.ndarray) -> tuple[float, np.ndarray]:
        after = np.tanh(np.concatenate([x[j : j + 1], h], axis=1) @ w1)
        loss = np.sum((after @ w2 - y[j : j + 1]) ** 2) / 2
        fl.back(loss)
        for w in (w1, w2):
            w.data -= RATE * w.grad
            w.grad[...] = 0
        return float(loss.data), after.data

    return step, np.zeros((1, HIDDEN), np.float32)


def fluxlite_withgradient() -> tuple[Step, Any]:
    import fluxlite as fl

    x, y, w1, w2 = problem()

    def step(j: int, h: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal w1, w2
        xh, target = np.concatenate([x[j : j + 1], h], axis=1), y[j : j + 1]

        def forward(w1: Any, w2: Any) -> tuple[Any, Any]:
            h = np.tanh(xh @ w1)
            return np.sum((h @ w2 - target) ** 2) / 2, h

        (loss, h), (g1, g2) = fl.withgradient(forward, w1, w2)
        w1 -= RATE * g1
        w2 -= RATE * g2
        return float(loss), h

    return step, np.zeros((1, HIDDEN), np.float32)


def captured_param() -> Run:
    import fluxlite as fl

    x, y, *first = problem()
    weights = [fl.param(w.copy()) for w in first]
    w1, w2 = weights

    @fl.captured  # once for all runs: the weights stay the same arrays, and begin anew in place
    def update(x: np.ndarray, y: np.ndarray, h: np.ndarray) -> tuple[Any, Any]:
        after = np.tanh(np.concatenate([x, h], axis=1) @ w1)
        loss = np.sum((after @ w2 - y) ** 2) / 2
        fl.back(loss)
        for w in weights:
            w.data -= RATE * w.grad
            w.grad[...] = 0
        return loss.data, after.data

    def begin() -> tuple[Step, Any]:
        for w, values in zip(weights, first):
            w.data[...] = values
        return reading(update, x, y), np.zeros((1, HIDDEN), np.float32)

    return epochs(begin)


def captured_withgradient() -> Run:
    import fluxlite as fl

    x, y, *first = problem()
    weights = [w.copy() for w in first]
    w1, w2 = weights

    @fl.captured
    def update(x: np.ndarray, y: np.ndarray, h: np.ndarray) -> tuple[Any, Any]:
        xh = np.concatenate([x, h], axis=1)

        def forward(w1: Any, w2: Any) -> tuple[Any, Any]:
            h = np.tanh(xh @ w1)
            return np.sum((h @ w2 - y) ** 2) / 2, h

        (loss, h), (g1, g2) = fl.withgradient(forward, w1, w2)
        w1[...] -= RATE * g1
        w2[...] -= RATE * g2
        return loss, h

    def begin() -> tuple[Step, Any]:
        for w, values in zip(weights, first):
            w[...] = values
        return reading(update, x, y), np.zeros((1, HIDDEN), np.float32)

    return epochs(begin)


def reading(update: Callable, x: np.ndarray, y: np.ndarray) -> Step:
    """The step that gives `update` its point, and reads the loss."""

    def step(j: int, h: np.ndarray) -> tuple[float, np.ndarray]:
        loss, h = update(x[j : j + 1], y[j : j + 1], h)
        return float(loss), h

    return step


def torch_compiled() -> Run:
    import torch

    need_a_compiler()

    @torch.compile
    def forward(w1: Any, w2: Any, x: Any, y: Any, h: Any) -> tuple[Any, Any]:
        after = torch.tanh(torch.cat([x, h], dim=1) @ w1)
        return torch.sum((after @ w2 - y) ** 2) / 2, after

    return epochs(lambda: torch_eager(forward))


def torch_eager(forward: Any = None) -> tuple[Step, Any]:
    import torch

    x, y, w1, w2 = map(torch.from_numpy, problem())
    w1.requires_grad_()
    w2.requires_grad_()

    def as_written(w1: Any, w2: Any, x: Any, y: Any, h: Any) -> tuple[Any, Any]:
        after = torch.tanh(torch.cat([x, h], dim=1) @ w1)
        return torch.sum((after @ w2 - y) ** 2) / 2, after

    forward = forward or as_written

    def step(j: int, h: Any) -> tuple[float, Any]:
        loss, after = forward(w1, w2, x[j : j + 1], y[j : j + 1], h)
        loss.backward()
        with torch.no_grad():
            for w in (w1, w2):
                w -= RATE * w.grad
                w.grad.zero_()
        return loss.item(), after.detach()

    return step, torch.zeros(1, HIDDEN)


def jax_jit() -> Run:
    import jax
    import jax.numpy as jnp

    def forward(weights, h, inputs, target):
        h = jnp.tanh(jnp.concatenate([inputs, h], axis=1) @ weights[0])
        return jnp.sum((h @ weights[1] - target) ** 2) / 2, h

    @jax.jit  # once for all runs, since compiling takes long
    def update(weights, h, x, y, j):  # pass j as a number: slicing outside would cost as much again
        inputs, target = (jax.lax.dynamic_slice_in_dim(array, j, 1) for array in (x, y))
        (loss, h), gradients = jax.value_and_grad(forward, has_aux=True)(weights, h, inputs, target)
        return [w - RATE * g for w, g in zip(weights, gradients)], h, loss

    def begin() -> tuple[Step, Any]:
        x, y, *weights = map(jnp.asarray, problem())

        def step(j: int, h: Any) -> tuple[float, Any]:
            nonlocal weights
            weights, h, loss = update(weights, h, x, y, j)
            return float(loss), h

        return step, jnp.zeros((1, HIDDEN))

    return epochs(begin)


# -- an LSTM's gradient: PyTorch computes a whole sequence in its own C++ -----------------------------------------

COUNT, STEPS, INPUTS, OUTPUTS = 32, 50, 64, 128
SLOPE = 128.422  # how much the loss grows along all recurrent weights; fluxlite and PyTorch agree


def lstm_problem(count: int) -> tuple[np.ndarray, ...]:
    """The input, the three arrays of an LSTM, and what the outputs are multiplied with for a loss."""
    rng = np.random.default_rng(0)
    shapes = [(count, STEPS, INPUTS), (4 * OUTPUTS, INPUTS), (4 * OUTPUTS, OUTPUTS), (4 * OUTPUTS,)]
    scales = [1, INPUTS**-0.5, OUTPUTS**-0.5, 0.1]
    arrays = [(rng.standard_normal(shape) * scale).astype(np.float32) for shape, scale in zip(shapes, scales)]
    return *arrays, rng.standard_normal((count, STEPS, OUTPUTS)).astype(np.float32)


def lstm(count: int = COUNT) -> Run:
    import fluxlite as fl

    x, Wi, Wh, bias, weights = lstm_problem(count)
    model = fl.Recurrence(fl.LSTMCell.of(Wi, Wh, bias))

    def run() -> tuple[Any, float]:
        (grads,) = fl.gradient(lambda m: np.sum(m(x) * weights), model)
        return np.sum(grads.cell.Wh), SLOPE

    return run


def lstm_torch(count: int = COUNT) -> Run:
    import torch

    x, Wi, Wh, bias, weights = map(torch.from_numpy, lstm_problem(count))
    model = torch.nn.LSTM(INPUTS, OUTPUTS, batch_first=True)
    with torch.no_grad():
        for parameter, array in zip(model.parameters(), (Wi, Wh, bias, torch.zeros_like(bias))):
            parameter.copy_(array)

    def run() -> tuple[Any, float]:
        model.zero_grad()
        (model(x)[0] * weights).sum().backward()
        return model.weight_hh_l0.grad.sum().item(), SLOPE

    return run


POINTS, TORCH, TORCH_LSTM = EPOCHS * LENGTH, "PyTorch eager", "LSTM's gradient, PyTorch eager"
JAX = "JAX jit per step"
CAPTURED = {"NumPy by hand": 1.1, JAX: 1.0}  # without the Python between the calls, it costs what the calls cost
BENCHMARK = Benchmark(
    rounds=7,
    title=f"Sine-wave RNN, {EPOCHS} epochs of {LENGTH} steps; LSTM {INPUTS} to {OUTPUTS}, {STEPS} steps, batch {COUNT}",
    contenders=(
        # PyTorch's threads stay busy for a while after it's done, so our LSTM doesn't come right after it.
        Contender(TORCH_LSTM, lstm_torch),
        # What it costs that nobody has to write the derivatives.
        Contender("NumPy by hand", lambda: epochs(numpy_by_hand), POINTS),
        Contender("fluxlite param/back", lambda: epochs(fluxlite_param), POINTS, {"NumPy by hand": 2.3, TORCH: 0.5}),
        Contender(
            "fluxlite withgradient", lambda: epochs(fluxlite_withgradient), POINTS, {"NumPy by hand": 2.9, TORCH: 0.5}
        ),
        Contender(TORCH, lambda: epochs(torch_eager), POINTS),
        Contender("fluxlite param/back, captured", captured_param, POINTS, CAPTURED),
        Contender("fluxlite withgradient, captured", captured_withgradient, POINTS, CAPTURED),
        Contender(JAX, jax_jit, POINTS),
        Contender("PyTorch compiled (info)", torch_compiled, POINTS),
        Contender("LSTM's gradient, fluxlite", lstm, 1, {TORCH_LSTM: 1.3}),
    ),
)
