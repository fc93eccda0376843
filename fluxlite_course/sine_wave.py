"""The sine-wave RNN of lessons 00, 04 and 08: its data, a step, its training; and as a program that times its phases.

    python -m fluxlite_course.sine_wave          on the CPU
    python -m fluxlite_course.sine_wave --gpu    on the GPU
    nsys profile --stats=true python -m fluxlite_course.sine_wave --gpu    with NVIDIA's profiler, phases by name

Its last line is JSON: each phase's seconds. What comes before the first and after the last isn't in it.
"""

import argparse
import contextlib
import io
import json
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

import fluxlite as fl

TIMES = np.linspace(2, 18, 41)  # 21 points of data, and 20 more that the network never sees


def problem(hidden: int = 6, seed: int = 1, waves: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Data and weights in Float32: x and y (20, waves, 1), w1 (1 + hidden, hidden), w2 (hidden, 1), moved along t."""
    wave = np.sin(TIMES[:21, None] + np.linspace(0, 5, waves)).astype(np.float32)[:, :, None]
    random = np.random.default_rng(seed)
    w1 = random.standard_normal((1 + hidden, hidden)) * 0.4
    w2 = random.standard_normal((hidden, 1)) * 0.3
    return wave[:-1].copy(), wave[1:].copy(), w1.astype(np.float32), w2.astype(np.float32)


def step(x: Any, memory: Any, w1: Any, w2: Any) -> tuple[Any, Any]:
    """The output (N, 1) and the new memory (N, H), from the input x (N, 1) and the memory so far (N, H)."""
    after = np.tanh(np.concatenate([x, memory], axis=1) @ w1)
    return after @ w2, after


def training_step(x: Any, y: Any, memory: Any, w1: Any, w2: Any, rate: float = 0.1) -> tuple[Any, Any]:
    """One training step, which changes `w1` and `w2` in place: returns the loss, and the memory for the next step."""

    def loss(w1: Any, w2: Any) -> tuple[Any, Any]:
        output, after = step(x, memory, w1, w2)
        return np.sum((output - y) ** 2) / 2, after

    (error, after), (g1, g2) = fl.withgradient(loss, w1, w2)
    w1 -= rate * g1
    w2 -= rate * g2
    return error, after


def train(x: Any, y: Any, w1: Any, w2: Any, epochs: Iterable[int] = range(1, 201)) -> list[float]:
    """Train `w1` and `w2` in place, one step for each point in each epoch; returns every tenth epoch's loss."""
    history = []
    for epoch in epochs:
        memory, total = np.zeros_like(w2.T), 0
        for point, target in zip(x, y):
            error, memory = training_step(point, target, memory, w1, w2)
            total = total + error
        if epoch % 10 == 0:
            history.append(float(fl.cpu(total)))
    return history


def run(x: Any, w1: Any, w2: Any, carry: bool = True, own: bool = False) -> tuple[Any, Any]:
    """The outputs (T, N, 1), and the memory after each (T, N, H), for the points x (T, N, 1), where they are.

    Without `carry`, the memory is empty at each step. With `own`, the input is the first point, then its own output.
    """
    empty = np.zeros_like(x, shape=(x.shape[1], w2.shape[0]))
    output, memory, outputs, memories = x[0], empty, [], []
    for point in x:
        output, after = step(output if own else point, memory, w1, w2)
        memory = after if carry else empty
        outputs.append(output)
        memories.append(after)
    return np.stack(outputs), np.stack(memories)


def predict(x: Any, w1: Any, w2: Any) -> np.ndarray:
    """For each of the 20 points, the network's prediction of the next one, on the CPU."""
    return fl.cpu(run(x, w1, w2)[0]).ravel()


def train_by_hand(hidden: int = 6, seed: int = 1, carry: bool = True, lr: float = 0.1, epochs: int = 200) -> Any:
    """The same training with the backward pass written by hand, five times as fast: `w1`, `w2`, each epoch's loss.

    A loss is half the sum of the squared errors of 20 steps. Without `carry`, the memory is empty at each step.
    """
    x, y, w1, w2 = problem(hidden, seed)
    empty, losses = np.zeros((1, hidden), np.float32), []
    for _ in range(epochs):
        memory, total = empty, 0.0
        for point, target in zip(x, y):
            joined = np.concatenate([point, memory], axis=1)
            memory = np.tanh(joined @ w1)
            error = memory @ w2 - target
            total += error.item() ** 2 / 2
            g2 = memory.T @ error
            g1 = joined.T @ (error @ w2.T * (1 - memory**2))  # back through the product and tanh
            w1 -= lr * g1
            w2 -= lr * g2
            memory = memory if carry else empty
        losses.append(total)
    return w1, w2, losses


def main(arguments: list[str]) -> None:
    about = "Train the sine-wave RNN, and time its phases; the last line is JSON, in seconds."
    parser = argparse.ArgumentParser(prog="python -m fluxlite_course.sine_wave", description=about)
    parser.add_argument("--gpu", action="store_true", help="on the GPU, not on the CPU")
    on_gpu = parser.parse_args(arguments).gpu
    phases: dict[str, float] = {}

    @contextlib.contextmanager
    def phase(name: str) -> Iterator[None]:
        begin = time.perf_counter()
        yield
        phases[name] = time.perf_counter() - begin

    with phase("import Matplotlib"):
        from .draw import plots

        figure, axes = plots()
    with phase("data and weights"), fl.cuda.time_range("data and weights"):  # which loads CuPy, if it's there
        device = fl.require_gpu() if on_gpu else fl.get_device("CPU")
        x, y, w1, w2 = device(problem())
    with phase("train: first epoch"), fl.cuda.time_range("train: first epoch"):
        train(x, y, w1, w2, epochs=[1])
        device.synchronize()  # if you stop the clock before the GPU is done, the time is too short
    with phase("train: 199 epochs"), fl.cuda.time_range("train: 199 epochs"):
        history = train(x, y, w1, w2, epochs=range(2, 201))
        device.synchronize()
    with phase("predict and plot"):
        axes.plot(fl.cpu(y).ravel(), "o", label="actual")
        axes.plot(predict(x, w1, w2), "o", markerfacecolor="none", label="predicted")
        axes.legend()
        figure.savefig(io.BytesIO())
    print(f"loss {history[-1]:.4f}")
    print(json.dumps(phases))


if __name__ == "__main__":
    main(sys.argv[1:])
