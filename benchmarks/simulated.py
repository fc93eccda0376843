"""What simulating costs: the same calls on NumPy arrays and on a simulated GPU's, without a receipt.

The simulated GPU computes with NumPy, counts, and keeps its clocks. That shows at 32 x 32, and hardly at 1024 x 1024.
We leave out calls that give a view: they cost a microsecond where NumPy needs a tenth of one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .harness import Bar, Benchmark, Contender, Judgement
from .harness import report as report_race

CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "x + x": lambda x, b, i: x + x,
    "x * 2.0": lambda x, b, i: x * 2.0,
    "x + b": lambda x, b, i: x + b,
    "x ** 2": lambda x, b, i: x**2,
    "x *= 1.0": lambda x, b, i: x.__imul__(1.0),
    "x @ x": lambda x, b, i: x @ x,
    "tanh": lambda x, b, i: np.tanh(x),
    "exp": lambda x, b, i: np.exp(x),
    "maximum": lambda x, b, i: np.maximum(x, 0),
    "where": lambda x, b, i: np.where(x > 0, x, 0),
    "x.sum()": lambda x, b, i: x.sum(),
    "sum of rows": lambda x, b, i: x.sum(axis=0),
    "np.mean": lambda x, b, i: np.mean(x),
    "x.max(axis=1)": lambda x, b, i: x.max(axis=1),
    "argmax": lambda x, b, i: x.argmax(axis=1),
    "concatenate": lambda x, b, i: np.concatenate([x, x]),
    "x[i]": lambda x, b, i: x[i],
    "x[...] = b": lambda x, b, i: (x.__setitem__(..., b), x)[1],
    "astype": lambda x, b, i: x.astype(np.int32),
    "copy": lambda x, b, i: x.copy(),
    "zeros_like": lambda x, b, i: np.zeros_like(x),
}
# The size of the square arrays: how often to time a call in one go, and the limit as a multiple of NumPy's time.
SIZES = {32: (100, 8.0), 1024: (20, 1.1)}
FEWEST_ROUNDS = 25  # short ones, so that a disturbance spoils some of them, but not their median
NUMPY, SIMULATED = "NumPy", "simulated"
Move = Callable[[Any], Any]
Result = tuple[Any, Any]  # the result, and the correct result


def _on_the_host(x: Any) -> Any:
    return x


def _moves() -> dict[str, Move]:
    from fluxlite import simulate_gpu
    from fluxlite.devices.selection import require_gpu
    from fluxlite.messages import notice

    notice("precision", "")  # no message here
    simulate_gpu()
    return {NUMPY: _on_the_host, SIMULATED: require_gpu()}


@functools.cache
def _arguments(name: str, size: int) -> dict[str, tuple]:
    """Both compute in the same memory, so neither has a better place by luck."""
    rng = np.random.default_rng(0)
    matrix, row = rng.standard_normal((size, size), np.float32), rng.standard_normal(size, np.float32)
    on_gpu = tuple(map(_moves()[SIMULATED], (matrix, row, np.arange(size)[::-1].copy())))
    return {SIMULATED: on_gpu, NUMPY: tuple(x._values for x in on_gpu)}


def call_contender(name: str, size: int, kind: str) -> Contender:
    times = 2 if (name, size) == ("x @ x", 1024) else SIZES[size][0]

    def make() -> Callable[[], Result]:
        x, b, i = _arguments(name, size)[kind]
        call = CALLS[name]

        def run() -> Result:
            for _ in range(times):
                result = call(x, b, i)
            return result, lambda: call(*_arguments(name, size)[NUMPY])

        return run

    return Contender(f"{name}, {size} x {size}, {times:,} times, {kind}", make)


def step_contender(width: int, classes: int, batch: int, times: int, kind: str) -> Contender:
    """Training steps of a multilayer perceptron: forward pass, backward pass, Adam."""

    def make() -> Callable[[], Result]:
        import fluxlite as fl

        rng = np.random.default_rng(0)
        shapes = ((width, width), (width,), (classes, width), (classes,))
        arrays = [rng.standard_normal(shape).astype(np.float32) / width for shape in shapes]
        data = [rng.standard_normal((batch, n)).astype(np.float32) for n in (width, classes)]
        move = _moves()[kind]

        def train(move: Move, steps: int) -> Any:
            w1, b1, w2, b2, x, y = (move(array.copy()) for array in (*arrays, *data))
            model = fl.Chain(fl.Dense.of(w1, b1, np.tanh), fl.Dense.of(w2, b2))
            state = fl.setup(fl.Adam(0.001), model)
            for _ in range(steps):
                loss, (grads,) = fl.withgradient(lambda m: fl.mse(m(x), y), model)
                fl.update(state, model, grads)
            return loss

        return lambda: (train(move, times), lambda: train(_on_the_host, times))

    return Contender(f"MLP {width}-{width}-{classes}, batch {batch}, {times} steps, {kind}", make)


def check(result: object) -> str:
    """Both must give the same numbers."""
    from fluxlite.devices.selection import cpu

    got, expected = result  # type: ignore[misc]
    got, expected = cpu(got), expected()
    if np.shape(got) != np.shape(expected):
        return f"refused: shape {np.shape(got)}, not {np.shape(expected)}"
    far = np.max(np.abs(got - expected)) / (np.max(np.abs(expected)) + 1)
    return "" if far < 1e-3 else f"refused: off by {far:.2g}"


def _pairs() -> Iterator[tuple[tuple[Contender, Contender], float]]:
    for width, classes, times, limit in ((32, 10, 10, 3.5), (1024, 1024, 1, 1.1)):
        step = [step_contender(width, classes, width, times, kind) for kind in (NUMPY, SIMULATED)]
        yield (step[0], step[1]), limit
    for size, (_, limit) in SIZES.items():
        for name in CALLS:
            yield (call_contender(name, size, NUMPY), call_contender(name, size, SIMULATED)), limit


PAIRS = tuple(_pairs())
BENCHMARK = Benchmark(
    title="the simulated GPU beside NumPy",
    contenders=tuple(contender for pair, _ in PAIRS for contender in pair),
    reference=PAIRS[0][0][0].name,
    bars=tuple(Bar(simulated.name, limit, numpy.name) for (numpy, simulated), limit in PAIRS),
    check=check,
    steps=1,
)


def report(rounds: int) -> list[Judgement]:
    return report_race(__name__, max(rounds, FEWEST_ROUNDS))
