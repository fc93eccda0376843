"""An epoch of mini-batches: 20,000 observations of 784 float32 numbers and a label, 64 at a time.

We time getting the batches: one gather for each, or a view if the data keeps its order.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from .harness import Bar, Benchmark, Contender, Judgement
from .harness import report as report_race

OBSERVATIONS, WIDTH, BATCH = 20_000, 784, 64
Epoch = Callable[[], tuple[int, int]]


@functools.cache
def data() -> tuple[np.ndarray, np.ndarray]:
    """x (20000, 784) float32 and y (20000,) int64, whose values are the observations' numbers."""
    x = np.random.default_rng(0).random((OBSERVATIONS, WIDTH), np.float32)
    return x, np.arange(OBSERVATIONS)


def fluxlite_loader(shuffle: bool, parallel: bool = False) -> Epoch:
    import fluxlite as fl

    loader = fl.DataLoader(data(), batchsize=BATCH, shuffle=shuffle, parallel=parallel, rng=0)
    return lambda: _epoch(loader)


def torch_loader(shuffle: bool) -> Epoch:
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    loader = DataLoader(TensorDataset(*map(torch.from_numpy, data())), batch_size=BATCH, shuffle=shuffle)
    return lambda: _epoch(loader)


def numpy_by_hand() -> Epoch:
    def epoch() -> tuple[int, int]:
        x, y = data()
        order = np.random.default_rng(0).permutation(OBSERVATIONS)
        starts = range(0, OBSERVATIONS, BATCH)
        return _epoch((x[order[start : start + BATCH]], y[order[start : start + BATCH]]) for start in starts)

    return epoch


def _epoch(batches) -> tuple[int, int]:
    """The number of batches, and the sum of all labels, since each observation must appear once."""
    count = total = 0
    for x, y in batches:
        total += int(y.sum())
        count += x.shape[1] == WIDTH
    return count, total


def check(result: object) -> str:
    expected = -(-OBSERVATIONS // BATCH), OBSERVATIONS * (OBSERVATIONS - 1) // 2
    return "" if result == expected else f"refused: batches and sum of labels are {result}, not {expected}"


SHUFFLED, IN_ORDER = "PyTorch DataLoader, shuffled", "PyTorch DataLoader, in order"
BENCHMARK = Benchmark(
    title=f"DataLoader, an epoch of {OBSERVATIONS:,} x {WIDTH} float32 and labels, batches of {BATCH}",
    contenders=(
        Contender(SHUFFLED, lambda: torch_loader(True)),
        Contender("fluxlite, shuffled", lambda: fluxlite_loader(True)),
        Contender("NumPy by hand, shuffled", numpy_by_hand),
        Contender("fluxlite, shuffled, parallel (info)", lambda: fluxlite_loader(True, parallel=True)),
        Contender(IN_ORDER, lambda: torch_loader(False)),
        Contender("fluxlite, in order", lambda: fluxlite_loader(False)),
    ),
    reference=SHUFFLED,
    bars=(Bar("fluxlite, shuffled", 0.2), Bar("fluxlite, in order", 0.2, IN_ORDER)),
    check=check,
    steps=-(-OBSERVATIONS // BATCH),
)


def report(rounds: int) -> list[Judgement]:
    return report_race("benchmarks.loader", rounds)
