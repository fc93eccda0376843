"""`cupyx.profiler`: how long a call takes, in simulated time. `simgpu.receipt` says what it asks for."""

import contextlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..cuda import Event, get_elapsed_time, profile, runtime  # noqa: F401


class Times:
    """What `benchmark` found, in seconds: `cpu_times` of each repetition, `gpu_times` for each device."""

    def __init__(self, name: str, cpu: list[float], gpu: list[list[float]], devices: tuple[int, ...]) -> None:
        self.name, self.cpu_times, self.gpu_times = name, np.array(cpu), np.array(gpu)
        self._names, self._card = ["CPU", *(f"GPU-{device}" for device in devices)], runtime.card(devices[0]).card

    def __repr__(self) -> str:
        texts = [f"{self.name:<20s}:"]
        for name, times in zip(self._names, [self.cpu_times * 1e6, *(self.gpu_times * 1e6)]):
            ends = f"(min: {times.min():9.3f} / max: {times.max():9.3f})"
            texts.append(f"   {name}: {times.mean():9.3f} us   +/- {times.std():6.3f} {ends} us")
        return " ".join([*texts, f"  simulated ({self._card})"])


def benchmark(
    func: Callable, args: tuple = (), kwargs: Any = None, n_repeat: int = 10000, *, name: str | None = None,
    n_warmup: int = 10, max_duration: float = math.inf, devices: tuple[int, ...] | None = None,
) -> Times:  # fmt: skip
    """How long the host and the devices are busy with a call, simulated. `max_duration` is in simulated seconds."""
    if not callable(func):
        raise ValueError("`func` should be a callable object.")
    devices = devices or (runtime.getDevice(),)
    cards = [runtime.card(device) for device in devices]
    for _ in range(n_warmup):
        func(*args, **(kwargs or {}))
    for card in cards:
        card.synchronize()
    cpu: list[float] = []
    gpu: list[list[float]] = [[] for _ in devices]
    host, begin = cards[0].host, cards[0].host.now
    while len(cpu) < n_repeat and host.now - begin < max_duration * 1e9:
        starts, asked = [_marked(card) for card in cards], host.now
        func(*args, **(kwargs or {}))
        cpu.append((host.now - asked) / 1e9)
        for times, start, end in zip(gpu, starts, [_marked(card) for card in cards]):
            end.synchronize()
            times.append(get_elapsed_time(start, end) / 1e3)
    return Times(name or func.__name__, cpu, gpu, devices)


def _marked(card: Any) -> Event:
    with card:
        event = Event()
        event.record()
    return event


class time_range(contextlib.ContextDecorator):
    """A name for a part of a program, for NVIDIA's profiler, which doesn't listen here. With `sync`, it waits."""

    def __init__(self, message: Any = None, color_id: Any = None, argb_color: Any = None, sync: bool = False) -> None:
        self._sync = sync

    def __enter__(self) -> None:
        if self._sync:
            runtime.deviceSynchronize()

    def __exit__(self, *exc_info: Any) -> None:
        self.__enter__()
