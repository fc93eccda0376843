"""The simulated GPU as one of fluxlite's devices. It follows CuPy; the other GPUs take what's common from here."""

import functools
import math
import operator
import os
import sys
from typing import Any

import numpy as np

from simgpu import device as simulated
from simgpu import lines, places, presets
from simgpu.arrays import HostReads, SimulatedArray
from simgpu.device import MOST, CountedGenerator
from simgpu.dispatch import quiet
from simgpu.indexing import scatter_add, write
from simgpu.launches import TEN_EACH
from simgpu.lines import users_line
from simgpu.memory import OutOfMemoryError, Stored
from simgpu.meta import address_of, reserve_zeros
from simgpu.outside import Compiled
from simgpu.places import one_device
from simgpu.presets import preset
from simgpu.profile.estimates import Estimated, estimate_on
from simgpu.refusals import COMPARISONS, SCALARS, one_number, refusal
from simgpu.words import WRITE

from ..array_kinds import ArrayKind, register, several_cards
from ..messages import in_notebook, notice
from ..words import check_bool, check_whole, explained, in_words
from .base import GPU, SETTINGS, Change, Device, Memory, current
from .fused import Trace
from .graphs import Order

__all__ = [  # with what the other devices take from simgpu
    "COMPARISONS", "SCALARS", "Compiled", "CountedGenerator", "HostReads", "OutOfMemoryError", "SimulatedArray",
    "estimate_on", "one_number", "preset", "refusal", "reserve_zeros", "users_line",
]  # fmt: skip

# It learns fluxlite's names, and which device is in use.
WRITE.update({"to the host": "cpu", "to the GPU": "fl.gpu", "for a GPU": "fl.simulate_gpu()"})
places.IN_USE.append(lambda: SETTINGS.require_gpu())
simulated.simulating.append(lambda: current(SETTINGS.simulation() or []))
lines.leave_out(sys.modules["fluxlite"])
lines.leave_out_code("<captured>")  # a replay, which `capturing/plan.py` writes

_CONDITION = "a condition, such as if x:,"
_READS = {"float": "float(x)", "int": "int(x)", "complex": "complex(x)", "bool": _CONDITION, "item": "x.item()"}


class ScalarReads:
    """A device that asks, before a single number is read from it: does `allowscalar` forbid that?"""

    def check_read(self, name: str) -> None:
        """Called before `name` reads an array's values on the host: it raises if `allowscalar` forbids that."""
        allowed = SETTINGS.scalar_reads
        if name not in _READS or allowed:
            return
        if allowed is None and not in_notebook():
            return
        what = f"{_READS[name]} reads one number from {self} and waits for"
        if allowed is False:
            raise RuntimeError(
                f"{what} it, which allowscalar(False) forbids: {users_line()}\n"
                "Keep the number on the device and read it once, after the loop; "
                "or allow it here: with allowscalar(True):"
            )
        notice(
            "scalar read",
            f"{what} everything before it ({users_line()}). Said once; allowscalar(False) makes an error of it, "
            "allowscalar(True) ends this.",
        )


class SimulatedDevice(ScalarReads, simulated.Card, GPU):
    """A GPU that isn't there. Its arrays hold real values, computed on the CPU under a GPU's rules."""

    in_use = property(lambda self: SETTINGS.require_gpu)  # what says where unpickled arrays go

    def memory(self) -> Memory:
        return Memory(*super().memory())

    def current_card(self) -> Any:
        return current(self.cards)  # type: ignore[arg-type]

    def switch_code(self) -> str:
        return (
            f"`with device_of(x):`, or `with cuda.using({self.index}):`. Layers, losses, gradient and update do so by "
            "themselves"
        )


class EstimatedDevice(Estimated, SimulatedDevice):
    """A simulated GPU for one estimate: it has its own clock, and only the estimate's receipt sees it."""


def together(cards: list[Any]) -> list[Any]:
    """Put these cards into one computer. With several, those of operands must be entered."""
    if len(cards) > 1:
        several_cards.add(SimulatedArray)
    return simulated.together(cards)


calibrate = explained("a dict with measurements")(presets.calibrate)


@explained()
def simulate_gpu(
    count: int | bool = 1, like: Any = "NVIDIA T4", memory: int | None = None, *, visible: bool = False
) -> "Simulation":
    """Use `count` simulated GPUs from now on, even if there's a real one. ``simulate_gpu(False)`` ends it.

    `like` names the card to imitate, or is a preset such as `calibrate` gives. `memory`, in bytes, replaces that
    card's. Its time is `fluxlite.clock()`, the same in each run. Another call with the same arguments, as when you
    rerun a cell, keeps the same devices. ``with simulate_gpu():`` restores the earlier state at the end. It's for the
    whole program: if several threads have such blocks, the one that began last counts for all, until it ends. With
    ``visible=True``, CUDA_VISIBLE_DEVICES hides simulated GPUs as it does real ones. Raises `ValueError` for more than
    1,024 GPUs, or an unknown card.
    """
    if isinstance(count, bool):
        count = int(count)
    check_whole("simulate_gpu(count): the number of GPUs", count)
    if count > MOST:
        raise ValueError(f"simulate_gpu(count): the number of GPUs is at most {MOST:,}, got {in_words(count)}")
    if memory is not None:
        check_whole("simulate_gpu(memory=…), in bytes,", memory, 1)
    check_bool("simulate_gpu(visible=…)", visible)
    shown = int(count)
    if visible:
        shown = _visible(shown)
    found: list[Device] | None = _start(int(count), shown, like, memory)
    if not count:
        found = None
    return Simulation(SETTINGS.simulating, found)


