"""Copies that run while CuPy computes: from pinned memory, on a stream of their own.

The driver never moves the pages of "pinned" memory, so the GPU can read it on its own, and the program needn't wait.
Events keep this safe: they're marks in a stream that another stream, or the program, can wait for.
"""

from collections import deque
from types import ModuleType
from typing import Any

import numpy as np

_MOST = 8  # pieces of pinned memory in use: a program far ahead of the GPU waits here


class PinnedCopies:
    """Copies to one GPU, which must be the current one when you make and use this."""

    def __init__(self, cupy: ModuleType) -> None:
        self._cuda, self._empty = cupy.cuda, cupy.empty
        # Non-blocking: work on this stream and on the default stream, where CuPy computes, don't wait for each other.
        self._stream = cupy.cuda.Stream(non_blocking=True)
        self._under_way: deque[tuple[Any, Any]] = deque()  # (event, pinned memory), the oldest copy first

    def copy_in(self, x: np.ndarray) -> tuple[Any, Any]:
        """Copy `x` to the GPU; returns the copy and the event that marks when it's there. Wait for it before computing.

        You may drop the copy even while it's being made: its memory is of this stream's share in CuPy's pool, so only a
        later copy can get it.
        """
        order: Any = "C" if x.flags.c_contiguous or not x.flags.f_contiguous else "F"
        dtype = x.dtype.newbyteorder("=")  # a GPU has one byte order
        with self._stream:
            result = self._empty(x.shape, dtype, order=order)
        # After all work launched so far, which may still read an earlier array in the same memory.
        self._stream.wait_event(self._mark(self._cuda.get_current_stream()))
        if x.nbytes:
            memory = self._pinned(x.nbytes)
            staged: np.ndarray = np.ndarray(x.shape, dtype, memory, order=order)
            staged[...] = x
            result.set(staged, stream=self._stream)
        done = self._mark(self._stream)
        if x.nbytes:
            self._under_way.append((done, memory))
        return result, done

    def _mark(self, stream: Any) -> Any:
        event = self._cuda.Event(disable_timing=True)
        event.record(stream)
        return event

    def _pinned(self, nbytes: int) -> Any:
        """Pinned memory from CuPy's pool. What we drop goes back to the pool, once its copy is done."""
        while self._under_way and (self._under_way[0][0].done or len(self._under_way) >= _MOST):
            event, _ = self._under_way.popleft()
            event.synchronize()
        return self._cuda.alloc_pinned_memory(nbytes)
