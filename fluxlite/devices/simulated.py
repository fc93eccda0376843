"""The simulated GPU as one of fluxlite's devices: what `cupy/` is for CuPy's."""

from __future__ import annotations

import operator
from typing import Any

from simgpu import calibration
from simgpu import device as simulated
from simgpu.array import SimulatedArray
from simgpu.indexing import scatter_add
from simgpu.memory import OutOfMemoryError as OutOfMemoryError
from simgpu.presets import preset as preset

from .. import arrays
from ..arguments import explained
from ..arrays import device_of
from ..coming_from import OF_A_DEVICE_ARRAY, knows
from ..tree.ties import address
from . import of_gpus as of_gpus
from .base import GPU, Memory, current, gpu_in_use
from .scalars import scalar_read


class SimulatedDevice(simulated.Card, GPU):
    """A GPU that isn't there. Its arrays hold real values, computed on the CPU under a GPU's rules.

    >>> device = SimulatedDevice(0, preset("NVIDIA T4"))
    >>> device(np.ones(2, np.float32)) + 1
    array([2., 2.], dtype=float32)  # Simulated:0
    """

    __hash__ = GPU.__hash__
    in_use = property(lambda self: gpu_in_use[0])  # what says where unpickled arrays go

    def memory(self) -> Memory:
        return Memory(*super().memory())

    def current_card(self) -> Any:
        return current(self.cards)  # type: ignore[arg-type]

    def _reads(self, name: str) -> None:
        scalar_read(name, self)

    def _habit(self) -> str:
        return (
            f"`with device_of(x):`, or `with cuda.using({self.index}):`. Layers, losses, gradient and update do so by "
            "themselves"
        )


def together(cards: list[Any]) -> list[Any]:
    """Put these cards into one computer. With several, those of operands must be entered."""
    if len(cards) > 1:
        arrays.enter_card[SimulatedArray] = operator.attrgetter("device")
    return simulated.together(cards)


calibrate = explained("a dict with measurements")(calibration.calibrate)

# -- what fluxlite asks of an array ------------------------------------------------------------------------------------

knows(OF_A_DEVICE_ARRAY)(SimulatedArray)
arrays.read_only_types.add(SimulatedArray)
arrays.add_at_for(SimulatedArray)(scatter_add)
device_of.register(SimulatedArray, operator.attrgetter("device"))


@address.register(SimulatedArray)
def _(x: SimulatedArray) -> int:
    return x._values.__array_interface__["data"][0]


def _fused(fused: Any, args: tuple) -> Any:
    from ..fused.simulated import launch

    return launch(fused, args)


def _recorded(result: Any) -> None:
    """The host takes time to note a call for the gradient."""
    if type(result) is SimulatedArray:
        result.device.lanes.record()


arrays.fusing[SimulatedArray] = _fused
arrays.on_record.append(_recorded)
