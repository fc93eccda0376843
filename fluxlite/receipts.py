"""What a piece of a program asked of the devices: kernels launched, bytes copied, waits, memory.

    with receipt() as r:
        y = model(gpu(x))
    print(r)

Counts on a simulated GPU are exact and the same in every run, so that an exercise can be checked by them.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from .devices import events
from .devices.events import Event, listeners
from .devices.selection import devices


@dataclass
class Copies:
    """Copies in one direction. The program asked for an explicit one; an implicit one came with something else."""

    count: int = 0
    bytes: int = 0
    explicit: int = 0
    implicit: int = 0

    def add(self, event: Event) -> None:
        self.count += event.times
        self.bytes += event.bytes
        self.explicit += event.times * event.explicit
        self.implicit += event.times * (not event.explicit)

    def __str__(self) -> str:
        if not self.count:
            return "none"
        copies = "1 copy" if self.count == 1 else f"{self.count:,} copies"
        return f"{copies}, {self.bytes:,} bytes: {self.explicit:,} explicit, {self.implicit:,} implicit"


@dataclass(repr=False)
class Receipt:
    """Counts of what happened on all devices, in any thread, while it was open (CUDA.jl: ``CUDA.@profile``).

    `launches` counts kernels and `launched` says by which operations; `host_to_device`, `device_to_host` and
    `device_to_device` have ``.count``, ``.bytes``, ``.explicit`` and ``.implicit``; `synchronizations` counts the
    times that the host waited; `peak_memory` is the most bytes in use on a device. A real GPU does not say what
    it launched: there `launches` and `peak_memory` are None, and only moves by `gpu`, `cpu` and the like count.
    """

    launches: int | None = 0
    memsets: int = 0
    launched: Counter = field(default_factory=Counter)
    host_to_device: Copies = field(default_factory=Copies)
    device_to_host: Copies = field(default_factory=Copies)
    device_to_device: Copies = field(default_factory=Copies)
    synchronizations: int = 0
    peak_memory: int | None = 0

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._watched: list[Any] = []
        self._invisible: list[Any] = []

    def __enter__(self) -> Receipt:
        self._watched = [device for device in devices() if device.watch_peak()]
        self._invisible = [device for device in devices() if device not in self._watched]
        listeners.append(self._record)
        return self

    def __exit__(self, *exc_info: Any) -> None:
        listeners.remove(self._record)
        peaks = [device.watched_peak() for device in self._watched]
        # Devices that came while it was open were in use for no longer than that.
        peaks += [device.memory().peak or 0 for device in devices() if device not in self._watched + self._invisible]
        self.peak_memory = max(peaks, default=0)
        if self._invisible:
            self.launches = self.peak_memory = None

    def _record(self, event: Event) -> None:
        with self._lock:
            _RECORD[event.kind](self, event)

    def __repr__(self) -> str:
        hidden = f"not visible on {', '.join(map(repr, self._invisible))}"
        rows = {
            "launches": hidden if self.launches is None else f"{self.launches:,}{self._operations()}",
            "memsets": f"{self.memsets:,}" if self.memsets else "",
            "host to device": self.host_to_device,
            "device to host": self.device_to_host,
            "device to device": self.device_to_device if self.device_to_device.count else "",
            "synchronizations": f"{self.synchronizations:,}",
            "peak memory": hidden if self.peak_memory is None else f"{self.peak_memory:,} bytes",
        }
        return "\n".join(f"{name:<17} {text}" for name, text in rows.items() if str(text))

    def _operations(self) -> str:
        """By which operations, those with the most launches first."""
        names = sorted(self.launched.items(), key=lambda item: (-item[1], item[0]))
        text = ", ".join(f"{name} {count:,}" for name, count in names[:8])
        return f": {text}{', …' if len(names) > 8 else ''}" if names else ""


def _launch(receipt: Receipt, event: Event) -> None:
    receipt.launches = (receipt.launches or 0) + event.times
    receipt.launched[event.name] += event.times


def _memset(receipt: Receipt, event: Event) -> None:
    receipt.memsets += event.times


def _synchronize(receipt: Receipt, event: Event) -> None:
    receipt.synchronizations += event.times


_RECORD = {
    events.LAUNCH: _launch,
    events.MEMSET: _memset,
    events.SYNCHRONIZE: _synchronize,
    events.HOST_TO_DEVICE: lambda receipt, event: receipt.host_to_device.add(event),
    events.DEVICE_TO_HOST: lambda receipt, event: receipt.device_to_host.add(event),
    events.DEVICE_TO_DEVICE: lambda receipt, event: receipt.device_to_device.add(event),
}


def receipt() -> Receipt:
    """A receipt for what happens in ``with receipt() as r:``; several may be open, each counts everything.

    >>> from fluxlite.devices import gpu, simulate_gpu
    >>> with simulate_gpu(like="H200"):
    ...     with receipt() as r:
    ...         x = gpu(np.ones((8, 8), np.float32))
    ...         total = float((x @ x).sum())
    [ Info: Simulated:0, a simulated H200, stands in for a GPU.
    >>> r
    launches          2: matmul 1, sum 1
    host to device    1 copy, 256 bytes: 1 explicit, 0 implicit
    device to host    1 copy, 4 bytes: 0 explicit, 1 implicit
    synchronizations  1
    peak memory       1,536 bytes
    """
    return Receipt()
