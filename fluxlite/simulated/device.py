"""The simulated device: memory that runs out, a generator of its own, and events that a receipt can count."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..devices import events
from ..devices.base import GPU, Memory
from ..devices.events import listeners, tell
from .array import SimulatedArray
from .memory import Buffer, Pool, root_of
from .presets import Preset
from .random import SimulatedGenerator


class SimulatedDevice(GPU):
    """A GPU that is not there. Its arrays compute real values, on the CPU, under a GPU's rules.

    >>> from fluxlite.simulated.presets import preset
    >>> device = SimulatedDevice(0, preset("NVIDIA T4"))
    >>> device(np.ones(2, np.float32)) + 1
    array([2., 2.], dtype=float32)  # Simulated:0
    """

    backend = "Simulated"

    def __init__(self, index: int, like: Preset, memory: int | None = None) -> None:
        super().__init__(index, f"simulated {like.name}")
        self.settings = (like, memory)
        self.pool = Pool(like.memory if memory is None else memory, f"{self!r} ({self.name})")

    def __repr__(self) -> str:
        return f"Simulated:{self.index}"

    # -- arrays come, go and are made ------------------------------------------------------------

    def upload(self, x: np.ndarray) -> SimulatedArray:
        return self.copy_in(x)

    def copy_in(self, x: np.ndarray, explicit: bool = True) -> SimulatedArray:
        """A copy of a host array on this device; `explicit` if the program asked for it."""
        self.check(x)
        result = self._buffered(x.nbytes, lambda: np.array(x, order="K", copy=True, subok=False))
        self.event(events.HOST_TO_DEVICE, "copy", nbytes=x.nbytes, explicit=explicit)
        return result

    def download(self, x: SimulatedArray) -> np.ndarray:
        return self.copy_out(x)

    def copy_out(self, x: SimulatedArray, name: str = "copy", explicit: bool = True) -> np.ndarray:
        """A copy of `x` on the host, which waits for the device: everything that makes `x` must be done."""
        self.event(events.DEVICE_TO_HOST, name, nbytes=x.nbytes, explicit=explicit)
        self.event(events.SYNCHRONIZE, name, explicit=explicit)
        return np.array(x._values, order="K", copy=True)

    def copy_from(self, source: Any, x: SimulatedArray) -> SimulatedArray:
        result = self._buffered(x.nbytes, lambda: np.array(x._values, order="K", copy=True))
        self.event(events.DEVICE_TO_DEVICE, "copy", nbytes=x.nbytes)
        return result

    def copy_within(self, x: SimulatedArray, order: str = "K") -> SimulatedArray:
        """A copy of `x` beside it. If nothing has to be reordered, no kernel runs: memory is copied as it lies."""
        result = self._buffered(x.nbytes, lambda: x._values.copy(order))  # type: ignore[arg-type]
        if result._values.strides == x._values.strides:
            self.event(events.DEVICE_TO_DEVICE, "copy", nbytes=x.nbytes)
        else:
            self.launch("copy")
        return result

    def _buffered(self, nbytes: int, make: Any) -> SimulatedArray:
        """Room first, values after: a copy that does not fit must not fill the host's memory instead."""
        buffer = Buffer(self.pool, nbytes, None)
        buffer.root = values = make()
        return SimulatedArray(values, self, buffer, None)

    def new(self, values: np.ndarray) -> SimulatedArray:
        """An array of values that were computed here."""
        if type(values) is not np.ndarray:  # NumPy makes a number of what is an array of shape () on a GPU
            values = np.asarray(values)
        return SimulatedArray(values, self, Buffer(self.pool, values.nbytes, root_of(values)), None)

    # -- what happens, told to receipts ----------------------------------------------------------

    def event(self, kind: str, name: str, count: int = 1, nbytes: int = 0, explicit: bool = True) -> None:
        if listeners:
            tell(self, kind, name, count, nbytes, explicit)

    def launch(self, name: str, count: int = 1) -> None:
        """`count` kernels were launched by the operation `name`."""
        if listeners and count:
            tell(self, events.LAUNCH, name, count)

    def memset(self, name: str, nbytes: int) -> None:
        """Memory was set to zero, which needs no kernel."""
        if listeners:
            tell(self, events.MEMSET, name, 1, nbytes)

    def wait(self, name: str, nbytes: int) -> None:
        """The program needed `nbytes` from the device to go on, and did not say so: copied, after a wait."""
        if listeners:
            tell(self, events.DEVICE_TO_HOST, name, 1, nbytes, False)
            tell(self, events.SYNCHRONIZE, name, 1, 0, False)

    def synchronize(self) -> None:
        self.event(events.SYNCHRONIZE, "synchronize")

    # -- memory and random numbers ---------------------------------------------------------------

    def memory(self) -> Memory:
        pool = self.pool
        return Memory(pool.used, pool.capacity - pool.used, max(pool.peak, *pool.earlier_peaks, 0), pool.capacity)

    def watch_peak(self) -> bool:
        self.pool.earlier_peaks.append(self.pool.peak)
        self.pool.peak = self.pool.used
        return True

    def watched_peak(self) -> int:
        peak = self.pool.peak
        self.pool.peak = max(peak, self.pool.earlier_peaks.pop())
        return peak

    def seed(self, seed: int | None) -> None:
        self._rng = SimulatedGenerator(self, seed)
