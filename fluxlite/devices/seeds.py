"""`seed`: one number decides all the random numbers that fluxlite draws by itself.

Each use has a number of its own, and so has each time: the third layer's weights are made from (seed, weights, 3). So
one more loader doesn't change the next model's weights, and threads don't disturb each other.
"""

import itertools

import numpy as np

from ..words import check_whole

WEIGHTS = 1
ORDERS = 2
_DEVICES = 3


class Seeding:
    """One call of `seed`, and how often each use has drawn since."""

    def __init__(self, number: int | None) -> None:
        self.number = number
        self.times = {WEIGHTS: itertools.count(), ORDERS: itertools.count()}

    def sequence(self, *key: int) -> "np.random.SeedSequence":
        return np.random.SeedSequence(self.number, spawn_key=key)

    def for_device(self, index: int) -> int:
        """Two cards draw different numbers."""
        return int(self.sequence(_DEVICES, index).generate_state(1, np.uint64)[0])


_now = Seeding(None)


def seed(number: int | None) -> None:
    """Make what comes next repeatable: weights, the orders of loaders, every device's generator (Flux: ``seed!``).

    It counts for what's made from now on without ``rng=``, and starts ``device.rng`` of the CPU and of all GPUs again.
    With None, nobody can foresee what comes. NumPy's own generator, as in `np.random.rand`, is another one.

    >>> fl.seed(1)
    >>> first = fl.Dense(3, 2).weight
    >>> fl.seed(1)
    >>> bool((fl.Dense(3, 2).weight == first).all()), bool((fl.Dense(3, 2).weight == first).all())
    (True, False)
    """
    global _now
    if number is not None:
        check_whole("seed(number)", number)
        number = int(number)
    _now = Seeding(number)


def seeding() -> Seeding:
    """The latest call of `seed`. A device that wasn't seeded since has to be."""
    return _now


def next_generator(use: int) -> "np.random.Generator":
    now = _now
    return np.random.default_rng(now.sequence(use, next(now.times[use])))
