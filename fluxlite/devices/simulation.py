"""The simulated GPUs, while they're on."""

from __future__ import annotations

import functools
import math
import operator
import os
import re
from contextvars import ContextVar
from typing import Any

from ..arguments import check_bool, check_whole, in_words
from ..messages import notice
from . import preferences
from .availability import Functional
from .base import Device, current

MOST = 1024  # simulated GPUs at once: no computer has more, and each takes memory and time


class _State:
    """The visible simulated GPUs. There are none while the simulation is off or they're hidden."""

    on = False
    devices: list[Device] = []


def simulate_gpu(
    count: int | bool = 1,
    like: Any = "NVIDIA T4",
    memory: int | None = None,
    *,
    visible: bool = False,
) -> Simulation:
    """Use `count` simulated GPUs from now on, even if there's a real one. ``simulate_gpu(False)`` ends it.

    `like` names the card to imitate, or is a preset such as `calibrate` gives. `memory`, in bytes, replaces that
    card's. Its time is `fluxlite.clock()`, which moves only when the program asks the GPU for work, so it's the same
    in each run. Another call with the same arguments, as when you rerun a cell, keeps the same devices. ``with
    simulate_gpu():`` restores the earlier state at the end. The environment variable CUDA_VISIBLE_DEVICES is about
    real GPUs. With ``visible=True`` it hides simulated ones the same way; its value at the time of the call counts.
    Raises `ValueError` for an unknown card, more than 1,024 GPUs or no memory, and `TypeError` for a number that isn't
    whole.

    >>> with simulate_gpu(like="RTX 2080 Ti", memory=2**20) as device:
    ...     device.memory().capacity
    [ Info: Simulated:0, a simulated RTX 2080 Ti, stands in for a GPU.
    1048576
    """
    before = Simulation(_State.on, _State.devices)
    check_whole("simulate_gpu(count): the number of GPUs", int(count) if isinstance(count, bool) else count, -math.inf)
    count = operator.index(count)
    if count < 0:
        raise ValueError(f"simulate_gpu(count) takes a number of GPUs, got {count}")
    if count > MOST:
        raise ValueError(f"simulate_gpu(count) takes at most {MOST:,} GPUs, got {in_words(count)}")
    if memory is not None:
        check_whole("simulate_gpu(memory=…), in bytes,", memory, 1)
        memory = operator.index(memory)
    check_bool("simulate_gpu(visible=…)", visible)
    _State.devices = _make(_visible(count) if visible else count, like, memory)
    _State.on = count > 0
    _say(count, _State.devices)
    return before


def _make(count: int, like: Any, memory: int | None) -> list[Device]:
    from .simulated import SimulatedDevice, preset, together  # not needed with a real GPU

    new: list[Device] = [SimulatedDevice(index, preset(like), memory) for index in range(count)]
    return list(_State.devices) if list(map(_settings, new)) == list(map(_settings, _State.devices)) else together(new)


def _settings(device: Any) -> Any:
    return device.settings


def _visible(count: int) -> int:
    """How many of `count` GPUs CUDA_VISIBLE_DEVICES shows. As in CUDA, the list ends at the first that isn't there.

    A number below `count` is there, and so is each ``GPU-<uuid>``, until there are `count`. Of ``MIG-<uuid>``s, the
    parts of a shared card, CUDA gives a process one, however many the list names.
    """
    wanted = os.environ.get("CUDA_VISIBLE_DEVICES")
    if wanted is None:
        return count
    seen: set[str] = set()
    for name in (part.strip() for part in wanted.split(",")):
        number = name.isdecimal() and int(name) < count
        if name in seen or len(seen) == count or not (number or re.fullmatch(_UUID, name)):
            break
        seen.add(name)
        if name.startswith("MIG-"):
            break
    return len(seen)


# CUDA takes the beginning of one, too. An older id of a part is MIG-GPU-<uuid>/1/0.
_UUID = r"(GPU|MIG|MIG-GPU)-[0-9a-f][0-9a-f-]*(/\d+/\d+)?"


def _say(count: int, devices: list[Device]) -> None:
    if len(devices) == 1:
        text = f"{devices[0]!r}, a {devices[0].name}, stands in for a GPU."
    else:
        text = f"{devices[0]!r} to {devices[-1]!r}, {devices[0].name}, stand in for GPUs." if devices else ""
    if len(devices) < count:
        wanted = os.environ.get("CUDA_VISIBLE_DEVICES", "")
        text += f" CUDA_VISIBLE_DEVICES={wanted} leaves {len(devices)} of {count} simulated GPUs visible."
    if text:
        notice(text, text.strip())


class Simulation:
    """What `simulate_gpu` returns; it works with ``with``."""

    def __init__(self, on: bool, before: list[Device]) -> None:
        self._before = on, before

    def __enter__(self) -> Device | None:
        return current(devices())

    def __exit__(self, *exc_info: Any) -> None:
        _State.on, _State.devices = self._before

    def __repr__(self) -> str:
        return f"Simulation({', '.join(map(repr, _State.devices)) or 'off'})"


def off() -> Simulation:
    """Turn the simulation off silently; ``with off():`` turns it back on at the end."""
    before = Simulation(_State.on, _State.devices)
    _State.on, _State.devices = False, []
    return before


# The device of the `estimate` that this code runs in. It overrides all others there. Other threads don't see it.
estimating: ContextVar[Device | None] = ContextVar("estimating", default=None)


def is_on() -> bool:
    """Whether `simulate_gpu` was called, and hasn't been ended."""
    return _State.on or estimating.get() is not None


def devices() -> list[Device]:
    """The simulated GPUs. Without `simulate_gpu`, it's the one that a preference for "Simulated" asks for."""
    estimated = estimating.get()
    if estimated is not None:
        return [estimated]
    if _State.on or not _is_preferred():
        return list(_State.devices)
    return list(_standing_in())


def _is_preferred() -> bool:
    wish = preferences.wish()
    return wish is not None and wish.backend == "Simulated"


@functools.cache
def _standing_in() -> list[Device]:
    found = _make(1, "NVIDIA T4", None)
    _say(1, found)
    return found


def functional() -> Functional:
    """Whether there's a simulated GPU, and if not, why."""
    if devices():
        return Functional()
    if _State.on:
        return Functional("CUDA_VISIBLE_DEVICES hides the simulated GPUs too")
    return Functional("the simulated GPU is off: simulate_gpu()")
