"""`estimate`: how long something would take on a GPU, according to a simulated one. It's the same on every machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simgpu.presets import preset
from simgpu.profile import estimates
from simgpu.profile.estimates import Estimate

from ..arguments import check_bool, check_callable
from ..devices import simulation
from ..devices.simulated import SimulatedDevice
from .recording import Receipt


class EstimatedDevice(estimates.Estimated, SimulatedDevice):
    """A simulated GPU for one estimate: it has its own clock, and only the estimate's receipt sees it."""


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
    device = EstimatedDevice(preset(like), shapes_only, first_use)
    return estimates.estimated(device, simulation.estimating, Receipt, fn, args)
