"""The clock that a program reads, and times that say what kind of time they are."""

from __future__ import annotations

from simgpu.profile.seconds import Seconds as Seconds
from simgpu.profile.seconds import duration as duration

from ..devices.host import CPU
from ..devices.selection import gpu_device


def clock() -> float:
    """The time in seconds, to be read twice: virtual while a simulated GPU is in use, otherwise real.

    Launching a kernel takes the virtual host 15 µs, a product 20. Nothing else passes until something waits for the
    GPU. So read it as you would on a real GPU: before and after, each time after a wait (CUDA.jl: ``CUDA.@elapsed``).
    The program's own work costs nothing on it. `time.perf_counter` shows the time of the machine that simulates.

    >>> with fl.simulate_gpu() as device:
    ...     x = fl.gpu(np.ones((2048, 2048), np.float32))
    ...     y = x @ x  # the first product loads the kernel
    ...     device.synchronize()
    ...     start = clock()
    ...     y = x @ x
    ...     ordered = clock() - start
    ...     device.synchronize()
    ...     print(f"{ordered * 1e6:.0f} µs to order it, {(clock() - start) * 1e3:.2f} ms until it is there")
    [ Info: Simulated:0, a simulated NVIDIA T4, stands in for a GPU.
    20 µs to order it, 2.89 ms until it is there
    """
    return (gpu_device() or CPU).clock()


def clocked(seconds: float) -> Seconds:
    """The time between two readings of `clock`: simulated while a simulated GPU is in use, otherwise measured.

    >>> clocked(0.5)
    0.5 s measured
    """
    device = gpu_device() or CPU
    return Seconds(seconds, device.kind_of_time, device.card)
