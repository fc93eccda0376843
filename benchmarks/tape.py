"""What fluxlite's own Python takes for each call that it records for a gradient, and follows back: a preset's `tape`.

    python -m benchmarks.tape

On the CPU, with arrays so small that nearly all the time is Python's: a chain of `np.tanh` with its gradient, and the
same calls by hand.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import timeit

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


def main(arguments: list[str]) -> int:
    about = "Time fluxlite's own Python for each call of a gradient."
    argparse.ArgumentParser(prog="python -m benchmarks.tape", description=about).parse_args(arguments)
    x = np.ones((1, 6), np.float32)
    with_gradient(x)
    ours, least = (
        statistics.median(timeit.repeat(lambda: run(x), number=1, repeat=300))  # noqa: B023
        for run in (with_gradient, by_hand)
    )
    print(f"{(ours - least) / (CALLS + 1) * 1e6:.1f} µs for each recorded call, there and back, measured")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
