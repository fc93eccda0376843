"""Random numbers on the simulated device."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..devices.random import CountedGenerator


class SimulatedGenerator(CountedGenerator):
    """The counterpart of `cupy.random.Generator`: draws numbers on the device, one launch per call."""

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
        return self._made("uniform", lambda *args: low + (high - low) * draw(*args), size, dtype)

    def integers(self, low: int, high: int | None = None, size: Any = None, dtype: Any = np.int64) -> Any:
        """Whole numbers in [low, high), or [0, low)."""
        draw = self._numpys().integers
        return self._made("integers", lambda *args: draw(low, high, *args), size, dtype)

    def _numpys(self) -> np.random.Generator:
        return np.random.default_rng(self._next())

    def _made(self, name: str, draw: Any, size: Any, dtype: Any) -> Any:
        self._device.catch_up()
        values = np.asarray(draw(size, dtype))
        self._device.launch(name, values.nbytes, 10 * values.size, values.dtype.char)
        return self._device.new(values)
