"""`estimate`: how long something would take on a GPU, according to a simulated one. It's the same on every machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simgpu.asked import Asked
from simgpu.clocks import HostClock
from simgpu.memory import Stored
from simgpu.presets import Preset, preset
from simgpu.random import INTEGERS, ONE_DRAW, drawn, of_uniform
from simgpu.shapes import TooLargeError, outcome, untouched

from ..arguments import check_bool, check_callable
from ..devices import simulation
from ..devices.simulated import SimulatedDevice
from .recording import Receipt
from .seconds import Seconds


class Estimate:
    """What `estimate` found: `seconds`, the `receipt`, and the function's `result`, on the estimate's device."""

    def __init__(self, receipt: Receipt, result: Any) -> None:
        self.receipt, self.result = receipt, result

    @property
    def seconds(self) -> Seconds:
        return self.receipt.seconds

    def __repr__(self) -> str:
        return f"{self.receipt!r}{self._remark()}"

    def _repr_html_(self) -> str:
        return f"{self.receipt._repr_html_()}{self._remark()}"

    def _remark(self) -> str:
        """A remark if nothing happened, since that's nearly always a mistake."""
        return "" if self.receipt.timeline() else f"\n{_NOTHING}"


_NOTHING = "Nothing ran on the GPU. Only arguments are moved to it: estimate(f, model, x), not a model that f reads."


class EstimatedDevice(SimulatedDevice):
    """A simulated GPU for one estimate: it has its own clock, and only the estimate's receipt sees it."""

    def __init__(self, like: Preset, shapes_only: bool) -> None:
        super().__init__(0, like, host=HostClock())
        self.estimate = self
        self.shapes_only = shapes_only
        if shapes_only:
            self.instead = self._outcome

    def _outcome(self, function: Callable, *args: Any, **kwargs: Any) -> Any:
        """`outcome`. What's too large for this computer is, as a rule, too large for the card, which then says so."""
        try:
            return outcome(function, *args, **kwargs)
        except TooLargeError as error:
            if self.pool.used + error.nbytes > self.pool.capacity:
                self.pool.make_room(error.nbytes)
            raise

    def receive(self, x: Any) -> Any:
        """A copy, even of an array that's on a simulated GPU already. It isn't reported."""
        if not isinstance(x, Stored):
            return super().receive(x)
        return x if x.device is self else self.copy_in(x._values)

    def new_generator(self, seed: int | None) -> Any:
        return _Unseen(self) if self.shapes_only else super().new_generator(seed)

    def __repr__(self) -> str:
        return "Simulated:0 (estimate)"


class _Unseen:
    """A random number generator for when values don't matter."""

    def __init__(self, device: EstimatedDevice) -> None:
        self._device = device

    def random(self, size: Any = None, dtype: Any = np.float64) -> Any:
        return self._made("random", size, dtype)

    def standard_normal(self, size: Any = None, dtype: Any = np.float64) -> Any:
        return self._made("standard_normal", size, dtype)

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Any = None, dtype: Any = np.float64) -> Any:
        return self._made("uniform", size, dtype, of_uniform(low, high, dtype))

    def integers(self, low: int, high: int | None = None, size: Any = None, dtype: Any = np.int64) -> Any:
        return self._made("integers", size, dtype, INTEGERS)

    def _made(self, name: str, size: Any, dtype: Any, asked: Asked = ONE_DRAW) -> Any:
        values = untouched(() if size is None else (size,) if isinstance(size, int) else tuple(size), dtype)
        return drawn(self._device, name, values, asked)


def estimate(
    fn: Callable, *args: Any, like: Any = "NVIDIA T4", shapes_only: bool = False, first_use: bool = False
) -> Estimate:
    """How long ``fn(*args)`` would take on the card `like`: see its ``.seconds``, ``.receipt`` and ``.result``.

    `like` is a name or a preset. The arguments, arrays and models, are copied to a separate simulated GPU, as by `gpu`.
    Yours don't change, and neither does a simulation that's on, its clock or its receipts. Inside `fn`, `gpu` and
    `clock` mean the estimate's GPU. The time ends when all work that `fn` asked for is done. It leaves out copying
    the arguments, starting the GPU, and loading each operation's kernel at its first use; the latter counts with
    ``first_use=True``. What `fn` reads from outside isn't copied.

    With ``shapes_only=True``, only shapes and dtypes are computed. All values are 0, in `fn` and in the result, so
    whatever depends on them (an ``if loss < 1:``, the length of ``x[x > 0]``) behaves as it would with zeros. The
    seconds are still those of the whole computation. A function without a shape rule is computed anyway.

    Raises `ValueError` for an unknown card. CUDA.jl has no such function.

    >>> x = np.ones((2048, 2048), np.float32)
    >>> e = estimate(np.matmul, x, x)
    >>> e.seconds, e.receipt.launches
    (2.89 ms simulated (NVIDIA T4), 1)
    >>> estimate(np.matmul, x, x, like="H200", shapes_only=True).seconds
    362 µs simulated (H200)
    """
    check_callable("estimate(fn, …): fn", fn)
    check_bool("shapes_only=…", shapes_only)
    check_bool("first_use=…", first_use)
    card = preset(like)
    device = EstimatedDevice(card if first_use else card._replace(first_use=0.0, start=0.0), shapes_only)
    before = simulation.estimating.set(device)
    try:
        # Unchanged at first: converting Float64 to Float32 where the array is would be work for the caller's GPU.
        moved = [device(device(argument, dtype=None)) for argument in args]
        device.synchronize()
        with Receipt() as receipt:
            result = fn(*moved)
    finally:
        simulation.estimating.reset(before)
    return Estimate(receipt, result)
