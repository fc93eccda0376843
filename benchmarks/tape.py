"""What fluxlite's own Python takes for each call that it records for a gradient, and follows back: a preset's `tape`.

    python -m benchmarks.tape

On the CPU, with arrays so small that nearly all the time is Python's: a chain of `np.tanh` with its gradient, and the
same calls by hand.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

import fluxlite as fl

CALLS = 50


def with_gradient(x: np.ndarray) -> np.ndarray:
    def f(w: np.ndarray) -> np.ndarray:
        for _ in range(CALLS):
            w = np.tanh(w)
        return np.sum(w)

    return fl.gradient(f, x)[0]


def by_hand(x: np.ndarray) -> np.ndarray:
    results = [np.tanh(x)]
    for _ in range(CALLS - 1):
        results.append(np.tanh(results[-1]))
    np.sum(results[-1])
    g = np.ones_like(x)
    for y in reversed(results):
        g = g * (1 - y * y)
    return g


def median(run: Callable[[], object], repeats: int = 300) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def per_call(repeats: int = 300) -> float:
    """Seconds for each recorded call, there and back."""
    x = np.ones((1, 6), np.float32)
    with_gradient(x)
    return (median(lambda: with_gradient(x), repeats) - median(lambda: by_hand(x), repeats)) / (CALLS + 1)


if __name__ == "__main__":
    print(f"{per_call() * 1e6:.1f} µs for each recorded call, there and back, measured")
