"""The CPU and its memory: where NumPy's arrays are, and where every program starts."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..arrays import device_of
from .base import Device, Memory


class CPUDevice(Device):
    """The processor and the computer's memory (Flux: ``FluxCPUDevice``)."""

    backend = "CPU"

    def upload(self, x: np.ndarray) -> np.ndarray:
        return x

    def download(self, x: np.ndarray) -> np.ndarray:
        return x

    def new_generator(self, seed: int | None) -> np.random.Generator:
        return np.random.default_rng(seed)

    def memory(self) -> Memory:
        try:
            page = os.sysconf("SC_PAGE_SIZE")
            capacity, free = page * os.sysconf("SC_PHYS_PAGES"), page * os.sysconf("SC_AVPHYS_PAGES")
        except (AttributeError, OSError, ValueError):  # Windows and macOS have no sysconf for this
            return Memory(None, None, None, None)
        return Memory(capacity - free, free, None, capacity)

    def __repr__(self) -> str:
        return "CPU"


CPU = CPUDevice(name="CPU")


@device_of.register(np.ndarray)
def _(x: np.ndarray) -> Any:
    return CPU
