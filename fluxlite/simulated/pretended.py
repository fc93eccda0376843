"""A pretended GPU of a real kind, for `fluxlite.pretend`: named like one, simulated inside, and honest about it."""

from __future__ import annotations

from .device import SimulatedDevice
from .presets import preset

_KINDS_OF_ID = {"CUDA": "CuDevice", "AMDGPU": "HIPDevice", "Metal": "MTLDevice"}


class PretendedDevice(SimulatedDevice):
    """A GPU of this backend as far as choosing, naming and comparing go.

    >>> PretendedDevice("AMDGPU", 0).deviceID
    HIPDevice(0): pretended AMDGPU, a simulated NVIDIA T4 inside
    """

    def __init__(self, backend: str, index: int) -> None:
        self.backend = backend
        self.kind_of_id = _KINDS_OF_ID[backend]
        super().__init__(index, preset("NVIDIA T4"))
        self.name = f"pretended {backend}, a {self.name} inside"

    def __repr__(self) -> str:
        return f"{self.backend}:{self.index} (pretended)"
