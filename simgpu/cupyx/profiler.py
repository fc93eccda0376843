"""`cupyx.profiler`: how long a call takes, in simulated time. `simgpu.receipt` says what it asks for."""

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..cuda import Event, get_elapsed_time, profile, runtime  # noqa: F401


class Times(NamedTuple):
    """What `benchmark` found, in seconds: `cpu_times` of each repetition, and `gpu_times` of each on one device."""

    name: str
    cpu_times: np.ndarray
    gpu_times: np.ndarray
    card: str

    def __repr__(self) -> str:
        texts = [f"{self.name:<20s}:"]
        for name, times in ("CPU", self.cpu_times * 1e6), ("GPU", self.gpu_times * 1e6):
            ends = f"(min: {times.min():9.3f} / max: {times.max():9.3f})"
            texts.append(f"   {name}: {times.mean():9.3f} us   +/- {times.std():6.3f} {ends} us")
        return " ".join([*texts, f"  simulated ({self.card})"])


def benchmark(
    func: Callable, args: tuple = (), kwargs: Any = None, n_repeat: int = 10000, *, name: str | None = None,
    n_warmup: int = 10, max_duration: float = math.inf,
) -> Times:  # fmt: skip
    """How long the host and the current card are busy with a call. `max_duration` is in simulated seconds, too."""
    if not callable(func):
        raise ValueError("`func` should be a callable object.")
    for _ in range(n_warmup):
        func(*args, **(kwargs or {}))
    card, start, end = runtime.card(), Event(), Event()
    card.synchronize()
    found: list[tuple[float, float]] = []
    host, begin = card.host, card.host.now
    while len(found) < n_repeat and host.now - begin < max_duration * 1e9:
        start.record()
        before = host.now
        func(*args, **(kwargs or {}))
        seconds = (host.now - before) / 1e9
        end.record()
        end.synchronize()
        found.append((seconds, get_elapsed_time(start, end) / 1e3))
    cpu, gpu = np.array(found).T
    return Times(name or func.__name__, cpu, gpu[None], card.card)


@contextlib.contextmanager
def time_range(message: Any = None, color_id: Any = None, argb_color: Any = None, sync: bool = False) -> Iterator[None]:
    """A name for a part of a program, for NVIDIA's profiler, which doesn't listen here. With `sync`, it waits."""
    if sync:
        runtime.deviceSynchronize()
    yield
    if sync:
        runtime.deviceSynchronize()