class Simulation(Change):
    """What `simulate_gpu` returns; at the end of its ``with`` block, the earlier simulation comes back."""

    def __enter__(self) -> Device | None:
        super().__enter__()
        return current(SETTINGS.simulation() or [])

    def __repr__(self) -> str:
        return f"Simulation({', '.join(map(repr, SETTINGS.simulated or ())) or 'off'})"


@functools.cache
def standing_in() -> list[Device]:
    """The GPU that a preference for "Simulated" asks for."""
    return _start(1, 1, "NVIDIA T4", None)


def _start(count: int, shown: int, like: Any, memory: int | None) -> list[Device]:
    """New devices, or those that are there already if they're the same; and it says so."""
    new: list[Any] = [SimulatedDevice(index, preset(like), memory and int(memory)) for index in range(shown)]
    old: list[Any] = SETTINGS.simulated or []
    if [device.settings for device in new] == [device.settings for device in old]:
        found = old
    else:
        found = together(new)
    text = ""
    if shown == 1:
        text = f"{found[0]!r}, a {found[0].name}, stands in for a GPU."
    elif shown:
        text = f"{found[0]!r} to {found[-1]!r}, {found[0].name}, stand in for GPUs."
    if shown < count:
        wanted = os.environ.get("CUDA_VISIBLE_DEVICES", "")
        text += f" CUDA_VISIBLE_DEVICES={wanted} leaves {shown} of {count} simulated GPUs visible."
    if text:
        notice(text, text.strip())
    return found


def _visible(count: int) -> int:
    """How many of `count` GPUs CUDA_VISIBLE_DEVICES shows. As in CUDA, the list ends at the first that isn't there."""
    wanted = os.environ.get("CUDA_VISIBLE_DEVICES")
    if wanted is None:
        return count
    seen: set[str] = set()
    for name in map(str.strip, wanted.split(",")):
        is_number = name.isdecimal() and len(name) < 10 and int(name) < count
        is_there = is_number or name.startswith(("GPU-", "MIG-"))
        is_another_part = name.startswith("MIG-") and len(seen) > 0  # of a shared card, there's one
        if not is_there or name in seen or is_another_part:
            break
        seen.add(name)
    return min(len(seen), count)


def _address(x: SimulatedArray) -> int:
    return address_of(x.host_values)


def _take_time_to_record(result: SimulatedArray) -> None:
    """The host takes time to note a call for the gradient."""
    result.device.lanes.record()


def _in_one_launch(function: Any, args: tuple) -> Any:
    """A function in one launch, with the bytes of what goes in and out. If something is refused, nothing changes."""
    operands: dict[int, Any] = {id(x): x for x in args if isinstance(x, Stored)}
    device = functools.reduce(one_device, operands.values(), None)
    for x in args:
        if not isinstance(x, (Stored, *SCALARS, type(None))):
            raise refusal(function, x, device)
    shape = np.broadcast_shapes(*{x.shape for x in operands.values()})
    # As on a real GPU, it's compiled once for each combination of types: names from outside keep what they mean then.
    kinds = tuple([(x.dtype, x.shape == shape) if id(x) in operands else type(x) for x in args])
    memo = vars(function).setdefault("compiled", {})
    known = memo.get((len(shape), kinds)) or Compiled(function, f"fuse, {function.__name__}", function.__name__)
    trace: Any = Trace(known.current(), shape)
    if device.instead is None:
        trace.compute = quiet.run
    else:
        trace.compute = functools.partial(_compute_numbers_at_once, device)
    given = {id(x): trace.argument(getattr(x, "host_values", x), getattr(x, "shape", ()) == trace.shape) for x in args}
    device = device.begin()
    result, found = trace.outputs(*[given[id(x)] for x in args])
    memo[len(shape), kinds] = known
    written = [x for key, x in operands.items() if given[key].is_written]
    for x in written:
        if any(x is not y and np.may_share_memory(x.host_values, y.host_values) for y in operands.values()):
            name = function.__name__
            raise ValueError(f"fuse, {name}: two arguments share memory, and it writes to one. Copy it: x.copy()")
    made = {}
    for x in found:
        values = x.values
        if values.base is not None or not values.flags.c_contiguous:
            values = trace.compute(np.ndarray.copy, values)
        made[id(x)] = device.new(values)
    for x in written:
        write(device, x.host_values, ..., given[id(x)].values)
    nbytes = sum(x.host_values.nbytes for x in (*operands.values(), *made.values(), *written))
    # As many as the calls would have one by one.
    operations = math.prod(trace.shape) * sum(10 if name in TEN_EACH else 1 for name in trace.calls)
    device.launch(function.__name__, nbytes, operations, next(iter([*made.values(), *operands.values()])).dtype.char)
    results = tuple([made[id(x)] for x in found])
    if isinstance(result, tuple):
        return results
    if result is None:
        return None
    return results[0]


def _compute_numbers_at_once(device: Any, function: Any, *values: Any, **keywords: Any) -> Any:
    """What a function computes of numbers alone, the host knows, even if there are no values or not yet."""
    if any(isinstance(x, np.ndarray) for x in values):
        return device.instead(function, *values, **keywords)
    return quiet.run(function, *values, **keywords)


_device = operator.attrgetter("device")
register(
    SimulatedArray,
    ArrayKind(
        device_of=_device,
        address=_address,
        add_at=scatter_add,
        can_freeze=True,
        generator=CountedGenerator,  # and of all GPUs
        launch=_in_one_launch,
        card=_device,  # a device's ``with`` makes it the current one
        on_record=_take_time_to_record,
        graph=Order,
    ),
)
