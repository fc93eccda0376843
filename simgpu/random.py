"""Random numbers on a GPU: a generator whose whole state is two numbers, its seed and how often it was asked.

A GPU's library does not give out the state of its generators, so a checkpoint could not hold it. Here each draw has
a generator of its own, made from the seed and the number of the draw: who knows the two can repeat what comes next.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .launches import Asked

_STATE = 8 * 256 * 64  # bytes on each multiprocessor: CuPy starts a Philox generator in so many threads


def drawn(device: Any, name: str, values: np.ndarray, asked: Asked) -> Any:
    """`values`, drawn on the device. CuPy starts a generator for each draw: a memset and a kernel, before the draw."""
    device.memset("generator", _STATE * device.multiprocessors)
    device.launch(name, values.nbytes, 10 * values.size, values.dtype.char, asked.kernels + 1)
    device.besides(name, asked, 8)
    return device.new(values)


def of_uniform(low: float, high: float, dtype: Any) -> Asked:
    """The draw, in [0, 1); three kernels to stretch it, between two arrays of Float64; and another type, if asked."""
    zeros = (low == 0) + (high == 0)
    return Asked(1 + 3 + (2 - zeros) + (np.dtype(dtype) != np.float64), memsets=zeros)


ONE_DRAW, INTEGERS = Asked(1), Asked(2)  # CuPy adds `low` to integers


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


class SimulatedGenerator(CountedGenerator):
    """The counterpart of `cupy.random.Generator`: draws numbers on the device."""

    def __init__(self, device: Any, seed: int | None = None) -> None:
        super().__init__(seed)
        self._device = device

    def random(self, size: Any = None, dtype: Any = np.float64) -> Any:
        """Uniform in [0, 1)."""
        return self._made("random", self._numpys().random, size, dtype)

    def standard_normal(self, size: Any = None, dtype: Any = np.float64) -> Any:
        """Normal with mean 0 and deviation 1."""
        return self._made("standard_normal", self._numpys().standard_normal, size, dtype)

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Any = None, dtype: Any = np.float64) -> Any:
        """Uniform in [low, high)."""
        draw = self._numpys().random
        asked = of_uniform(low, high, dtype)
        return self._made("uniform", lambda *args: low + (high - low) * draw(*args), size, dtype, asked)

    def integers(self, low: int, high: int | None = None, size: Any = None, dtype: Any = np.int64) -> Any:
        """Whole numbers in [low, high), or [0, low)."""
        draw = self._numpys().integers
        return self._made("integers", lambda *args: draw(low, high, *args), size, dtype, INTEGERS)

    def _numpys(self) -> np.random.Generator:
        return np.random.default_rng(self._next())

    def _made(self, name: str, draw: Any, size: Any, dtype: Any, asked: Asked = ONE_DRAW) -> Any:
        return drawn(self._device, name, np.asarray(draw(size, dtype)), asked)
