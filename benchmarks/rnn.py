"""The sine-wave RNN of the blog post: 4,000 steps with 48 weights, so this times the cost of a call.

Every contender is a program that its library's users would write. It updates its weights after every step, and reads
each step's loss as a Python number.
"""

from __future__ import annotations

import numpy as np

from .harness import Bar, Benchmark, Contender, Judgement
from .harness import report as report_race
from .rnn_peers import jax_jit, torch_eager
from .sine_wave import EPOCHS, HIDDEN, LENGTH, RATE, Train, check, problem


def numpy_by_hand() -> Train:
    def train() -> float:
        x, y, w1, w2 = problem()
        for _ in range(EPOCHS):
            total, h = 0.0, np.zeros((1, HIDDEN), np.float32)
            for j in range(LENGTH):
                xh = np.concatenate([x[j : j + 1], h], axis=1)
                h = np.tanh(xh @ w1)
                error = h @ w2 - y[j : j + 1]
                total += float(np.sum(error**2) / 2)
                g1 = xh.T @ ((error @ w2.T) * (1 - h * h))
                w2 -= RATE * (h.T @ error)
                w1 -= RATE * g1
        return total

    return train


def fluxlite_param() -> Train:
    import fluxlite as fl

    def train() -> float:
        x, y, w1, w2 = problem()
        w1, w2 = fl.param(w1), fl.param(w2)
        for _ in range(EPOCHS):
            total, h = 0.0, np.zeros((1, HIDDEN), np.float32)
            for j in range(LENGTH):
                xh = np.concatenate([x[j : j + 1], h], axis=1)
                h = np.tanh(xh @ w1)
                loss = np.sum((h @ w2 - y[j : j + 1]) ** 2) / 2
                fl.back(loss)
                w1.data -= RATE * w1.grad
                w2.data -= RATE * w2.grad
                w1.grad[...] = 0
                w2.grad[...] = 0
                total += float(loss.data)
                h = h.data
        return total

    return train


def fluxlite_withgradient() -> Train:
    import fluxlite as fl

    def train() -> float:
        x, y, w1, w2 = problem()
        for _ in range(EPOCHS):
            total, h = 0.0, np.zeros((1, HIDDEN), np.float32)
            for j in range(LENGTH):
                xh = np.concatenate([x[j : j + 1], h], axis=1)

                def step(w1, w2, xh=xh, target=y[j : j + 1]):
                    h = np.tanh(xh @ w1)
                    return np.sum((h @ w2 - target) ** 2) / 2, h

                (loss, h), (g1, g2) = fl.withgradient(step, w1, w2)
                w1 -= RATE * g1
                w2 -= RATE * g2
                total += float(loss)
        return total

    return train


def fluxlite_list() -> Train:
    """`withgradient` of one argument that holds both weights."""
    import fluxlite as fl

    def train() -> float:
        x, y, *weights = problem()
        for _ in range(EPOCHS):
            total, h = 0.0, np.zeros((1, HIDDEN), np.float32)
            for j in range(LENGTH):
                xh = np.concatenate([x[j : j + 1], h], axis=1)

                def step(weights, xh=xh, target=y[j : j + 1]):
                    h = np.tanh(xh @ weights[0])
                    return np.sum((h @ weights[1] - target) ** 2) / 2, h

                (loss, h), (grads,) = fl.withgradient(step, weights)
                for w, g in zip(weights, grads):
                    w -= RATE * g
                total += float(loss)
        return total

    return train


# Times NumPy by hand: what it costs that nobody has to write the derivatives.
BY_HAND = {"fluxlite param/back": 2.3, "fluxlite withgradient": 2.9, "fluxlite withgradient, a list": 3.1}
BENCHMARK = Benchmark(
    title=f"Sine-wave RNN, {EPOCHS} epochs of {LENGTH} steps",
    contenders=(
        Contender("NumPy by hand", numpy_by_hand),
        Contender("fluxlite param/back", fluxlite_param),
        Contender("fluxlite withgradient", fluxlite_withgradient),
        Contender("fluxlite withgradient, a list", fluxlite_list),
        Contender("PyTorch eager", torch_eager),
        # A compiled step is a different kind of program, so this is only for information.
        Contender("JAX jit per step (info)", jax_jit),
    ),
    reference="PyTorch eager",
    bars=tuple(
        Bar(style, at_most, reference)
        for style, by_hand in BY_HAND.items()
        for at_most, reference in ((by_hand, "NumPy by hand"), (0.5, "PyTorch eager"))
    ),
    check=check,
    steps=EPOCHS * LENGTH,
)


def report(rounds: int) -> list[Judgement]:
    return report_race("benchmarks.rnn", rounds)
