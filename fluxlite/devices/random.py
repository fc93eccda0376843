"""A GPU's generator of random numbers, whose whole state is two numbers: its seed, and how often it was asked.

A GPU's library does not give out the state of its generators, so a checkpoint could not hold it. Here each draw has
a generator of its own, made from the seed and the number of the draw: who knows the two can repeat what comes next.
"""

from __future__ import annotations

import operator

import numpy as np


class CountedGenerator:
    """What the generators of all GPUs have in common."""

    def __init__(self, seed: int | None = None) -> None:
        self._seed = np.random.SeedSequence().entropy if seed is None else operator.index(seed)
        self._draws = 0
        np.random.SeedSequence(self._seed)  # raises ValueError for a negative one, here and not at the first draw

    @property
    def state(self) -> dict[str, int]:
        """The seed and the number of draws so far. Can be assigned: then the generator goes on from there.

        >>> generator = CountedGenerator(7)
        >>> generator.state
        {'seed': 7, 'draws': 0}
        """
        return {"seed": self._seed, "draws": self._draws}  # type: ignore[dict-item]

    @state.setter
    def state(self, state: dict[str, int]) -> None:
        known = isinstance(state, dict) and state.keys() == {"seed", "draws"}
        if not known or not all(type(number) is int and number >= 0 for number in state.values()):
            raise ValueError(f"the state of a GPU's generator is its seed and its number of draws, got {state!r}")
        self._seed, self._draws = state["seed"], state["draws"]

    def _next(self) -> np.random.SeedSequence:
        """What the generator of the next draw is made from."""
        self._draws += 1
        return np.random.SeedSequence(self._seed, spawn_key=(self._draws,))
