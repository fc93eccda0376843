"""`cupyx.profiler`: how long a call takes, in simulated time. `simgpu.receipt` says what it asks for."""

import contextlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..cuda import Event, get_elapsed_time, profile, runtime

__all__ = ["benchmark", "profile", "time_range"]


class Times:
    """What `benchmark` found, in seconds: `cpu_times` of each repetition, `gpu_times` for each device."""

    def __init__(self, name: str, cpu: list[float], gpu: list[list[float]], devices: tuple[int, ...]) -> None:
        self.name, self.devices = name, devices
        self.cpu_times, self.gpu_times = np.array(cpu), np.array(gpu)
        self._card = runtime.card(devices[0]).card

    def __repr__(self) -> str:
        rows = [("CPU", self.cpu_times), *((f"GPU-{d}", times) for d, times in zip(self.devices, self.gpu_times))]
        text = "".join(
            f"    {name}: {times.mean():9.3f} us   +/- {times.std():6.3f} (min: {times.min():9.3f} / max: "
            f"{times.max():9.3f}) us"
            for name, times in ((name, times * 1e6) for name, times in rows)
        )
        return f"{self.name:<20s}:{text}   simulated ({self._card})"


def benchmark(
    func: Callable, args: tuple = (), kwargs: dict | None = None, n_repeat: int = 10000, *, name: str | None = None,
    n_warmup: int = 10, max_duration: float = math.inf, devices: tuple[int, ...] | None = None,
) -> Times:  # fmt: skip
    """How long the host and the devices are busy with a call, simulated. `max_duration` is in simulated seconds.

    >>> import simgpu
    >>> x = simgpu.asarray(np.ones(1_000_000, np.float32))
    >>> times = benchmark(lambda: x + 1, n_repeat=5)
    >>> bool(times.gpu_times.mean() > times.cpu_times.mean())
    True
    """
    for given, kind in ((args, tuple), (kwargs or {}, dict), (n_repeat, int), (n_warmup, int)):
        if not isinstance(given, kind):
            raise ValueError(f"benchmark(func, args, kwargs, n_repeat): got {given!r} where a {kind.__name__} belongs")
    if not callable(func):
        raise ValueError("`func` should be a callable object.")
    devices = (runtime.getDevice(),) if devices is None else devices
    host, call = runtime.card(devices[0]).host, lambda: func(*args, **(kwargs or {}))
    for _ in range(n_warmup):
        call()
    cpu: list[float] = []
    gpu: list[list[float]] = [[] for _ in devices]
    for device in devices:
        runtime.card(device).synchronize()
    begin = host.now
    while len(cpu) < n_repeat and host.now - begin < max_duration * 1e9:
        starts = [_marked(device) for device in devices]
        asked = host.now
        call()
        cpu.append((host.now - asked) / 1e9)
        for times, start, end in zip(gpu, starts, [_marked(device) for device in devices]):
            end.synchronize()
            times.append(get_elapsed_time(start, end) / 1e3)
    return Times(name or func.__name__, cpu, gpu, devices)


def _marked(device: int) -> Event:
    event = Event()
    with runtime.card(device):
        event.record()
    return event


class time_range(contextlib.ContextDecorator):
    """A name for a part of a program, for NVIDIA's profiler, which doesn't listen here. With `sync`, it waits."""

    def __init__(self, message: Any = None, color_id: Any = None, argb_color: Any = None, sync: bool = False) -> None:
        if color_id is not None and argb_color is not None:
            raise ValueError("Only either color_id or argb_color can be specified")
        self._sync = sync

    def __enter__(self) -> Any:
        if self._sync:
            runtime.deviceSynchronize()
        return self

    def __exit__(self, *exc_info: Any) -> None:
        self.__enter__()
