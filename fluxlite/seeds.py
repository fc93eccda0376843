"""`seed`: one number decides all the random numbers that fluxlite draws by itself.

There is no generator that all share. Each use has a number of its own, and so has each time that it is used: the third
layer's weights are made from (seed, weights, 3). So an epoch more or a loader more doesn't change the weights of the
next model, and threads don't take numbers out of each other's hands.
"""

from __future__ import annotations

import itertools

import numpy as np

WEIGHTS, ORDERS, _DEVICES = 1, 2, 3


class Seeding:
    """One call of `seed`, and how often each use has drawn since."""

    def __init__(self, number: int | None) -> None:
        self.number = number
        self.times = {WEIGHTS: itertools.count(), ORDERS: itertools.count()}


class _State:
    now = Seeding(None)


def seed(number: int | None) -> None:
    """Make what comes next repeatable: weights, the orders of loaders, every device's generator (Flux: ``seed!``).

    `number` is a whole number, 0 or more; with None nobody can foresee what comes, as at the start of a program. It
    counts for models, loaders, `shuffleobs` and `splitobs` that are made from now on without ``rng=``, which decides
    where it is given. The generators of the CPU and of all GPUs, ``device.rng``, start anew, also of those that are
    first used later; ``device.seed(k)`` afterwards decides for one. Run the cell with ``fl.seed(0)`` again, and the
    cells after it repeat.

    This is not NumPy's generator: `np.random.seed` has no effect here, nor has `seed` on ``np.random.rand`` and its
    kin. There is one seed for all threads of the program. Each drawing is whole, but of two threads that make layers at
    the same time, nobody knows which comes first: give them ``rng=``.

    Raises `TypeError` for what is no whole number, `ValueError` for a negative one.

    >>> fl.seed(1)
    >>> first = fl.Dense(3, 2).weight
    >>> fl.seed(1)
    >>> bool((fl.Dense(3, 2).weight == first).all()), bool((fl.Dense(3, 2).weight == first).all())
    (True, False)
    """
    if number is not None:
        if isinstance(number, bool) or not isinstance(number, (int, np.integer)):
            raise TypeError(f"seed(number) takes a whole number or None, got a {type(number).__name__}")
        number = int(number)
        if number < 0:
            raise ValueError(f"seed(number) takes a whole number, 0 or more, got {number}")
    _State.now = Seeding(number)


def seeding() -> Seeding:
    """The latest call of `seed`. A device that was not seeded since has to be."""
    return _State.now


def next_generator(use: int) -> np.random.Generator:
    """A new generator for WEIGHTS or ORDERS."""
    now = _State.now
    if now.number is None:
        return np.random.default_rng()
    return np.random.default_rng(np.random.SeedSequence(now.number, spawn_key=(use, next(now.times[use]))))


def seed_of_device(now: Seeding, index: int) -> int | None:
    """Two cards draw different numbers."""
    if now.number is None:
        return None
    return int(np.random.SeedSequence(now.number, spawn_key=(_DEVICES, index)).generate_state(1, np.uint64)[0])
