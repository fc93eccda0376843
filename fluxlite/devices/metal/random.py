"""Random numbers on an Apple GPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..simulated import CountedGenerator
from .dtypes import mlx_dtype, mx


class MetalGenerator(CountedGenerator):
    """The counterpart of NumPy's `Generator`: draws numbers on the device, Float32 by default."""

    def __init__(self, device: Any, seed: int | None = None) -> None:
        super().__init__(seed)
        self._device = device

    def random(self, size: Any = None, dtype: Any = np.float32) -> Any:
        """Uniform in [0, 1)."""
        return self.uniform(0.0, 1.0, size, dtype)

    def standard_normal(self, size: Any = None, dtype: Any = np.float32) -> Any:
        """Normal with mean 0 and deviation 1."""
        return self._device.new(mx.random.normal(_shape(size), mlx_dtype(np.dtype(dtype)), key=self._key()))

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Any = None, dtype: Any = np.float32) -> Any:
        """Uniform in [low, high)."""
        values = mx.random.uniform(low, high, _shape(size), mx.float32, key=self._key())
        return self._device.new(values.astype(mlx_dtype(np.dtype(dtype))))

    def integers(self, low: int, high: int | None = None, size: Any = None, dtype: Any = np.int64) -> Any:
        """Whole numbers in [low, high), or [0, low)."""
        low, high = (0, low) if high is None else (low, high)
        return self._device.new(mx.random.randint(low, high, _shape(size), mlx_dtype(np.dtype(dtype)), self._key()))

    def _key(self) -> Any:
        return mx.random.key(int(self._next().generate_state(1, np.uint64)[0]))


def _shape(size: Any) -> tuple[int, ...]:
    return () if size is None else (size,) if isinstance(size, int) else tuple(size)
