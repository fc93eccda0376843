"""CUDA's own functions, as far as programs call them through CuPy: `cupy.cuda.runtime`."""

import functools
import tomllib
from pathlib import Path
from typing import Any

from ..device import current, devices
from ..presets import CUDAS_VERSION
from ..surface import attribute_error, getter, lister
from ..words import Missing

is_hip = False
profilerStart = profilerStop = lambda: None  # nobody listens
runtimeGetVersion = driverGetVersion = lambda: CUDAS_VERSION
_ERRORS = {
    1: "cudaErrorInvalidValue",
    101: "cudaErrorInvalidDevice",
    400: "cudaErrorInvalidResourceHandle",
    401: "cudaErrorIllegalState",
    600: "cudaErrorNotReady",
    900: "cudaErrorStreamCaptureUnsupported",
    901: "cudaErrorStreamCaptureInvalidated",
    903: "cudaErrorStreamCaptureUnmatched",
    904: "cudaErrorStreamCaptureUnjoined",
    905: "cudaErrorStreamCaptureIsolation",
    906: "cudaErrorStreamCaptureImplicit",
    907: "cudaErrorCapturedEvent",
}


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
    known = device.attributes
    dims = "XYZ"
    return {
        "name": device.name.encode(), "totalGlobalMem": device.pool.capacity, "major": major, "minor": minor,
        "multiProcessorCount": device.multiprocessors, "clockRate": known["ClockRate"],
        "warpSize": known["WarpSize"], "maxThreadsPerBlock": known["MaxThreadsPerBlock"],
        "maxThreadsDim": tuple(known[f"MaxBlockDim{dim}"] for dim in dims),
        "maxGridSize": tuple(known[f"MaxGridDim{dim}"] for dim in dims),
        "sharedMemPerBlock": known["MaxSharedMemoryPerBlock"], "regsPerBlock": known["MaxRegistersPerBlock"],
    }  # fmt: skip


# -- CUDA's constants, and what they ask of a card -------------------------------------------------------------------

_ATTRIBUTE = "cudaDevAttr"


@functools.cache
def _constants() -> dict[str, int]:
    text = (Path(__file__).parents[1] / "constants.toml").read_text(encoding="utf-8")
    pairs = (word.split("=") for word in tomllib.loads(text)["runtime"].split())
    return {name: int(number) for name, number in pairs}


def deviceGetAttribute(attr: int, device_id: int) -> int:
    """One figure of a card: ``deviceGetAttribute(runtime.cudaDevAttrWarpSize, 0)``.

    Raises `CUDARuntimeError` for a number that isn't one of CUDA's attributes, and `Missing` for one that isn't known.

    >>> deviceGetAttribute(10, 0)
    32
    """
    name = next((name for name, number in _constants().items() if name.startswith(_ATTRIBUTE) and number == attr), None)
    if name is None:
        raise CUDARuntimeError(1, f"{attr} is no attribute of a card")
    known = card(device_id).attributes
    if name.removeprefix(_ATTRIBUTE) not in known:
        raise Missing(f"{name} isn't known of a simulated card")
    return known[name.removeprefix(_ATTRIBUTE)]


def _constant(name: str) -> int:
    if name not in _constants():
        raise attribute_error(__name__, name)
    return _constants()[name]


__getattr__ = getter(__name__, _constant)
__dir__ = lister(__name__)
