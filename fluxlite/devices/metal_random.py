"""Random numbers made on an Apple GPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from .metal_dtypes import mlx_dtype, mx


class MetalGenerator:
    """What NumPy's `Generator` is on the CPU: numbers come into being on the device, Float32 unless asked otherwise."""

    def __init__(self, device: Any, seed: int | None = None) -> None:
        self._device = device
        self._key = mx.random.key(np.random.default_rng().integers(2**63) if seed is None else seed)

    def random(self, size: Any = None, dtype: Any = np.float32) -> Any:
        """Uniform in [0, 1)."""
        return self.uniform(0.0, 1.0, size, dtype)

    def standard_normal(self, size: Any = None, dtype: Any = np.float32) -> Any:
        """Normal with mean 0 and deviation 1."""
        return self._device.new(mx.random.normal(_shape(size), mlx_dtype(np.dtype(dtype)), key=self._next()))

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Any = None, dtype: Any = np.float32) -> Any:
        """Uniform in [low, high)."""
        values = mx.random.uniform(low, high, _shape(size), mx.float32, key=self._next())
        return self._device.new(values.astype(mlx_dtype(np.dtype(dtype))))

    def integers(self, low: int, high: int | None = None, size: Any = None, dtype: Any = np.int64) -> Any:
        """Whole numbers in [low, high), or [0, low)."""
        low, high = (0, low) if high is None else (low, high)
        return self._device.new(mx.random.randint(low, high, _shape(size), mlx_dtype(np.dtype(dtype)), self._next()))

    def _next(self) -> Any:
        self._key, key = mx.random.split(self._key)
        return key


def _shape(size: Any) -> tuple[int, ...]:
    return () if size is None else (size,) if isinstance(size, int) else tuple(size)
