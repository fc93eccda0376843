"""`estimate`: how long something would take on a GPU, says a simulated one. The answer is the same on every machine."""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from ..clocks import HostClock
from ..device import Card, Device
from ..memory import Stored
from ..places import estimating
from ..presets import Preset, preset
from ..shapes import outcome
from .recording import Receipt
from .seconds import Seconds


class Estimate:
    """What `estimate` returns: `seconds`, the `receipt`, and the function's `result`, on the estimate's device."""

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
        """If nothing happened, that's nearly always a mistake."""
        why = "Only arguments are moved to it: estimate(f, model, x), not a model that f reads."
        if self.receipt.timeline():
            return ""
        return f"\nNothing ran on the GPU. {why}"


class Estimated(Card):
    """A card for one estimate. Only its receipt sees its clock. Loading kernels takes time only if `first_use`."""

    def __init__(self, like: Preset, shapes_only: bool, first_use: bool = True) -> None:
        super().__init__(0, like if first_use else like._replace(first_use=0.0, start=0.0), host=HostClock())
        self.estimate = self
        if shapes_only:
            self.instead = outcome

    def receive(self, x: Any) -> Any:
        """A copy, even of an array that's on a simulated GPU already. Receipts don't count it."""
        if not isinstance(x, Stored):
            return super().receive(x)  # type: ignore[misc]
        if x.device is self:
            return x
        return self.upload(x.host_values)

    def __repr__(self) -> str:
        return "Simulated:0 (estimate)"


class EstimatedDevice(Estimated, Device):
    """A simulated GPU for one estimate."""


def estimate(
    fn: Callable, *args: Any, like: Any = "NVIDIA T4", shapes_only: bool = False, first_use: bool = False
) -> Estimate:
    """How long ``fn(*args)`` would take on the card `like`: see its ``.seconds``, ``.receipt`` and ``.result``.

    We copy the arguments, arrays or lists, tuples and dicts of them, to a simulated GPU with a clock of its own. With
    ``shapes_only=True``, we compute only shapes and dtypes, and all values are 0. With ``first_use=True``, the time to
    load kernels at their first use counts, too.

    >>> import numpy as np
    >>> x = np.ones((2048, 2048), np.float32)
    >>> estimate(np.matmul, x, x, shapes_only=True).seconds
    2.89 ms simulated (NVIDIA T4)
    """
    return estimate_on(EstimatedDevice(preset(like), shapes_only, first_use), estimating, Receipt, fn, args)


def estimate_on(device: Any, estimating: ContextVar, receipt: Callable[[], Any], fn: Callable, args: tuple) -> Estimate:
    """The estimate of ``fn(*args)`` on this device, which is in use meanwhile."""
    before = estimating.set(device)
    try:
        # First as it is: to convert Float64 to Float32 where the array is would be work for the caller's GPU.
        moved = [device(device(argument, dtype=None)) for argument in args]
        device.synchronize()
        with receipt() as found:
            result = fn(*moved)
    finally:
        estimating.reset(before)
    return Estimate(found, result)
