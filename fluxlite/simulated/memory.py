"""A device's memory is finite. A buffer is a piece of it, which a result owns and its views share."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np

UNIT = 512  # CuPy's memory pool hands out multiples of this many bytes


class OutOfMemoryError(MemoryError):
    """The device has no room for an array; says how much is used, free and asked for (CUDA.jl: OutOfGPUMemoryError)."""


class Pool:
    """How many bytes of a device are in use."""

    __slots__ = ("capacity", "used", "peak", "earlier_peaks", "device_name")

    def __init__(self, capacity: int, device_name: str) -> None:
        self.capacity, self.device_name = capacity, device_name
        self.used = self.peak = 0
        self.earlier_peaks: list[int] = []  # one for each open receipt: what `peak` was when it was opened

    def make_room(self, size: int) -> None:
        """Raises `OutOfMemoryError` if there is no room for `size` bytes."""
        gc.collect()  # as CuPy does: models that refer to themselves may wait to be found
        if self.used + size > self.capacity:
            raise OutOfMemoryError(
                f"{self.device_name} is out of memory: {size:,} bytes asked for, {self.capacity - self.used:,} "
                f"free, {self.used:,} used of {self.capacity:,}. Use smaller batches, or delete what is not needed."
            )


class Buffer:
    """A piece of a device's memory. It is given back when the last array in it is gone."""

    __slots__ = ("pool", "size", "root")

    def __init__(self, pool: Pool, nbytes: int, root: Any) -> None:
        self.size = 0  # in case there is no room
        self.pool = pool
        size = -(-nbytes // UNIT) * UNIT
        if pool.used + size > pool.capacity:
            pool.make_room(size)
        pool.used += size
        self.size = size
        if pool.used > pool.peak:
            pool.peak = pool.used
        self.root = root

    def __del__(self) -> None:
        self.pool.used -= self.size


def root_of(values: Any) -> Any:
    """The array whose memory `values` is a view of; itself if it has its own."""
    while isinstance(base := getattr(values, "base", None), np.ndarray):
        values = base
    return values


class Stored:
    """Values in a buffer on a device: what there is to a simulated array, without what can be done with it."""

    __slots__ = ("_values", "device", "_buffer", "base", "__weakref__")

    def __init__(self, values: np.ndarray, device: Any, buffer: Buffer, base: Any) -> None:
        self._values = values
        self.device = device
        self._buffer = buffer
        self.base = base  # the array that this one is a view of, or None
