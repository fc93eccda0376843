"""A device's memory, which is limited. A buffer is a piece of it: a result owns one, and its views share it."""

import gc
from typing import Any, NamedTuple

import numpy as np

from .meta import MetaArray
from .words import WRITE

UNIT = 512  # CuPy's memory pool hands out multiples of this many bytes
# The characters of the types that GPUs lack: objects, text, raw bytes, dates, long doubles; and some records.
LACKING_DTYPES = frozenset("OSUTcVMmgG")
records_seen: list[Any] = []  # a structured type, once there was one


def check_dtype(dtype: Any) -> None:
    """Raises `ValueError` if no GPU can hold an array of this type. None asks for none."""
    if isinstance(dtype, list):  # CuPy looks it up in a table
        raise TypeError(f"unhashable type: 'list'. A structured type is written np.dtype({dtype!r}) here, as in CuPy")
    if dtype is None or np.dtype(dtype).char not in LACKING_DTYPES:
        return
    kind = np.dtype(dtype)
    if kind.char == "V" and kind.subdtype is None and not kind.hasobject and (kind.itemsize or kind.names is not None):
        if not records_seen:
            records_seen.append(kind)
    else:
        raise ValueError(
            f"Unsupported dtype: a GPU holds numbers and booleans, and has no {np.dtype(dtype)!r}. Take a number's "
            f"type, such as np.float64, np.int32 or np.complex64, or compute on the host: {WRITE['to the host']}(x)"
        )


class Memory(NamedTuple):
    """A device's memory in bytes."""

    used: int
    free: int
    peak: int
    capacity: int


class OutOfMemoryError(MemoryError):
    """The device has no room for an array. Says how much is used, free and asked for (CUDA.jl: OutOfGPUMemoryError)."""


class Pool:
    """How many bytes of a device's memory are in use."""

    def __init__(self, capacity: int, device_name: str) -> None:
        self.capacity, self.device_name = capacity, device_name
        self.limit = capacity  # a program can set a lower one
        self.used = self.peak = 0
        self.held = 0  # what's in use, and what's kept for new arrays: CuPy gives nothing back by itself
        self.earlier_peaks: list[int] = []  # for each open receipt, `peak` at the time it was opened

    def check_room(self, nbytes: int) -> None:
        """Raises `OutOfMemoryError` if no array of `nbytes` fits."""
        size = nbytes + -nbytes % UNIT
        if self.used + size > self.limit:
            self.make_room(size)

    def make_room(self, size: int) -> None:
        """Raises `OutOfMemoryError` if `size` bytes don't fit."""
        gc.collect()  # as in CuPy: models that refer to themselves may be garbage already
        if self.used + size > self.limit:
            raise OutOfMemoryError(
                f"{self.device_name} is out of memory: {size:,} bytes asked for, {max(0, self.limit - self.used):,} "
                f"free, {self.used:,} used of {self.limit:,}. Use smaller batches, or delete what is not needed."
            )


class Buffer:
    """A piece of a device's memory. It's freed when the last array in it is gone."""

    __slots__ = ("pool", "size", "root", "is_empty")

    def __init__(self, pool: Pool, nbytes: int, root: Any) -> None:
        self.pool, self.size = pool, 0  # in case make_room raises
        size = nbytes + -nbytes % UNIT
        if pool.used + size > pool.limit:
            pool.make_room(size)
        pool.used = used = pool.used + size
        if used > pool.held:
            pool.held = used
        if used > pool.peak:
            pool.peak = used
        self.size, self.root = size, root
        self.is_empty = False  # whether it was made by `empty`, and holds its pattern: `dispatch.py`

    def __del__(self) -> None:
        self.pool.used -= self.size


def root_of(values: Any) -> Any:
    """The array that owns the memory of `values`: `values` itself if it isn't a view."""
    while (base := getattr(values, "base", None)) is not None:
        # Between an array and a view by strides, NumPy has an object of its own.
        if not isinstance(base, np.ndarray) and not isinstance(getattr(base, "base", None), np.ndarray):
            break
        values = base
    return values


class Stored:
    """Values in a buffer on a device: a simulated array's data, without its operations.

    `host_values` are the numbers, in the host's memory, since there's no GPU. No other library asks an array for that
    name. Matplotlib, pandas and others look for ``x.values``, and would read it without a copy and a wait.
    """

    __slots__ = ("host_values", "device", "buffer", "base", "__weakref__")
    host_values: np.ndarray
    device: Any
    buffer: Buffer
    base: Any  # the array that this one is a view of, or None

    def in_memory(self) -> np.ndarray:
        """`host_values`, which take memory from now on, also where only shapes are computed: then they're 0 at first.

        Raises `TooLargeError`, of `meta.py`.
        """
        values: Any = self.host_values
        if type(values) is MetaArray:
            self.host_values = values.in_memory()
            self.buffer.root = root_of(self.host_values)
        return self.host_values
