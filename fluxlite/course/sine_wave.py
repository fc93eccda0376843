"""Lesson 05's sine-wave RNN as a program, with a stopwatch for each of its phases.

    python -m fluxlite.course.sine_wave          on the CPU
    python -m fluxlite.course.sine_wave --gpu    on the GPU
    nsys profile --stats=true python -m fluxlite.course.sine_wave --gpu    with NVIDIA's profiler, phases by name

Its last line is JSON: each phase's seconds. It can't see the time before the first phase or after the last; for that,
time the whole program from outside.
"""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Iterable
from typing import Any

import numpy as np

import fluxlite as fl


def problem() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Lesson 05's data and weights in Float32: x (20, 1, 1), y (20, 1, 1), w1 (7, 6) and w2 (6, 1)."""
    wave = np.sin(np.linspace(2, 10, 21)).astype(np.float32).reshape(21, 1, 1)
    random = np.random.default_rng(1)
    w1 = (random.standard_normal((7, 6)) * 0.4).astype(np.float32)
    w2 = (random.standard_normal((6, 1)) * 0.3).astype(np.float32)
    return wave[:-1].copy(), wave[1:].copy(), w1, w2


def training_step(x: Any, y: Any, memory: Any, w1: Any, w2: Any, rate: float = 0.1) -> tuple[Any, Any]:
    """One training step, which changes `w1` and `w2` in place: returns the loss, and the memory for the next step.

    x (N, 1), y (N, 1), memory (N, H), w1 (1 + H, H), w2 (H, 1), all with one dtype and on one device.
    """

    def loss(w1: Any, w2: Any) -> tuple[Any, Any]:
        after = np.tanh(np.concatenate([x, memory], axis=1) @ w1)
        return np.sum((after @ w2 - y) ** 2) / 2, after

    (error, after), (g1, g2) = fl.withgradient(loss, w1, w2)
    w1 -= rate * g1
    w2 -= rate * g2
    return error, after


def train(x: Any, y: Any, w1: Any, w2: Any, epochs: Iterable[int] = range(1, 201)) -> list[float]:
    """Train `w1` and `w2` in place, one step per point in each epoch; returns every tenth epoch's loss."""
    history = []
    for epoch in epochs:
        memory, total = np.zeros_like(w2.T), 0
        for point, target in zip(x, y):
            error, memory = training_step(point, target, memory, w1, w2)
            total = total + error
        if epoch % 10 == 0:
            history.append(float(fl.cpu(total)))
    return history


def predict(x: Any, w1: Any, w2: Any) -> np.ndarray:
    """For each of the 20 points, the network's prediction of the next one, on the CPU."""
    memory, guesses = np.zeros_like(w2.T), []
    for point in x:
        memory = np.tanh(np.concatenate([point, memory], axis=1) @ w1)
        guesses.append(memory @ w2)
    return fl.cpu(np.concatenate(guesses)).ravel()


class Stopwatch:
    """The seconds from each `lap` to the next."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self.last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = now - self.last
        self.last = now


def main(arguments: list[str]) -> int:
    watch = Stopwatch()
    from fluxlite.pictures import plots

    figure, axes = plots()
    watch.lap("import Matplotlib")
    device = fl.require_gpu() if "--gpu" in arguments else fl.get_device("CPU")
    with fl.cuda.time_range("data and weights"):
        x, y, w1, w2 = device(problem())
    watch.lap("data and weights")
    with fl.cuda.time_range("train: first epoch"):
        train(x, y, w1, w2, epochs=[1])
        device.synchronize()  # if you stop the clock before the GPU is done, the time is too short
    watch.lap("train: first epoch")
    with fl.cuda.time_range("train: 199 epochs"):
        history = train(x, y, w1, w2, epochs=range(2, 201))
        device.synchronize()
    watch.lap("train: 199 epochs")
    axes.plot(fl.cpu(y).ravel(), "o", label="actual")
    axes.plot(predict(x, w1, w2), "o", markerfacecolor="none", label="predicted")
    axes.legend()
    figure.savefig(io.BytesIO())
    watch.lap("predict and plot")
    print(f"loss {history[-1]:.4f}")
    print(json.dumps(watch.laps))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
