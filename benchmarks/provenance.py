"""What a record describes, and when and how it was made."""

from __future__ import annotations

import datetime
import platform
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

import fluxlite as fl
from fluxlite.devices.cupy.device import CupyDevice
from fluxlite.simulated import SimulatedDevice

from .record_cpu import processor


def provenance(device: Any) -> dict[str, Any]:
    """What was measured, when and with what. It says nothing about whose machine it is."""
    return {
        **_card(device),
        "host": processor(),
        "system": f"{platform.system()} {platform.machine()}",
        "date": datetime.date.today().isoformat(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "fluxlite": fl.__version__,
        "made_by": "python -m benchmarks.record",
    }


def _card(device: Any) -> dict[str, Any]:
    if isinstance(device, SimulatedDevice):
        like = device.settings[0]
        about = {"memory": device.memory().capacity, "multiprocessors": like.multiprocessors, "preset": like.version}
        return {"card": like.name, "kind": "simulated", **about}
    if not isinstance(device, CupyDevice):
        return {"card": device.name, "kind": "recorded", "backend": device.backend}
    import cupy

    runtime = cupy.cuda.runtime
    properties = runtime.getDeviceProperties(device.index)
    return {
        "card": device.name,
        "kind": "recorded",
        "memory": properties["totalGlobalMem"],
        "multiprocessors": properties["multiProcessorCount"],
        "driver": driver(),
        "cuda": _version(runtime.runtimeGetVersion()),
        "cuda_of_driver": _version(runtime.driverGetVersion()),
        "cupy": cupy.__version__,
    }


def _version(number: int) -> str:
    """12090 is 12.9."""
    return f"{number // 1000}.{number % 1000 // 10}"


def driver(told: Path = Path("/proc/driver/nvidia/version")) -> str:
    """The NVIDIA driver's version. Empty if it's unknown."""
    try:
        text = told.read_text(encoding="utf-8")
    except OSError:
        text = _asked_smi()
    found = re.search(r"\b\d{3,}\.\d+(\.\d+)?\b", text)  # the line also says where the driver was built
    return found[0] if found else ""


def _asked_smi() -> str:
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
