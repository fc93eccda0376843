"""The kinds of devices that the conformance suite runs on: ``@pytest.mark.on(*EVERYWHERE)``, ``on(*GPUS)``.

Enter a new kind of device here, and nowhere else in the suite.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from inside import cupy_devices

from fluxlite import functional, reset_notices, simulate_gpu
from fluxlite.devices import CPU, gpu_device

# A GPU has its own memory: it never mixes with host arrays, and nothing comes back unless you ask.
GPUS = ("Simulated", "CUDA", "Metal")
EVERYWHERE = ("CPU", *GPUS)


def simulated_device(memory: int | None = None) -> Any:
    simulate_gpu(memory=memory)
    reset_notices()
    return gpu_device()


def cuda_device() -> Any:
    if not functional("CUDA"):
        pytest.skip(functional("CUDA").reason)
    return cupy_devices("CUDA")[0]


def metal_device() -> Any:
    """MLX also runs on the CPU."""
    pytest.importorskip("mlx.core")
    from inside import MetalDevice

    return MetalDevice()


# How a test gets its device. A test on any other is skipped, with the reason.
DEVICE: dict[str, Callable[[], Any]] = {
    "CPU": lambda: CPU,
    "Simulated": simulated_device,
    "CUDA": cuda_device,
    "Metal": metal_device,
}


def numbers(device: Any, shape: tuple[int, ...] = (2, 3)) -> Any:
    """0, 1, 2 and so on, as an array of this shape on the device."""
    return device(np.arange(np.prod(shape), dtype=np.float32).reshape(shape))


def f32(*shape: int) -> np.ndarray:
    """Ones in float32, on the host."""
    return np.ones(shape, np.float32)
