"""On which card something is: a card's number, which of several is current, and which one computes.

A library can have its own class in place of `Place`.
"""

import threading
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any

import numpy as np

from .lines import warn_at_call
from .memory import Stored
from .words import WRITE

# What says which device is in use: `current` of `device.py`, and after it that of a library that builds on this one.
IN_USE: list[Callable[[], Any]] = []
estimating: ContextVar[Any] = ContextVar("estimating", default=None)  # the device of the `estimate` around this code


def simulated_in_use() -> Any:
    """The simulated device in use, as simgpu says."""
    return IN_USE[0]()


def device_in_use() -> Any:
    """The device in use, as the library says that a program works with. That may be a GPU that isn't simulated."""
    return IN_USE[-1]()


class _Entered(threading.local):
    """The cards made current by ``with device:`` and ``device.use()``. Each thread has its own, as in CUDA."""

    def __init__(self) -> None:
        self.stack: list[Any] = []


_entered = _Entered()


class Place:
    """A place for arrays: ``device(x)`` copies `x`, an array or a list, tuple or dict of arrays, there."""

    cards: tuple[Any, ...]  # the other half of a device, `Card`, has these three
    upload: Any
    copy_from: Any

    def __init__(self, index: int, name: str) -> None:
        self.index, self.name = index, name

    id = property(lambda self: self.index)  # CuPy's name

    def __int__(self) -> int:
        return self.index

    def __call__(self, x: Any, dtype: Any = None) -> Any:
        if isinstance(x, dict):
            return {key: self(value, dtype) for key, value in x.items()}
        if isinstance(x, (list, tuple)):
            return type(x)(self(value, dtype) for value in x)
        if not isinstance(x, (np.ndarray, Stored)):
            return x
        there = self.receive(x)
        if dtype is None:
            return there
        return there.astype(dtype, copy=False)

    def receive(self, x: Any) -> Any:
        """The array `x`, from the host or another card, here: `x` itself if it's here already."""
        if not isinstance(x, Stored):
            return self.upload(x)
        if x.device == self:
            return x
        return self.copy_from(x.device, x)

    def use(self) -> Any:
        """Make this the current card, in this thread."""
        _entered.stack[-1:] = [self]
        return self

    def __enter__(self) -> Any:
        _entered.stack.append(self)
        return self

    def __exit__(self, *exc_info: Any) -> None:
        _entered.stack.pop()

    def current_card(self) -> Any:
        """The current one of this computer's cards."""
        return next((card for card in _entered.stack[-1:] if card in self.cards), self.cards[0])

    def move_code(self, exact: bool = False) -> str:
        """What a program writes to move an array here."""
        if exact or self.index:
            return f"simgpu.devices()[{self.index}]"
        return WRITE["to the GPU"]

    def check_read(self, name: str) -> None:
        """Called before `name` reads values on the host as a side effect. A subclass can check that."""

    def switch_code(self) -> str:
        """How a program makes the card of an array the current one."""
        return "`with x.device:`"


# -- Which card computes, and whether it reaches an array ----------------------------------------------


def device_among(values: Iterable) -> Any:
    """The device of the first device array here, or in a list here. None if there's none."""
    for x in values:
        if isinstance(x, Stored):
            return x.device
        if isinstance(x, (list, tuple)) and (device := device_among(x)) is not None:
            return device
    return None


class PerformanceWarning(RuntimeWarning):
    """One card reads the memory of another, which is slow (CuPy: ``PerformanceWarning``)."""


def current_card(device: Any) -> Any:
    """Where CuPy makes new arrays, whichever card the old ones are on: the current one."""
    if device.cards:
        return device.current_card()
    return device


def computing_card(device: Any) -> Any:
    """The card that computes with an array of `device`: the current one. Raises `ValueError` if that can't reach it.

    CuPy looks at each array before it launches a kernel: `_check_peer_access` in _core/_kernel.pyx:128, called for
    elementwise kernels (:880), ufuncs (:1307), reductions (_reduction.pyx:607, :824) and joined arrays
    (_routines_manipulation.pyx:662). It doesn't look before it calls cuBLAS, CUB, cuFFT or cuSOLVER, or sorts. Then the
    card meets an address that it can't reach, and CUDA's error leaves the program without a GPU. So we raise as well.
    """
    here = current_card(device)
    if here is device:
        return device
    where = f"the array is on {device}, and the current device is {_full_name(here, device)}"
    habit = f"Make the array's device the current one for this line: {device.switch_code()}"
    if device.settings[0].peers:
        warn_at_call(f"{where}, which now reads it from there: slowly. {habit}", PerformanceWarning)
        return here
    raise ValueError(f"{where}. A GPU computes only with what is in its own memory. {habit}")


def one_device(device: Any, x: Stored) -> Any:
    """`device`, or `x`'s device if we had none yet. Raises `ValueError` if they differ and have no peer access."""
    if device is None or x.device is device or x.device == device:  # equal: the same card, simulated once more
        return device or x.device
    if x.device in device.cards and device.settings[0].peers:
        computing_card(x.device)
        return device
    raise ValueError(
        f"arrays of two devices: one is on {_full_name(device, x.device)}, another, of shape {x.host_values.shape}, on "
        f"{_full_name(x.device, device)}. A GPU computes only with what is in its own memory; move one of them: "
        f"{device.move_code(exact=True)}(x)."
    )


def values_on(device: Any, x: Stored) -> np.ndarray:
    """The values of `x`, which must be on this `device`. Raises `ValueError` if it's on another."""
    one_device(device, x)
    return x.host_values


def _full_name(device: Any, other: Any) -> str:
    """The device's name, and the card's, too, if the numbers of the two devices are the same."""
    if str(device) == str(other):
        return f"{device} ({device.name})"
    return str(device)
