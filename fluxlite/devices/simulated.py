"""The simulated GPU as one of fluxlite's devices. It follows CuPy; the other GPUs take what's common from here."""

import math
import operator
import sys
from typing import Any

import numpy as np

from simgpu import device as simulated
from simgpu import lines, place, presets
from simgpu.array import HostReads as HostReads
from simgpu.array import SimulatedArray
from simgpu.device import CountedGenerator as CountedGenerator
from simgpu.dispatch import quiet
from simgpu.indexing import scatter_add
from simgpu.launches import TEN_EACH
from simgpu.lines import users_line as users_line
from simgpu.memory import OutOfMemoryError as OutOfMemoryError
from simgpu.memory import Stored
from simgpu.presets import preset as preset
from simgpu.profile.estimates import Estimated
from simgpu.profile.estimates import estimated as estimated
from simgpu.rules import COMPARISONS as COMPARISONS
from simgpu.rules import SCALARS as SCALARS
from simgpu.rules import one_device
from simgpu.rules import one_number as one_number
from simgpu.rules import refusal as refusal
from simgpu.shapes import untouched as untouched
from simgpu.words import WRITE

from .. import arrays
from ..arrays import device_of
from ..fused.function import NUMBERS, Trace
from ..messages import explained
from ..tree.ties import address
from .base import CHOICE, GPU, Memory, current, gpu_generators

# It learns fluxlite's names, and which device is in use.
WRITE.update({"to the host": "cpu", "to the GPU": "fl.gpu", "for a GPU": "fl.simulate_gpu()"})
place.in_use.append(lambda: CHOICE.require_gpu())
lines.leave_out(sys.modules["fluxlite"])
gpu_generators.append(CountedGenerator)


class SimulatedDevice(simulated.Card, GPU):
    """A GPU that isn't there. Its arrays hold real values, computed on the CPU under a GPU's rules."""

    __hash__ = GPU.__hash__
    in_use = property(lambda self: CHOICE.require_gpu)  # what says where unpickled arrays go

    def memory(self) -> Memory:
        return Memory(*super().memory())

    def current_card(self) -> Any:
        return current(self.cards)  # type: ignore[arg-type]

    def _habit(self) -> str:
        return (
            f"`with device_of(x):`, or `with cuda.using({self.index}):`. Layers, losses, gradient and update do so by "
            "themselves"
        )


class EstimatedDevice(Estimated, SimulatedDevice):
    """A simulated GPU for one estimate: it has its own clock, and only the estimate's receipt sees it."""


def together(cards: list[Any]) -> list[Any]:
    """Put these cards into one computer. With several, those of operands must be entered."""
    if len(cards) > 1:
        arrays.enter_card[SimulatedArray] = operator.attrgetter("device")
    return simulated.together(cards)


calibrate = explained("a dict with measurements")(presets.calibrate)

# -- what fluxlite asks of an array ------------------------------------------------------------------------------------

arrays.read_only_types.add(SimulatedArray)
arrays.add_at_for(SimulatedArray)(scatter_add)
device_of.register(SimulatedArray, operator.attrgetter("device"))


@address.register(SimulatedArray)
def _(x: SimulatedArray) -> int:
    return x._values.__array_interface__["data"][0]


def _recorded(result: Any) -> None:
    """The host takes time to note a call for the gradient."""
    if type(result) is SimulatedArray:
        result.device.lanes.record()


arrays.on_record.append(_recorded)

# -- a fused function: one launch, with the bytes of what goes in and what comes out -----------------------------------


def _fused(fused: Any, args: tuple) -> Any:
    """Call a fused function with arrays of a simulated GPU. What it writes to changes when nothing has been refused."""
    device: Any = None
    for x in args:
        if isinstance(x, Stored):
            device = one_device(device, x)
    for x in args:
        if not isinstance(x, (Stored, *NUMBERS, np.generic, type(None))):
            raise refusal(fused, x, device)
    trace: Any = Trace(fused, np.broadcast_shapes(*(np.shape(_plain(x)) for x in args)))
    trace.compute = device.instead or quiet.run
    given = {id(x): trace.argument(x, _plain(x)) for x in args if x is not None}
    device = device.begin()
    result = fused.function(*[None if x is None else given[id(x)] for x in args])
    found, places = trace.outputs(result)
    operands = {id(x): x for x in args if isinstance(x, Stored)}
    written = [x for key, x in operands.items() if given[key].is_written]
    for x in written:
        if any(x is not y and np.may_share_memory(x._values, y._values) for y in operands.values()):
            raise ValueError(f"fuse, {fused.name}: two arguments share memory, and it writes to one. Copy it: x.copy()")
    made = [device.new(_owned(trace, x)) for x in found]
    for x in written:
        if device.instead is None:
            x._values[...] = given[id(x)].values
    nbytes = sum(x._values.nbytes for x in (*operands.values(), *made, *written))
    # As many as the calls would have one by one.
    operations = math.prod(trace.shape) * sum(10 if name in TEN_EACH else 1 for name in trace.calls)
    device.launch(fused.name, nbytes, operations, (made or list(operands.values()))[0].dtype.char)
    return tuple([made[i] for i in places]) if isinstance(result, tuple) else made[0] if made else None


def _plain(x: Any) -> Any:
    return x._values if isinstance(x, Stored) else x


def _owned(trace: Any, x: Any) -> np.ndarray:
    if x.values.base is None and x.given is None and x.values.flags.c_contiguous:
        return x.values
    return trace.compute(np.ndarray.copy, x.values)


arrays.fusing[SimulatedArray] = _fused
