"""`seed`: one number decides all the random numbers that fluxlite draws by itself.

There is no generator that all share. Each use has a number of its own, and so has each time that it is used: the third
layer's weights are made from (seed, weights, 3). So an epoch more or a loader more doesn't change the weights of the
next model, and threads don't take numbers out of each other's hands.
"""

import itertools

import numpy as np

from .messages import check_whole

WEIGHTS, ORDERS, _DEVICES = 1, 2, 3


class Seeding:
    """One call of `seed`, and how often each use has drawn since."""

    def __init__(self, number: int | None) -> None:
        self.number = number
        self.times = {WEIGHTS: itertools.count(), ORDERS: itertools.count()}


_now = Seeding(None)


def seed(number: int | None) -> None:
    """Make what comes next repeatable: weights, the orders of loaders, every device's generator (Flux: ``seed!``).

    `number` is a whole number, 0 or more; with None nobody can foresee what comes, as at the start of a program. It
    counts for models, loaders, `shuffleobs` and `splitobs` that are made from now on without ``rng=``, which decides
    where it is given. The generators of the CPU and of all GPUs, ``device.rng``, start again, also of those that are
    first used later; ``device.seed(k)`` afterwards decides for one. Of two threads that make layers at the same time,
    nobody knows which comes first: give them ``rng=``. NumPy's `np.random.seed` has no effect here, nor has `seed` on
    ``np.random.rand``.

    >>> fl.seed(1)
    >>> first = fl.Dense(3, 2).weight
    >>> fl.seed(1)
    >>> bool((fl.Dense(3, 2).weight == first).all()), bool((fl.Dense(3, 2).weight == first).all())
    (True, False)
    """
    global _now
    if number is not None:
        check_whole("seed(number)", number)
    _now = Seeding(number if number is None else int(number))


def seeding() -> Seeding:
    """The latest call of `seed`. A device that was not seeded since has to be."""
    return _now


def next_generator(use: int) -> np.random.Generator:
    """A new generator for WEIGHTS or ORDERS."""
    now = _now
    key = None if now.number is None else np.random.SeedSequence(now.number, spawn_key=(use, next(now.times[use])))
    return np.random.default_rng(key)


def seed_of_device(now: Seeding, index: int) -> int | None:
    """Two cards draw different numbers."""
    if now.number is None:
        return None
    return int(np.random.SeedSequence(now.number, spawn_key=(_DEVICES, index)).generate_state(1, np.uint64)[0])
