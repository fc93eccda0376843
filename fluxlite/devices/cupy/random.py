"""Random numbers on a GPU, made by CuPy."""

from collections.abc import Callable
from typing import Any

from ..simulated import CountedGenerator


def _drawn(name: str) -> Callable:
    def draw(self: "CupyGenerator", *args: Any, **kwargs: Any) -> Any:
        from cupy.random import Generator, Philox4x3210

        with self._device:
            return getattr(Generator(Philox4x3210(self._next())), name)(*args, **kwargs)

    return draw


class CupyGenerator(CountedGenerator):
    """What we use of `cupy.random.Generator`, counted. Each call starts a Philox generator, the quickest to start."""

    def __init__(self, device: Any, seed: int | None = None) -> None:
        super().__init__(seed)
        self._device = device

    random, standard_normal, uniform, integers = map(_drawn, ("random", "standard_normal", "uniform", "integers"))
