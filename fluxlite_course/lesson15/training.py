"""What lesson 15 trains: a small network that reads digits, the same in every worker."""

from typing import Any

import numpy as np

import fluxlite as fl

from ..data import digits


def digit_batches(batchsize: int) -> fl.DataLoader:
    """1,438 digits, 64 dots each, in batches that are shuffled alike in every worker."""
    images, labels = digits()
    data = images[:1438].astype(np.float32) / 16, fl.onehotbatch(labels[:1438], range(10))
    return fl.DataLoader(data, batchsize=batchsize, shuffle=True, rng=17)


def network() -> fl.Chain:
    rng = np.random.default_rng(17)
    return fl.Chain(fl.Dense(64, 128, fl.relu, rng=rng), fl.Dense(128, 10, rng=rng))


def loss(model: Any, x: Any, y: Any) -> Any:
    return fl.logitcrossentropy(model(x), y)
