"""CUDA's own functions, as far as programs call them through CuPy: `cupy.cuda.runtime`."""

from typing import Any

from ..device import current, devices
from ..presets import CLOCKS
from ..surface import getter, lister

is_hip = False
profilerStart = profilerStop = lambda: None  # nobody listens
runtimeGetVersion = driverGetVersion = lambda: 12090  # CUDA 12.9 has these rules
_ERRORS = {101: "cudaErrorInvalidDevice", 400: "cudaErrorInvalidResourceHandle", 600: "cudaErrorNotReady"}


class CUDARuntimeError(RuntimeError):
    """CUDA can't do what was asked. `status` is the error's number."""

    def __init__(self, status: int, why: str) -> None:
        self.status = status
        super().__init__(f"{_ERRORS[status]} ({why})")


def card(index: Any = None) -> Any:
    """The simulated GPU with this number, or the current one. Raises `CUDARuntimeError` if there's none."""
    if index is None or int(index) == current().index:
        return current()
    if not 0 <= int(index) < len(devices()):
        raise CUDARuntimeError(101, f"device {index} of {len(devices())}")
    return devices()[int(index)]


def getDeviceCount() -> int:
    return len(devices())


def getDevice() -> int:
    return current().index


def setDevice(index: int) -> None:
    card(index).use()


def deviceSynchronize() -> None:
    current().synchronize()


def memGetInfo() -> tuple[int, int]:
    """Free and total bytes. What the memory pool keeps for new arrays isn't free."""
    return current().mem_info


def deviceCanAccessPeer(index: int, peer: int) -> int:
    return int(index != peer and card(index).settings[0].peers and card(peer).settings[0].peers)


def getDeviceProperties(index: int) -> dict[str, Any]:
    """What's known of a card: its name in bytes, as in CuPy, and figures under CUDA's names."""
    device = card(index)
    major, minor = map(int, device.compute_capability)
    clock = CLOCKS.get(device.card, CLOCKS["NVIDIA T4"])[0]
    return {  # the last six are the same for all: CUDA C++ Programming Guide, technical specifications
        "name": device.name.encode(), "totalGlobalMem": device.pool.capacity, "major": major, "minor": minor,
        "multiProcessorCount": device.multiprocessors, "clockRate": round(clock / 1e3),
        "warpSize": 32, "maxThreadsPerBlock": 1024, "maxThreadsDim": (1024, 1024, 64),
        "maxGridSize": (2**31 - 1, 65535, 65535), "sharedMemPerBlock": 48 * 1024, "regsPerBlock": 65536,
    }  # fmt: skip


__getattr__ = getter(__name__)
__dir__ = lister(__name__)
