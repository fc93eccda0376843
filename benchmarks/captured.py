"""Whole training steps, as they're written and captured, beside PyTorch and JAX with the same weights.

The sine-wave RNN is in `rnn.py`, the smallest network with Adam in `small_models.py`. Here are those between that and
an LSTM. `captured_torch.py` and `captured_jax.py` have the same networks there. Every step's loss is read as a number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .captured_jax import jax_jit
from .captured_torch import torch_compiled, torch_eager
from .harness import Benchmark, Contender, Run, going_on

Batch = tuple[np.ndarray, np.ndarray]


class Problem(NamedTuple):
    """A network, its data and its optimizer, for all three libraries."""

    name: str
    make: Callable[[Any], Any]  # gives fluxlite's model, whose weights the others get
    batches: Callable[[], list[Batch]]
    rule: str
    rate: float
    steps: int  # in one timed run
    expected: float | None  # the loss after them; None if it's random
    beside_torch: float  # the bar for a captured step

    def is_classes(self) -> bool:
        """Whether the targets are the numbers of classes."""
        return self.batches()[0][1].dtype.kind == "i"


def numbers(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def classes(seed: int, below: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, below, shape)


# -- the networks -----------------------------------------------------------------------------------------------------


def makemore(rng: Any) -> Any:
    import fluxlite as fl

    return fl.Chain(
        fl.Embedding(27, 10, rng=rng), fl.flatten, fl.Dense(30, 200, bias=False, rng=rng), fl.BatchNorm(200, np.tanh),
        fl.Dense(200, 27, rng=rng),
    )  # fmt: skip


def digits(rng: Any) -> Any:
    import fluxlite as fl

    return fl.Chain(
        fl.Dense(784, 128, fl.relu, rng=rng), fl.Dense(128, 64, fl.relu, rng=rng), fl.Dense(64, 10, rng=rng)
    )


def block(rng: Any) -> Any:
    import fluxlite as fl

    dense = fl.Chain(fl.Dense(64, 256, fl.gelu, rng=rng), fl.Dense(256, 64, rng=rng))
    return fl.Chain(fl.LayerNorm(64), fl.SkipConnection(dense, np.add))


def dropout(rng: Any) -> Any:
    import fluxlite as fl

    return fl.Chain(fl.Dense(20, 30, fl.relu, rng=rng), fl.Dropout(0.3), fl.Dense(30, 2, rng=rng))


def lenet(rng: Any) -> Any:
    import fluxlite as fl

    return fl.Chain(
        fl.Conv((5, 5), 1, 6, fl.relu, rng=rng), fl.MaxPool((2, 2)),
        fl.Conv((5, 5), 6, 16, fl.relu, rng=rng), fl.MaxPool((2, 2)), fl.flatten,
        fl.Dense(256, 120, fl.relu, rng=rng), fl.Dense(120, 84, fl.relu, rng=rng), fl.Dense(84, 10, rng=rng),
    )  # fmt: skip


def lstm(rng: Any) -> Any:
    import fluxlite as fl

    return fl.Chain(fl.LSTM(64, 128, rng=rng), fl.Dense(128, 8, rng=rng))


PROBLEMS = [
    Problem("makemore", makemore, lambda: [(classes(i, 27, 32, 3), classes(i + 5, 27, 32)) for i in range(5)],
            "Descent", 0.1, 100, 0.704419, 0.75),
    Problem("MLP 784-128-64-10", digits, lambda: [(numbers(i, 64, 784), classes(i, 10, 64)) for i in range(5)],
            "Adam", 0.001, 20, 1.0502, 0.75),
    Problem("LayerNorm + Dense 64-256-64", block,
            lambda: [(numbers(i, 8, 32, 64), numbers(i + 9, 8, 32, 64)) for i in range(3)],
            "Adam", 0.001, 20, 1.6709, 1.0),
    Problem("Dropout MLP", dropout, lambda: [(numbers(i, 16, 20), numbers(i + 9, 16, 2)) for i in range(3)],
            "AdamW", 0.01, 100, None, 0.75),
    Problem("LeNet", lenet, lambda: [(numbers(i, 32, 28, 28, 1), classes(i, 10, 32)) for i in range(3)],
            "Adam", 0.001, 10, 2.02135, 1.0),
    Problem("LSTM 64-128, 50 steps", lstm,
            lambda: [(numbers(i, 32, 50, 64), numbers(i + 9, 32, 50, 8)) for i in range(3)],
            "Descent", 0.05, 4, 1.03567, 1.1),
]  # fmt: skip


# -- in fluxlite ------------------------------------------------------------------------------------------------------


def weights_of(problem: Problem) -> list[np.ndarray]:
    """Those that PyTorch and JAX begin with. They don't turn a convolution's weights around, as fluxlite does."""
    import fluxlite as fl

    found = [np.array(w) for _, w in fl.trainables(problem.make(np.random.default_rng(0)))]
    return [w[::-1, ::-1] if w.ndim == 4 else w for w in found]


def step_of(problem: Problem) -> Callable:
    """The step as a user writes it: it gives the loss."""
    import fluxlite as fl

    model = problem.make(np.random.default_rng(0))
    rules = {"Adam": fl.Adam, "AdamW": lambda rate: fl.AdamW(rate, decay=0.01), "Descent": fl.Descent}
    state = fl.setup(rules[problem.rule](problem.rate), model)
    loss: Callable = fl.logitcrossentropy if problem.is_classes() else fl.mse

    def step(x: Any, y: Any) -> Any:
        value, (grads,) = fl.withgradient(lambda m: loss(m(x), y), model)
        fl.update(state, model, grads)
        return value

    return step


def eager(problem: Problem) -> Run:
    return going_on(step_of(problem), problem.batches(), problem.steps, problem.expected)


def captured(problem: Problem) -> Run:
    import fluxlite as fl

    return going_on(fl.captured(step_of(problem)), problem.batches(), problem.steps, problem.expected)


def rows(problem: Problem) -> list[Contender]:
    """A problem's contenders. Those that compile a step are for information."""
    name, steps = problem.name, problem.steps
    weights = weights_of(problem)
    torch = f"{name}, PyTorch eager"
    return [
        Contender(torch, lambda: torch_eager(problem, weights), steps),
        Contender(f"{name}, PyTorch compiled (info)", lambda: torch_compiled(problem, weights), steps),
        Contender(f"{name}, JAX jit (info)", lambda: jax_jit(problem, weights), steps),
        Contender(f"{name}, eager", lambda: eager(problem), steps),
        Contender(f"{name}, captured", lambda: captured(problem), steps, {torch: problem.beside_torch}),
    ]


BENCHMARK = Benchmark(
    title="Training steps, as they're written and captured",
    rounds=7,
    contenders=tuple([row for problem in PROBLEMS for row in rows(problem)]),
)
