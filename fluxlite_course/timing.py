"""Times taken properly: warmed up, waiting before and after, repeated, and labelled with their kind."""

import operator
import statistics
from collections.abc import Callable
from typing import Any

from fluxlite import gpu_device
from fluxlite.devices import CPU, devices
from fluxlite.receipts import Seconds, clock, clocked, duration


class Timing:
    """Several times of the same work: their `median`, and the `quartiles` around the middle half."""

    def __init__(self, times: list[Seconds]) -> None:
        self.times = sorted(times)

    @property
    def median(self) -> Seconds:
        return self._as(statistics.median(map(float, self.times)))

    @property
    def quartiles(self) -> tuple[Seconds, Seconds]:
        if len(self.times) == 1:
            return self.times[0], self.times[0]
        low, _, high = statistics.quantiles(map(float, self.times), n=4, method="inclusive")
        return self._as(low), self._as(high)

    def _as(self, value: float) -> Seconds:
        return Seconds(value, self.times[0].kind, self.times[0].card)

    def __repr__(self) -> str:
        low, high = self.quartiles
        apart = duration(round(float(high - low), 9))  # equal simulated times may differ in the last digit
        return f"{self.median} (median of {len(self.times)}; half of them within {apart})"


def bench(f: Callable[[], Any], repeats: int = 7) -> Timing:
    """How long ``f()`` takes on the device in use: *simulated* on a simulated GPU, otherwise *measured*.

    The first call is a warm-up. Then it repeats this `repeats` times: wait, read the clock, run, wait, read the clock.
    On a real GPU the clock is the GPU's own, by two marks in its work (CUDA.jl: ``CUDA.@elapsed``).

    >>> x = np.ones((2048, 2048), np.float32)
    >>> with fl.simulate_gpu():
    ...     x = fl.gpu(x)
    ...     bench(lambda: x @ x).median
    [ Info: Simulated:0, a simulated NVIDIA T4, stands in for a GPU.
    2.89 ms simulated (NVIDIA T4)
    """
    if not callable(f):
        raise TypeError(f"bench takes a function, to call it itself: bench(lambda: …); got a {type(f).__name__}")
    if operator.index(repeats) < 1:
        raise ValueError(f"repeats is at least 1, got {repeats}")
    f()
    return Timing([_once(f) for _ in range(repeats)])


def _once(f: Callable[[], Any]) -> Seconds:
    wait()
    device, others = gpu_device() or CPU, len(devices()) > 1
    start, watch = clock(), device.stopwatch()
    f()
    watch.stop()
    if others:  # one GPU's own clock knows nothing of the others
        wait()
        return clocked(clock() - start)
    return clocked(watch.seconds())


def wait() -> None:
    """Until all devices in use have done what they were asked for."""
    for device in devices():
        device.synchronize()
