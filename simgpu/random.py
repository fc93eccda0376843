"""Random numbers on a GPU: a generator whose whole state is two numbers, its seed and how often it was asked.

A GPU's library does not give out the state of its generators, so a checkpoint could not hold it. Here each draw has
a generator of its own, made from the seed and the number of the draw: who knows the two can repeat what comes next.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .launches import ONE, Asked
from .shapes import untouched

_STATE = 8 * 256 * 64  # bytes on each multiprocessor: CuPy starts a Philox generator in so many threads


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
        return self._drawn("random", size, dtype, lambda numpys: numpys.random(size, dtype))

    def standard_normal(self, size: Any = None, dtype: Any = np.float64) -> Any:
        """Normal with mean 0 and deviation 1."""
        return self._drawn("standard_normal", size, dtype, lambda numpys: numpys.standard_normal(size, dtype))

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Any = None, dtype: Any = np.float64) -> Any:
        """Uniform in [low, high)."""
        zeros = (low == 0) + (high == 0)
        # The draw, in [0, 1); three kernels to stretch it, between two arrays of Float64; and another type, if asked.
        asked = Asked(1 + 3 + (2 - zeros) + (np.dtype(dtype) != np.float64), memsets=zeros)
        return self._drawn("uniform", size, dtype, lambda by: low + (high - low) * by.random(size, dtype), asked)

    def integers(self, low: int, high: int | None = None, size: Any = None, dtype: Any = np.int64) -> Any:
        """Whole numbers in [low, high), or [0, low). CuPy adds `low` to what it draws."""
        return self._drawn("integers", size, dtype, lambda numpys: numpys.integers(low, high, size, dtype), Asked(2))

    def _drawn(self, name: str, size: Any, dtype: Any, draw: Callable, asked: Asked = ONE) -> Any:
        """CuPy starts a generator for each draw: a memset and a kernel, before the draw."""
        device, numpys = self._device, np.random.default_rng(self._next())
        if device.instead is None:
            values = np.asarray(draw(numpys))
        else:  # shapes alone
            values = untouched(() if size is None else size, dtype)
        device.memset("generator", _STATE * device.multiprocessors)
        device.launch(name, values.nbytes, 10 * values.size, values.dtype.char, asked.kernels + 1)
        device.besides(name, asked, 8)
        return device.new(values)
