"""A simulated card's number, and which of several is current. A library can have its own class in place of `Place`."""

import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np

from .memory import Stored
from .words import WRITE

in_use: list[Callable[[], Any]] = []  # the last one gives the device in use
estimating: ContextVar[Any] = ContextVar("estimating", default=None)  # the device of the `estimate` around this code


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
        return there if dtype is None else there.astype(dtype, copy=False)

    def receive(self, x: Any) -> Any:
        """The array `x`, from the host or another card, here: `x` itself if it's here already."""
        if not isinstance(x, Stored):
            return self.upload(x)
        return x if x.device == self else self.copy_from(x.device, x)

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
        return f"simgpu.devices()[{self.index}]" if exact or self.index else WRITE["to the GPU"]

    def check_read(self, name: str) -> None:
        """Called before `name` reads values on the host as a side effect. A subclass can check that."""

    def switch_code(self) -> str:
        """How a program makes the card of an array the current one."""
        return "`with x.device:`"
