"""Copies that run beside the computing, with CuPy: from pinned memory, on a stream of their own.

The GPU reads "pinned" memory by itself: the driver does not move its pages. So the program need not wait for the copy,
and the GPU can do it while it computes. What may go wrong with that is guarded by events, marks in a stream of work
that another stream, or the program, can wait for.
"""

from __future__ import annotations

from collections import deque
from types import ModuleType
from typing import Any

import numpy as np

_MOST = 8  # pieces of pinned memory in use: where the program is far ahead of the GPU it waits here


class PinnedCopies:
    """The copies to one GPU, which is the current one when this is made and used."""

    def __init__(self, cupy: ModuleType) -> None:
        self._cuda, self._empty = cupy.cuda, cupy.empty
        # Non-blocking: work on the default stream, where CuPy computes, and work here do not wait for each other.
        self._stream = cupy.cuda.Stream(non_blocking=True)
        self._under_way: deque[tuple[Any, Any]] = deque()  # (event, pinned memory), the oldest copy first

    def copy_in(self, x: np.ndarray) -> tuple[Any, Any]:
        """`x` on the GPU, and the event that marks when it is there. Whoever computes with it waits for that first.

        Also whoever drops it unused: its memory comes from the computing stream's share of CuPy's pool, which gives it
        to the next array that is computed while the copy may still write to it.
        """
        order: Any = "C" if x.flags.c_contiguous or not x.flags.f_contiguous else "F"
        result = self._empty(x.shape, x.dtype, order=order)
        self._after_computing()
        if x.nbytes:
            memory = self._pinned(x.nbytes)
            staged: np.ndarray = np.ndarray(x.shape, x.dtype, memory, order=order)
            staged[...] = x
            result.set(staged, stream=self._stream)
        done = self._mark(self._stream)
        if x.nbytes:
            self._under_way.append((done, memory))
        return result, done

    def _after_computing(self) -> None:
        """The copy comes after all launched so far, which may still use what the pool has just handed out."""
        self._stream.wait_event(self._mark(self._cuda.get_current_stream()))

    def _mark(self, stream: Any) -> Any:
        event = self._cuda.Event(disable_timing=True)
        event.record(stream)
        return event

    def _pinned(self, nbytes: int) -> Any:
        """Pinned memory: CuPy has a pool of it, which takes back what is dropped here, once its copy is done."""
        while self._under_way and (self._under_way[0][0].done or len(self._under_way) >= _MOST):
            event, _ = self._under_way.popleft()
            event.synchronize()
        return self._cuda.alloc_pinned_memory(nbytes)
