"""Lesson 05's stopwatch, and its matrix."""

from typing import Any

import numpy as np

import fluxlite as fl
from fluxlite.devices.receipts import Seconds


def since(begin: float) -> Seconds:
    """How long it's been since `begin`, a reading of `fl.clock()`, on the simulated T4."""
    return fl.Seconds(fl.clock() - begin, "simulated", "NVIDIA T4")


def matrix(n: int) -> Any:
    """A matrix of ones on a simulated T4, even if you have a GPU, so that all see the same times.

    Adding such a matrix keeps a GPU busy by its bytes, and is quickly computed where NumPy has no fast products.
    """
    fl.simulate_gpu(like="NVIDIA T4")
    ones = fl.gpu(np.ones((n, n), np.float32))
    _ = ones + ones  # the first sum takes longer
    fl.cuda.synchronize()
    return ones
