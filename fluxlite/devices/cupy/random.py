"""Random numbers on a GPU, made by CuPy."""

from typing import Any

import numpy as np

from ..simulated import CountedGenerator


class CupyGenerator(CountedGenerator):
    """What we use of `cupy.random.Generator`, counted. Each call starts a Philox generator, the quickest to start."""

    def __init__(self, device: Any, seed: int | None = None) -> None:
        super().__init__(seed)
        self._device = device

    def random(self, size: Any = None, dtype: Any = np.float64) -> Any:
        return self._draw("random", size, dtype)

    def standard_normal(self, size: Any = None, dtype: Any = np.float64) -> Any:
        return self._draw("standard_normal", size, dtype)

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Any = None, dtype: Any = np.float64) -> Any:
        return self._draw("uniform", low, high, size, dtype)

    def integers(self, low: int, high: int | None = None, size: Any = None, dtype: Any = np.int64) -> Any:
        return self._draw("integers", low, high, size, dtype)

    def _draw(self, name: str, *args: Any) -> Any:
        from cupy.random import Generator, Philox4x3210

        with self._device:
            return getattr(Generator(Philox4x3210(self._next())), name)(*args)
