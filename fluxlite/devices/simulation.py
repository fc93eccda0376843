"""The simulated GPUs, while they're on."""

import functools
import os
import re
from typing import Any

from ..messages import check_whole, explained, notice
from .base import CHOICE, Device, Functional, current
from .preferences import wish


@explained()
def simulate_gpu(
    count: int | bool = 1,
    like: Any = "NVIDIA T4",
    memory: int | None = None,
    *,
    visible: bool = False,
) -> "Simulation":
    """Use `count` simulated GPUs from now on, even if there's a real one. ``simulate_gpu(False)`` ends it.

    `like` names the card to imitate, or is a preset such as `calibrate` gives. `memory`, in bytes, replaces that
    card's. Its time is `fluxlite.clock()`, the same in each run. Another call with the same arguments, as when you
    rerun a cell, keeps the same devices. ``with simulate_gpu():`` restores the earlier state at the end. With
    ``visible=True``, CUDA_VISIBLE_DEVICES hides simulated GPUs as it does real ones.
    """
    count = int(count) if isinstance(count, bool) else count
    check_whole("simulate_gpu(count): the number of GPUs", count)
    if count > 1024:  # each takes memory and time
        raise ValueError(f"simulate_gpu(count) takes at most 1,024 GPUs, got {count}")
    if memory is not None:
        check_whole("simulate_gpu(memory=…), in bytes,", memory, 1)
    earlier, shown = Simulation(CHOICE.simulated), _visible(count) if visible else int(count)
    found = _make(shown, like, memory)
    CHOICE.simulated = found if count else None
    _say(found, int(count))
    return earlier


def _make(count: int, like: Any, memory: int | None) -> list[Device]:
    """So many new devices, or those that are there already if they're the same."""
    from .simulated import SimulatedDevice, preset, together  # not needed with a real GPU

    new: list[Any] = [SimulatedDevice(index, preset(like), memory and int(memory)) for index in range(count)]
    old: list[Any] = CHOICE.simulated or []
    return old if [device.settings for device in new] == [device.settings for device in old] else together(new)


def _visible(count: int) -> int:
    """How many of `count` GPUs CUDA_VISIBLE_DEVICES shows. As in CUDA, the list ends at the first that isn't there.

    A number below `count` is there, and so is each ``GPU-<uuid>``. Of ``MIG-<uuid>``s, the parts of a shared card, CUDA
    gives a process one, however many the list names. An older id of a part is ``MIG-GPU-<uuid>/1/0``.
    """
    wanted = os.environ.get("CUDA_VISIBLE_DEVICES")
    if wanted is None:
        return count
    seen: list[str] = []
    for name in map(str.strip, wanted.split(",")):
        is_id = re.fullmatch(r"(GPU|MIG|MIG-GPU)-[0-9a-f][0-9a-f-]*(/\d+/\d+)?", name)
        is_there = is_id or name.isdecimal() and int(name) < count
        if not is_there or name in seen or len(seen) == count or seen and seen[-1].startswith("MIG-"):
            break
        seen.append(name)
    return len(seen)


def _say(devices: list[Device], count: int) -> None:
    text = ""
    if len(devices) == 1:
        text = f"{devices[0]!r}, a {devices[0].name}, stands in for a GPU."
    elif devices:
        text = f"{devices[0]!r} to {devices[-1]!r}, {devices[0].name}, stand in for GPUs."
    if len(devices) < count:
        wanted = os.environ.get("CUDA_VISIBLE_DEVICES", "")
        text += f" CUDA_VISIBLE_DEVICES={wanted} leaves {len(devices)} of {count} simulated GPUs visible."
    if text:
        notice(text, text.strip())


class Simulation:
    """What `simulate_gpu` returns; at the end of its ``with`` block, the `earlier` simulation comes back."""

    def __init__(self, earlier: list[Device] | None) -> None:
        self._earlier = earlier

    def __enter__(self) -> Device | None:
        return current(devices())

    def __exit__(self, *exc_info: Any) -> None:
        CHOICE.simulated = self._earlier

    def __repr__(self) -> str:
        return f"Simulation({', '.join(map(repr, CHOICE.simulated or ())) or 'off'})"


def devices() -> list[Device]:
    """The simulated GPUs. Without `simulate_gpu`, it's the one that a preference for "Simulated" asks for."""
    found = CHOICE.simulation()
    if found is None:
        found = _standing_in() if is_meant() else []
    return list(found)


def is_meant() -> bool:
    """Whether it's the simulated GPU that the user asked for."""
    asked = wish()
    return asked is not None and asked.backend == "Simulated"


@functools.cache
def _standing_in() -> list[Device]:
    found = _make(1, "NVIDIA T4", None)
    _say(found, 1)
    return found


def functional() -> Functional:
    """Whether there's a simulated GPU, and if not, why."""
    if devices():
        return Functional()
    hidden, off = "CUDA_VISIBLE_DEVICES hides the simulated GPUs too", "the simulated GPU is off: simulate_gpu()"
    return Functional(off if CHOICE.simulated is None else hidden)
