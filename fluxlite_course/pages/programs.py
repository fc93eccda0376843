"""The lessons' programs behind the pages: the same lines as in lessons 00, 06 and 13, which a test compares."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np

import fluxlite as fl
from fluxlite.receipts.recording import Receipt

from ..crossing import times
from ..draw.alive import Alive
from ..draw.alive.timeline import alive_timeline
from ..lesson00.pictures import alive_race
from ..lesson14.tape import alive_tape
from ..sine_wave import problem

CARD = "NVIDIA T4"


def race() -> Alive:
    """Lesson 00: one step of its training, on a recorded CPU and on a simulated T4."""
    x, y, w1, w2 = problem()
    receipt = fl.estimate(train, w1, w2, x[:1], y[:1], 1, like=CARD).receipt
    return alive_race(receipt, times("training step", hidden=6, batch=1).median)


def step(w1: Any, w2: Any, point: Any, target: Any, memory: Any) -> tuple[Any, Any, Any]:
    """One step of lesson 00's network: its error, output and memory."""
    memory = np.tanh(np.concatenate([point, memory], axis=1) @ w1)
    output = memory @ w2
    return np.sum((output - target) ** 2) / 2, output, memory


def train(w1: Any, w2: Any, x: Any, y: Any, epochs: int = 200) -> tuple[Any, list[Any]]:
    """Lesson 00's training."""
    for _ in range(epochs):
        loss, outputs, memory = 0, [], np.zeros_like(w2.T)
        for point, target in zip(x, y):
            error = lambda w1, w2: step(w1, w2, point, target, memory)  # noqa: B023, E731
            (value, output, memory), (g1, g2) = fl.withgradient(error, w1, w2)
            w1, w2 = w1 - 0.1 * g1, w2 - 0.1 * g2  # a small step that makes the error smaller
            outputs.append(output)
            loss = loss + value
    return loss, outputs


def timeline() -> Alive:
    """Lesson 06: a loop that reads a number in each step."""
    return alive_timeline(reading(), count=50)


def reading() -> Receipt:
    """The receipt of lesson 06's loop, after a first use of each kernel. Times depend on shapes alone."""
    # A receipt names lines of a program, not of this library. So the loop is text here, and becomes a cell.
    name = "<ipython-input lesson 06>"
    linecache.cache[name] = len(STEPS), None, STEPS.splitlines(keepends=True), name
    cell: dict[str, Any] = {"np": np}
    exec(compile(STEPS, name, "exec"), cell)
    random = np.random.default_rng(0)
    matrices = random.standard_normal((2, 640, 640), dtype=np.float32)
    kept = []

    def both(x: Any, W: Any) -> None:
        cell["steps"](x, W, read_each=False)
        with fl.receipt() as each:
            cell["steps"](x, W, read_each=True)
        kept.append(each)

    fl.estimate(both, matrices[0], matrices[1] / 25, like=CARD)
    return kept[0]


STEPS = """\
def steps(x, W, read_each):
    total = 0.0
    for _ in range(20):
        x = np.tanh(x @ W)
        size = np.mean(x**2)
        total = total + (float(size) if read_each else size)
    return float(total)
"""


def tape() -> Alive:
    """Lesson 13: five lines, the tape that they make, and the way back."""
    w, b = fl.param(np.array([0.5, -1.0])), fl.param(np.array(0.1))
    x = np.array([1.0, 2.0])
    h = w * x
    s = h + b
    y = np.tanh(s)
    loss = np.sum(y)
    return alive_tape(
        {"w, b = param(…), …": (w, b), "h = w * x": h, "s = h + b": s, "y = np.tanh(s)": y, "loss = np.sum(y)": loss}
    )
