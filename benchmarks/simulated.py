"""What simulating costs: the same calls on NumPy arrays and on a simulated GPU's, without a receipt.

The simulated GPU computes with NumPy, counts, and keeps its clocks. That shows at 32 x 32, and hardly at 1024 x 1024.
We leave out calls that give a view: they cost a microsecond where NumPy needs a tenth of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .harness import Benchmark, Contender, Run

CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "x + x": lambda x, b, i: x + x,
    "x + b": lambda x, b, i: x + b,
    "x ** 2": lambda x, b, i: x**2,
    "x *= 1.0": lambda x, b, i: x.__imul__(1.0),
    "x @ x": lambda x, b, i: x @ x,
    "tanh": lambda x, b, i: np.tanh(x),
    "where": lambda x, b, i: np.where(x > 0, x, 0),
    "x.sum()": lambda x, b, i: x.sum(),
    "sum of rows": lambda x, b, i: x.sum(axis=0),
    "np.mean": lambda x, b, i: np.mean(x),
    "argmax": lambda x, b, i: x.argmax(axis=1),
    "concatenate": lambda x, b, i: np.concatenate([x, x]),
    "x[i]": lambda x, b, i: x[i],
    "x[...] = b": lambda x, b, i: (x.__setitem__(..., b), x)[1],
    "astype": lambda x, b, i: x.astype(np.int32),
    "zeros_like": lambda x, b, i: np.zeros_like(x),
}
# The size of the square arrays: how often to time a call in one go, and the limit as a multiple of NumPy's time.
SIZES = {32: (100, 8.0), 1024: (20, 1.1)}


def gpu() -> Callable[[Any], Any]:
    """The move to a simulated GPU, whatever else this machine has."""
    import fluxlite as fl

    fl.messages.notice("precision", "")  # no message here
    fl.simulate_gpu()
    return fl.require_gpu()


def call(name: str, size: int, times: int, is_simulated: bool) -> Run:
    rng = np.random.default_rng(0)
    host = rng.standard_normal((size, size), np.float32), rng.standard_normal(size, np.float32), np.arange(size)[::-1]
    arguments = [gpu()(x.copy()) for x in host]
    if not is_simulated:  # both compute in memory of the same kind, so neither has a better place by luck
        arguments = [x.host_values for x in arguments]
    expected = CALLS[name](*(x.copy() for x in host))

    def run() -> tuple[Any, Any]:
        for _ in range(times):
            result = CALLS[name](*arguments)
        return result, expected

    return run


def training(width: int, classes: int, steps: int, is_simulated: bool) -> Run:
    """Training steps of a multilayer perceptron: forward pass, backward pass, Adam."""
    import fluxlite as fl

    rng = np.random.default_rng(0)
    shapes = ((width, width), (width,), (classes, width), (classes,))
    arrays = [rng.standard_normal(shape).astype(np.float32) / width for shape in shapes]
    arrays += [rng.standard_normal((width, n)).astype(np.float32) for n in (width, classes)]

    def train(move: Callable[[Any], Any]) -> Any:
        w1, b1, w2, b2, x, y = (move(array.copy()) for array in arrays)
        model = fl.Chain(fl.Dense.of(w1, b1, np.tanh), fl.Dense.of(w2, b2))
        state = fl.setup(fl.Adam(0.001), model)
        for _ in range(steps):
            loss, (grads,) = fl.withgradient(lambda m: fl.mse(m(x), y), model)
            fl.update(state, model, grads)
        return loss

    expected, move = train(np.asarray), gpu() if is_simulated else np.asarray
    return lambda: (train(move), expected)


def beside(name: str, make: Callable[[bool], Run], limit: float) -> Iterator[Contender]:
    """The same with NumPy, and simulated."""
    yield Contender(f"{name}, NumPy", lambda: make(False))
    yield Contender(f"{name}, simulated", lambda: make(True), 1, {f"{name}, NumPy": limit})


def contenders() -> Iterator[Contender]:
    for width, classes, steps, limit in ((32, 10, 10, 3.5), (1024, 1024, 1, 1.1)):
        name = f"MLP {width}-{width}-{classes}, {steps} steps"
        yield from beside(name, lambda *kind, of=(width, classes, steps): training(*of, *kind), limit)
    for size, (most, limit) in SIZES.items():
        for name in CALLS:
            times = 2 if (name, size) == ("x @ x", 1024) else most
            what = f"{name}, {size} x {size}, {times:,} times"
            yield from beside(what, lambda *kind, of=(name, size, times): call(*of, *kind), limit)


BENCHMARK = Benchmark("the simulated GPU beside NumPy", tuple(contenders()), rounds=25)
